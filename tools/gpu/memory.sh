#!/usr/bin/env bash
# Bytes that an iteration of bp5 moves between a GPU and its memory, in every variant, as Nsight
# Compute counts them: the measurement behind "what memory really moves" in docs/bp5-measured.md.
# Needs one GPU, ncu on the PATH, and a build by tools/gpu/check.sh.
#
#   tools/gpu/memory.sh OUT      writes OUT/bp5-memory.json
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/memory.sh OUT}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit
bench=$PWD/build/cuda/src/commlens-bench

measure() { # measure OPTION...: one variant, with the caches and the clock as they are
  ncu --csv --page raw --clock-control none --cache-control none \
    --metrics dram__bytes.sum,gpu__time_duration.sum \
    -k 'regex:apply_kernel|sum_of_indexes|for_each_index' --launch-skip 120 --launch-count 40 \
    "$bench" bp5 --transport mpi --iterations 60 --repeat 1 --warmup 0 --no-ceilings "$@" \
    >"$out/ncu.csv" 2>"$out/ncu.err"
  python3 tools/gpu/memory_of.py "$out/ncu.csv" "$out/bp5-memory.json" "$@"
}

for storage in unique element; do
  for geometry in trilinear stored; do
    for solver in classical fused; do
      measure --storage "$storage" --geometry "$geometry" --solver "$solver"
    done
  done
done
