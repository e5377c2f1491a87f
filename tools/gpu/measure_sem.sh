#!/usr/bin/env bash
# The measurements behind docs/gather-scatter.md: every way of a gather-scatter, and bp5 in every variant. Start it on a
# machine with GPUs, after tools/gpu/check.sh has built. GPUS=1 uses one of them.
#
#   tools/gpu/measure_sem.sh OUT [STEP…]    writes OUT/*.jsonl, OUT/sem.txt and OUT/bp5-memory.json; without steps, all
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/measure_sem.sh OUT [STEP…]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
bench=$PWD/build/cuda/src/commlens-bench
gpus=${GPUS:-$(nvidia-smi -L | wc -l)}
export NCCL_NVLS_ENABLE=0

run() {  # run NAME RANKS BENCHMARK OPTIONS…
  local name=$1 ranks=$2
  shift 2
  printf '\n== %s: %s, %s ranks: %s\n' "$(date +%H:%M:%S)" "$name" "$ranks" "$*" | tee -a "$out/sem.txt"
  timeout 120 mpirun -n "$ranks" --bind-to core --mca pml ob1 --mca btl self,smcuda "$bench" "$@" \
    --record "$out/$name.jsonl" 2>&1 | tee -a "$out/sem.txt" | grep -av '^commlens progress\|^# *rank\|^$'
}

variants() {  # variants FUNCTION: each of bp5's
  local geometry storage solver
  for storage in unique element; do
    for geometry in trilinear stored; do
      for solver in classical fused; do
        "$1" --storage "$storage" --geometry "$geometry" --solver "$solver"
      done
    done
  done
}

bp5() { run bp5 "$gpus" bp5 "$@"; }
bp5_once() { run bp5 "$gpus" bp5 --transport mpi "$@"; }

# Bytes that an iteration moves between the GPU and its memory, and its kernels' times, with the caches as they are.
memory() {
  ncu --csv --page raw --clock-control none --cache-control none --metrics dram__bytes.sum,gpu__time_duration.sum \
    -k 'regex:apply_kernel|sum_of_indexes|for_each_index' --launch-skip 120 --launch-count 40 \
    "$bench" bp5 --transport mpi --iterations 60 --repeat 1 --warmup 0 --no-ceilings "$@" >"$out/ncu.csv" 2>"$out/ncu.err"
  python3 tools/gpu/memory_of.py "$out/ncu.csv" "$@" >>"$out/bp5-memory.jsonl" && tail -n 1 "$out/bp5-memory.jsonl"
}

all="modes fields overlap variants transports sizes memory sanitizer"
for step in ${*:-$all}; do
  case $step in
    modes) run gather-scatter "$gpus" gather-scatter ;;
    fields)
      run gather-scatter-fields "$gpus" gather-scatter --fields 3 --mode pairwise
      run gather-scatter-fields "$gpus" gather-scatter --dtype f32 --mode pairwise
      run gather-scatter-fields "$gpus" gather-scatter --exchange-dtype f32 --mode pairwise
      ;;
    overlap) run gather-scatter-overlap "$gpus" gather-scatter --overlap ;;
    variants) variants bp5_once ;;
    transports)
      bp5
      bp5 --no-overlap
      bp5 --solver fused
      bp5 --exchange-dtype f32
      ;;
    sizes)
      transports=mpi,ccl
      [ "$gpus" = 1 ] && transports=mpi # nothing is sent
      run bp5-sizes "$gpus" bp5 --edge 3,4,5,6,8,10,12,16,20,24,32,40,50 --repeat 5 --no-ceilings --transport "$transports"
      ;;
    memory) variants memory ;;
    sanitizer)
      for tool in memcheck racecheck; do
        for options in "bp5 --elements 4 --iterations 5 --repeat 1" "bp5 --elements 3 --order 15 --iterations 2 --repeat 1 --geometry stored" \
          "bp5 --elements 4 --iterations 5 --repeat 1 --storage element --solver fused" \
          "gather-scatter --labels random --nodes 2001 --multiplicity 20 --repeat 2"; do
          # shellcheck disable=SC2086 # words are options
          compute-sanitizer --tool "$tool" --error-exitcode 9 --report-api-errors no "$bench" $options --transport mpi --warmup 0 --no-ceilings \
            >"$out/sanitizer.tmp" 2>&1
          echo "$tool, $options: status $?, $(grep -a 'ERROR SUMMARY\|RACECHECK SUMMARY' "$out/sanitizer.tmp" | tail -n 1)" |
            tee -a "$out/sanitizer.txt"
        done
      done
      rm -f "$out/sanitizer.tmp"
      ;;
    *) echo "no step '$step'; there are $all" >&2 && exit 2 ;;
  esac
done
