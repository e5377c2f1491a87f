#!/usr/bin/env bash
# The measurements behind docs/fft.md: distributed FFTs on GPUs, and on the host against the number of ranks. Start it on
# a machine with GPUs, after tools/gpu/check.sh has built.
#
#   tools/gpu/measure_fft.sh OUT [STEP…]    writes OUT/*.jsonl and OUT/fft.txt; without steps, all
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/measure_fft.sh OUT [STEP…]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.."
bench=$PWD/build/cuda/src/commlens-bench
gpus=$(nvidia-smi -L | wc -l)
export NCCL_NVLS_ENABLE=0

run() {  # run NAME RANKS OPTIONS…
  local name=$1 ranks=$2
  shift 2
  printf '\n== %s: %s, %s ranks: %s\n' "$(date +%H:%M:%S)" "$name" "$ranks" "$*" | tee -a "$out/fft.txt"
  timeout 120 mpirun -n "$ranks" --bind-to core --mca pml ob1 --mca btl self,smcuda "$bench" fft "$@" \
    --record "$out/$name.jsonl" 2>&1 | tee -a "$out/fft.txt" | grep -av '^commlens progress'
}

all="slabs each pencils exchanges sphere ranks"
for step in ${*:-$all}; do
  case $step in
    slabs)
      for grid in 256 512; do
        run fft "$gpus" --grid "$grid" --transport mpi,staged
        run fft "$gpus" --grid "$grid" --transport ccl --communicators cached
      done
      # Every communicator of NCCL takes a second to make.
      run fft "$gpus" --grid 256 --transport ccl --repeat 3 --no-ceilings
      ;;
    each)
      for grid in 512 256; do run fft-each "$gpus" --grid "$grid" --transport mpi,ccl --communicators cached; done
      run fft-each "$gpus" --grid 512 --grid-of-ranks "1,$gpus" --transport mpi,ccl --communicators cached
      ;;
    pencils) run fft-pencils "$gpus" --grid 512 --grid-of-ranks "1,$gpus" --communicators cached ;;
    exchanges) for how in pairwise pipelined; do run fft-exchanges "$gpus" --grid 512 --communicators cached --exchange "$how"; done ;;
    sphere) run fft-sphere "$gpus" --grid 512 --communicators cached --grid-span sphere ;;
    ranks)
      for grid in 32 64 125; do
        for ranks in 1 2 4 8 16 32; do
          [ "$ranks" -le "$(nproc)" ] && run fft-host-ranks "$ranks" --grid "$grid" --memory host --transport mpi --no-ceilings
        done
      done
      ;;
    *) echo "no step '$step'; there are $all" >&2 && exit 2 ;;
  esac
done
