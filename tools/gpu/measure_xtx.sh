#!/usr/bin/env bash
# The measurements behind docs/overlap.md: the overlap matrix on one GPU or two. Start it on a machine with GPUs, after
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
# What was measured with the DFT-FE mini-app, on two GPUs; on others each has the same share.
case_of_the_mini_app=(--dofs $((200000 * gpus)) --vectors 14640)

run() {  # run NAME OPTIONS…: a rank a GPU
  local name=$1
  shift
  printf '\n== %s: %s %s\n' "$(date +%H:%M:%S)" "$name" "$*" | tee -a "$out/xtx.txt"
  timeout 300 mpirun -n "$gpus" --map-by "slot:PE=$((cores > 8 ? 8 : cores))" --bind-to core -x NCCL_NVLS_ENABLE=0 \
    --mca pml ob1 --mca btl self,smcuda "$bench" xtx "$@" --record "$out/$name.jsonl" 2>&1 |
    tee -a "$out/xtx.txt" | grep -av '^commlens progress'
}

all="default wide tuned tuned-wide tuned-512 tuned-ccl tuned-smallest blocks types"
for step in ${*:-$all}; do
  case $step in
    default) run xtx "${case_of_the_mini_app[@]}" --batches 6 --trace "$out/xtx.trace.json" ;;
    wide) run xtx-wide "${case_of_the_mini_app[@]}" --batches 6 --layout wide ;;
    # What overlaps better than the mini-app's two streams: see docs/overlap.md.
    tuned) run xtx-tuned "${case_of_the_mini_app[@]}" --batches 6 --tune --depth 4 --priority normal --trace "$out/xtx-tuned.trace.json" ;;
    tuned-wide) run xtx-tuned-wide "${case_of_the_mini_app[@]}" --batches 6 --tune --depth 4 --priority normal --layout wide ;;
    tuned-512) run xtx-tuned-512 "${case_of_the_mini_app[@]}" --batches 6 --tune --depth 4 --priority normal --block 512 --trace "$out/xtx-tuned-512.trace.json" ;;
    tuned-smallest) run xtx-tuned-smallest "${case_of_the_mini_app[@]}" --batches 6 --tune --depth 4 --priority normal --block 512 --first smallest --transport mpi ;;
    tuned-ccl)
      tuned=("${case_of_the_mini_app[@]}" --batches 6 --tune --transport ccl)
      run xtx-tuned-ccl "${tuned[@]}" --block 384,512,640 --depth 4 --priority normal
      run xtx-tuned-ccl "${tuned[@]}" --block 512
      run xtx-tuned-ccl "${tuned[@]}" --block 512 --no-overlap
      ;;
    blocks) run xtx-blocks "${case_of_the_mini_app[@]}" --batches 6 --transport ccl --block 366:2928 ;;
    types)
      for type in c128 f32 c64; do run xtx-types --dofs 100000 --vectors 7320 --batches 6 --dtype "$type"; done
      ;;
    *) echo "no step '$step'; there are $all" >&2 && exit 2 ;;
  esac
done
