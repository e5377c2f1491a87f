#!/usr/bin/env bash
# The measurements behind docs/gpu-transports.md: Allreduce, latency and bandwidth over every transport, with each of
# Open MPI's two ways to GPU memory. Start it on a machine with one GPU or more, after tools/gpu/check.sh has built.
#
#   tools/gpu/measure.sh OUT    writes OUT/*.jsonl and OUT/tables.txt
#
# Two ranks; with one GPU they share it, and a run of one rank is added for the ccl library, which refuses to share.
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/measure.sh OUT}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
bench=$PWD/build/cuda/src/commlens-bench
gpus=$(nvidia-smi -L | wc -l)
cores=$(($(nproc) / 2))
export NCCL_NVLS_ENABLE=0

ucx=(--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any -x UCX_MEMTYPE_CACHE=n)
smcuda=(--mca pml ob1 --mca btl self,smcuda)

run() {  # run NAME LAUNCHER-OPTIONS… -- BENCHMARK OPTIONS…
  local name=$1 launcher=()
  shift
  while [ "$1" != -- ]; do launcher+=("$1"); shift; done
  shift
  printf '\n== %s: %s %s\n' "$(date +%H:%M:%S)" "$name" "$*" | tee -a "$out/tables.txt"
  timeout 150 mpirun --map-by "slot:PE=$((cores > 8 ? 8 : cores))" --bind-to core -x NCCL_NVLS_ENABLE=0 "${launcher[@]}" \
    "$bench" "$@" --timeout 20 --record "$out/$name.jsonl" 2>&1 | tee -a "$out/tables.txt" | grep -avE '^#' | cut -c1-150
}

few=(--repeat 100 --batches 10)
for way in ucx smcuda; do
  declare -n options=$way
  run "allreduce-$way" -n 2 "${options[@]}" -- allreduce --batches 6
  run "allreduce-$way" -n 2 "${options[@]}" -- allreduce --batches 6 --repeat 20 --bytes 8:8M:x8
  for memories in "device device" "device host" "host host"; do
    read -r from to <<<"$memories"
    repeats=("${few[@]}")
    [ "$memories" = "host host" ] && repeats=()
    run "latency-$way" -n 2 "${options[@]}" -- latency --from "$from" --to "$to" "${repeats[@]}"
    run "bandwidth-$way" -n 2 "${options[@]}" -- bandwidth --from "$from" --to "$to" --bytes 1:4M:x4 --batches 6
  done
  # Host memory once more, in a process that has a GPU context: pinned memory needs one.
  run "latency-$way" -n 2 "${options[@]}" -- latency --memory pinned --transport mpi
  run "bandwidth-$way" -n 2 "${options[@]}" -- bandwidth --memory device --transport mpi,ccl --bytes 16M:256M:x4 --batches 6
done
run allreduce-smcuda -n 2 "${smcuda[@]}" -- allreduce --transport ccl --bytes 16M:1G:x4 --repeat 20
run allreduce-smcuda -n 2 "${smcuda[@]}" -- allreduce --transport ccl --bytes 8,80000000,1G --repeat 20 --out-of-place
run pairs-smcuda -n 2 "${smcuda[@]}" -- bidirectional-bandwidth --bytes 1:16M:x4
run pairs-smcuda -n 2 "${smcuda[@]}" -- message-rate --bytes 1:16M:x4
if [ "$gpus" -lt 2 ]; then
  run one-rank -n 1 "${smcuda[@]}" -- allreduce --batches 6
fi
