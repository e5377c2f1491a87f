#!/usr/bin/env bash
# The measurements behind docs/xtx.md: the overlap matrix on one GPU or two. Start it on a machine with GPUs, after
# tools/gpu/check.sh has built.
#
#   tools/gpu/measure_xtx.sh OUT [STEP…]    writes OUT/*.jsonl, OUT/*.trace.json and OUT/xtx.txt; without steps, all
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/measure_xtx.sh OUT [STEP…]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
bench=$PWD/build/cuda/src/commlens-bench
gpus=$(nvidia-smi -L | wc -l)
cores=$(($(nproc) / gpus))
export NCCL_NVLS_ENABLE=0
case_of_the_mini_app=(--dofs 400000 --vectors 14640)

run() {  # run NAME OPTIONS…: a rank a GPU
  local name=$1
  shift
  printf '\n== %s: %s %s\n' "$(date +%H:%M:%S)" "$name" "$*" | tee -a "$out/xtx.txt"
  timeout 300 mpirun -n "$gpus" --map-by "slot:PE=$((cores > 8 ? 8 : cores))" --bind-to core -x NCCL_NVLS_ENABLE=0 \
    --mca pml ob1 --mca btl self,smcuda "$bench" xtx "$@" --record "$out/$name.jsonl" 2>&1 |
    tee -a "$out/xtx.txt" | grep -av '^commlens progress'
}

steps=("${@:-transports blocks tuned tuned-blocks types streams}")
for step in ${steps[*]}; do
  case $step in
    transports) run xtx "${case_of_the_mini_app[@]}" --batches 8 --trace "$out/xtx.trace.json" ;;
    blocks) run xtx-blocks "${case_of_the_mini_app[@]}" --batches 6 --transport ccl --block 366,512,768,1464,2928 ;;
    tuned) run xtx-tuned "${case_of_the_mini_app[@]}" --batches 8 --tune --trace "$out/xtx-tuned.trace.json" ;;
    tuned-blocks) run xtx-tuned-blocks "${case_of_the_mini_app[@]}" --batches 6 --tune --transport ccl --block 366,512,768,1464,2928 ;;
    types)
      for type in c128 f32 c64; do
        run xtx-types --dofs 100000 --vectors 7320 --block 732 --batches 6 --dtype "$type"
      done
      ;;
    streams)
      run xtx-streams "${case_of_the_mini_app[@]}" --batches 6 --no-overlap
      run xtx-streams "${case_of_the_mini_app[@]}" --batches 6 --depth 4 --transport ccl
      run xtx-streams "${case_of_the_mini_app[@]}" --batches 6 --numbers integers --transport ccl
      ;;
  esac
done
