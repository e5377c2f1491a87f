#!/usr/bin/env bash
# Builds for CUDA and runs what needs a GPU: every test at 1 to 4 ranks, and memcheck on the kernels, transports and benchmarks.
# Needs a GPU-aware mpirun on the PATH, CUDA, CMake and the libraries of cmake/Dependencies.cmake.
#
#   tools/gpu/check.sh OUT      writes OUT/build.log, OUT/ctest.log, OUT/memcheck.log; exit status 0 if all is clean
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/check.sh OUT}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
status=0

note() { printf '== %s: %s\n' "$(date +%H:%M:%S)" "$*"; }
step() {  # step LOG COMMAND...: the log keeps all, the terminal the end
  local log=$out/$1
  shift
  note "$*"
  "$@" >>"$log" 2>&1 || { status=1; note "FAILED (see $log)"; tail -n 25 "$log"; }
}

step build.log cmake --preset cuda -G Ninja -DCMAKE_CUDA_ARCHITECTURES=native
step build.log cmake --build --preset cuda
step ctest.log ctest --preset cuda
grep -E 'tests passed|tests failed|\*\*\*Failed' "$out/ctest.log"

# NVLink multicast is left alone; leaks are the libraries' own.
memcheck=(compute-sanitizer --tool memcheck --error-exitcode 9 --report-api-errors no --target-processes all)
step memcheck.log "${memcheck[@]}" build/cuda/tests/device/device_test --gtest_filter='-*ASizeBeyond*'
for ranks in 1 2; do
  step memcheck.log mpirun -n "$ranks" --bind-to none "${memcheck[@]}" build/cuda/tests/transport/transport_test
  step memcheck.log mpirun -n "$ranks" --bind-to none "${memcheck[@]}" build/cuda/src/commlens-bench allreduce \
    --bytes 8:1M:x512 --repeat 3 --batches 2
  step memcheck.log mpirun -n "$ranks" --bind-to none "${memcheck[@]}" build/cuda/src/commlens-bench xtx \
    --dofs 4001 --vectors 96 --block 20 --batches 2 --no-ceilings
done
step memcheck.log mpirun -n 2 --bind-to none "${memcheck[@]}" build/cuda/src/commlens-bench bandwidth \
  --bytes 1:1M:x1024 --repeat 2 --batches 2 --warmup 1
grep -E 'ERROR SUMMARY' "$out/memcheck.log" | sort | uniq -c
exit $status
