#!/usr/bin/env bash
# Collectives on GPUs by MPI, through NCCL and through pinned memory, by one program that does not
# know of it (reroute.c): on two GPUs, if there are two, on one, and with two ranks on one GPU, which
# NCCL refuses. Prints a line per run with its status, and the times beside MPI's.
#
#   tools/gpu/reroute.sh OUT           builds what it runs, with mpicc of MPI_HOME or of the PATH
#   tools/gpu/reroute.sh OUT BINARIES  runs what an earlier call has built, in a copy of OUT/binaries
#
# NCCL_HOME: where lib/libnccl.so.2 is, if the loader does not find it. CUDA_HOME: /usr/local/cuda.
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

compare() { # compare BASELINE NAME: how many times as fast, per function and size
  python3 - "$out/$1.json" "$out/$2.json" <<'END'
import json, sys
from pathlib import Path

baseline, other = (json.loads(Path(name).read_text())["rows"] for name in sys.argv[1:])
for one, two in zip(baseline, other):
    if one["bytes"] >= 65536:
        print(f'  {one["function"]:16} {one["bytes"]:>10} B  {one["median_us"]:>11.1f} us '
              f'{two["median_us"]:>11.1f} us  {one["median_us"] / two["median_us"]:7.2f}x')
END
}

[ $# -gt 1 ] || build >"$out/build.log" 2>&1 || {
  echo "cannot build: see $out/build.log" >&2
  exit 1
}
nvidia-smi -L
all=268435456 some=16777216
if [ "$(nvidia-smi -L | wc -l)" -ge 2 ]; then
  run two-gpus-mpi 2 $all
  run two-gpus-ccl 2 $all COMMLENS_REROUTE_TO=ccl
  run two-gpus-verify 2 $some COMMLENS_REROUTE_VERIFY=1
  run two-gpus-dry-run 2 $some COMMLENS_REROUTE_DRY_RUN=1
  run two-gpus-staged 2 $all COMMLENS_REROUTE_TO=staged
  compare two-gpus-mpi two-gpus-ccl
fi
export CUDA_VISIBLE_DEVICES=0
run one-gpu-mpi 1 $all
run one-gpu-ccl 1 $all COMMLENS_REROUTE_TO=ccl
run one-gpu-verify 1 $some COMMLENS_REROUTE_VERIFY=1
compare one-gpu-mpi one-gpu-ccl
run shared-gpu-mpi 2 $some
run shared-gpu-dry-run 2 $some COMMLENS_REROUTE_DRY_RUN=1
run shared-gpu-refused 2 $some COMMLENS_REROUTE_VERIFY=1
