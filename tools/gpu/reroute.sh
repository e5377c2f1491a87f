#!/usr/bin/env bash
# Collectives on GPUs by MPI, through NCCL and through pinned memory, by one program that does not
# know of it (reroute.c): on two GPUs, if there are two, on one, and with two ranks on one GPU, which
# NCCL refuses. Prints a line per run with its status. With two GPUs also the times of both, which
# reroute_rows.py writes to OUT/reroute.json.
#
#   tools/gpu/reroute.sh OUT           builds what it runs, with mpicc of MPI_HOME or of the PATH
#   tools/gpu/reroute.sh OUT BINARIES  runs what an earlier call has built, in a copy of OUT/binaries
#
# NCCL_HOME: where lib/libnccl.so.2 is, if the loader does not find it. CUDA_HOME: /usr/local/cuda.
# COMMLENS_BENCH: a commlens-bench built for CUDA, to measure NCCL itself, too; without it that column
# is empty. LAUNCHES: launches of each on two GPUs, in turn (3).
# OUT/NAME.json is what the program printed, OUT/NAME/rank-*.json what the library counted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:?usage: tools/gpu/reroute.sh OUT [BINARIES]}" && cd "$1" && pwd)
binaries=${2:-$out/binaries}
cuda=${CUDA_HOME:-/usr/local/cuda}
[ -n "${MPI_HOME:-}" ] && PATH=$MPI_HOME/bin:$PATH
[ -n "${NCCL_HOME:-}" ] && export COMMLENS_REROUTE_NCCL=$NCCL_HOME/lib/libnccl.so.2

build() {
  mkdir -p "$binaries" &&
    cmake -S "$here/../../src/reroute" -B "$binaries/build" -DMPI_C_COMPILER="$(command -v mpicc)" &&
    cmake --build "$binaries/build" &&
    cp "$binaries/build/libcommlens-reroute.so" "$binaries" &&
    mpicc -O2 -o "$binaries/reroute" "$here/reroute.c" -I"$cuda/include" -L"$cuda/lib64" \
      -lcudart_static -ldl -lrt -lpthread
}

functions=allreduce,reduce,reduce_scatter,reduce_scatter_block,bcast,allgather,allgatherv
functions+=,alltoall,alltoallv,gather,scatter

run() { # run NAME RANKS LARGEST_BYTES [VARIABLE=VALUE…]: with the library, where there are variables
  local name=$1 ranks=$2 largest=$3
  shift 3
  local with=() nonblocking=()
  rm -rf "${out:?}/$name" && mkdir -p "$out/$name"
  [ $# -gt 0 ] && with=(LD_PRELOAD="$binaries/libcommlens-reroute.so" COMMLENS_REROUTE_DIR="$out/$name"
    COMMLENS_REROUTE_MIN_BYTES=1 "$@")
  if [[ "$*" == *TO=ccl* ]]; then
    nonblocking=(nonblocking)
    with+=(COMMLENS_REROUTE_FUNCTIONS="$functions,nonblocking")
  fi
  local start=$SECONDS
  timeout 120 mpirun -n "$ranks" env "${with[@]}" "$binaries/reroute" "$largest" "${nonblocking[@]}" \
    >"$out/$name.json" 2>"$out/$name.err"
  echo "$name: status $?, $(grep -c '"valid": true' "$out/$name.json") right," \
    "$(grep -c '"valid": false' "$out/$name.json") wrong, $((SECONDS - start)) s"
}

nccl() { # nccl NAME: the same operations and sizes by NCCL itself
  local benchmark extra start=$SECONDS status=0
  for benchmark in allreduce broadcast allgather alltoall; do
    extra=()
    [[ $benchmark == all[gt]* ]] && extra+=(--size-of array)
    [ $benchmark = allreduce ] && extra+=(--out-of-place)
    timeout 120 mpirun -n 2 "$COMMLENS_BENCH" $benchmark "${extra[@]}" --dtype f32 --memory device \
      --bytes 8,64,512,4K,32K,256K,2M,16M,80M,256M --transport ccl --timing each --warmup 2 \
      --repeat 20 --no-ceilings --no-parts --record "$out/$1.jsonl" >>"$out/$1.txt" 2>&1 || status=$?
  done
  echo "$1: status $status, $((SECONDS - start)) s"
}

[ $# -gt 1 ] || build >"$out/build.log" 2>&1 || {
  echo "cannot build: see $out/build.log" >&2
  exit 1
}
nvidia-smi -L
all=268435456 some=16777216
if [ "$(nvidia-smi -L | wc -l)" -ge 2 ]; then
  rm -f "$out"/two-gpus-*.json "$out"/two-gpus-nccl-*
  for launch in $(seq "${LAUNCHES:-3}"); do
    run "two-gpus-mpi-$launch" 2 $all
    run "two-gpus-ccl-$launch" 2 $all COMMLENS_REROUTE_TO=ccl
    [ -n "${COMMLENS_BENCH:-}" ] && nccl "two-gpus-nccl-$launch"
    run "two-gpus-staged-$launch" 2 $all COMMLENS_REROUTE_TO=staged
  done
  run two-gpus-verify 2 $some COMMLENS_REROUTE_VERIFY=1
  run two-gpus-dry-run 2 $some COMMLENS_REROUTE_DRY_RUN=1
  python3 "$here/reroute_rows.py" "$out"
fi
export CUDA_VISIBLE_DEVICES=0
run one-gpu-mpi 1 $all
run one-gpu-ccl 1 $all COMMLENS_REROUTE_TO=ccl
run one-gpu-verify 1 $some COMMLENS_REROUTE_VERIFY=1
run shared-gpu-mpi 2 $some
run shared-gpu-dry-run 2 $some COMMLENS_REROUTE_DRY_RUN=1
run shared-gpu-refused 2 $some COMMLENS_REROUTE_VERIFY=1
