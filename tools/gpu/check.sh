#!/usr/bin/env bash
# Builds for CUDA and runs what needs a GPU: every test at 1 to 4 ranks, compute-sanitizer on the
# kernels, transports and benchmarks, and then the suites that are named.
#
#   tools/gpu/check.sh OUT [SUITE...]
#
# writes OUT/build.log, OUT/ctest.log, OUT/sanitizer.log and the records and pictures of the suites
# (`commlens list` names them); exit status 0 if all is clean. A suite alone needs no check:
#
#   PYTHONPATH=python COMMLENS_BENCH=build/cuda/src/commlens-bench python3 -m commlens run SUITE
#
# Needs a GPU-aware mpirun on the PATH, CUDA, CMake, Ninja and the libraries of
# cmake/Dependencies.cmake; for suites python3 3.9 or later with the packages below, and for their
# pictures numpy and matplotlib. Without a network: `pip install --target packages PACKAGE...`
# elsewhere, take the folder along, and add it to PYTHONPATH.
set -u
readonly python_packages=(click msgspec psutil rich yaml)
out=$(mkdir -p "${1:?usage: tools/gpu/check.sh OUT [SUITE...]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.." || exit
status=0

note() { printf '== %s: %s\n' "$(date +%H:%M:%S)" "$*"; }
step() { # step LOG COMMAND...: the log keeps all, the terminal the end
  local log=$out/$1
  shift
  note "$*"
  "$@" >>"$log" 2>&1 || { status=1; note "FAILED (see $log)"; tail -n 25 "$log"; }
}

export COMMLENS_TEST_SHARED_GPU=1 # one GPU is enough for the tests of the transport peer

step build.log cmake --preset cuda -G Ninja -DCMAKE_CUDA_ARCHITECTURES=native
step build.log cmake --build --preset cuda
step ctest.log ctest --preset cuda
grep -E 'tests passed|tests failed|\*\*\*Failed' "$out/ctest.log"

# Leaks are the libraries' own.
bench=build/cuda/src/commlens-bench
sanitizer() { # sanitizer TOOL
  sanitize=(compute-sanitizer --tool "$1" --error-exitcode 9 --report-api-errors no
    --target-processes all)
}
sanitizer memcheck
step sanitizer.log "${sanitize[@]}" build/cuda/tests/device/device_test \
  --gtest_filter='-*ASizeBeyond*'
for ranks in 1 2; do
  run=(mpirun -n "$ranks" --bind-to none "${sanitize[@]}")
  step sanitizer.log "${run[@]}" build/cuda/tests/transport/transport_test
  step sanitizer.log "${run[@]}" "$bench" allreduce --bytes 8:1M:x512 --repeat 3 --batches 2
  step sanitizer.log "${run[@]}" "$bench" xtx --dofs 4001 --vectors 96 --block 20 --batches 2 \
    --no-ceilings
done
step sanitizer.log "${run[@]}" "$bench" bandwidth --bytes 1:1M:x1024 --repeat 2 --batches 2 \
  --warmup 1
once=(--transport mpi --warmup 0 --no-ceilings)
for tool in memcheck racecheck; do
  sanitizer "$tool"
  step sanitizer.log mpirun -n 2 --bind-to none "${sanitize[@]}" \
    build/cuda/tests/transport/transport_test --gtest_filter='*peer_device*'
  run=("${sanitize[@]}" "$bench")
  step sanitizer.log "${run[@]}" bp5 --elements 4 --iterations 5 --repeat 1 "${once[@]}"
  step sanitizer.log "${run[@]}" bp5 --elements 3 --order 15 --iterations 2 --repeat 1 \
    --geometry stored "${once[@]}"
  step sanitizer.log "${run[@]}" bp5 --elements 4 --iterations 5 --repeat 1 --storage element \
    --solver fused "${once[@]}"
  step sanitizer.log "${run[@]}" gather-scatter --ids random --nodes 2001 --multiplicity 20 \
    --repeat 2 "${once[@]}"
done
grep -E '(ERROR|RACECHECK) SUMMARY' "$out/sanitizer.log" | sort | uniq -c

export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} COMMLENS_BENCH=$PWD/$bench
(($# == 0)) || python3 -c "import $(IFS=,; echo "${python_packages[*]}")" || exit 1
for suite in "$@"; do
  note "suite $suite"
  python3 -m commlens run "$suite" --out "$out" || { status=1; note "FAILED: suite $suite"; }
done
exit $status
