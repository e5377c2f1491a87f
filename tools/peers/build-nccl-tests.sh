#!/bin/sh
# Builds the programs of nccl-tests that nccl.py runs.
#
#   tools/peers/build-nccl-tests.sh SOURCE FOLDER
#
# SOURCE: nccl-tests' unpacked source, https://github.com/NVIDIA/nccl-tests.
# FOLDER: for the programs; NCCL_TESTS_HOME is to name it. SOURCE is left as it is. CXX: the compiler
# [mpicxx], of the MPI library with which commlens was built. CUDA_HOME: the folder of CUDA [of the
# nvcc on the PATH]. NCCL_HOME: the folder of the NCCL with which commlens was built, where the
# compiler does not find it. NVCC_GENCODE: what to compile for, as options of nvcc [the GPUs of this
# machine; where there are none, A100 and H100].
set -eu
if [ $# -ne 2 ] || [ ! -f "$1/src/all_reduce.cu" ]; then
  echo "usage: tools/peers/build-nccl-tests.sh SOURCE FOLDER: SOURCE has src/all_reduce.cu" >&2
  exit 2
fi
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
cuda=${CUDA_HOME:-$(dirname "$(dirname "$nvcc")")}
if [ -z "${NVCC_GENCODE:-}" ]; then
  own=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d . | grep -x '[0-9][0-9]*' | sort -u)
  NVCC_GENCODE=
  for architecture in ${own:-80 90}; do
    NVCC_GENCODE="$NVCC_GENCODE -gencode=arch=compute_$architecture,code=sm_$architecture"
  done
fi
export NVCC_GENCODE
if [ -n "${NCCL_HOME:-}" ]; then # the programs are to find it, too
  export NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS:-} -Xlinker -rpath,$NCCL_HOME/lib"
fi
objects=$(mktemp -d)
trap 'rm -r "$objects"' EXIT
programs=
for name in all_gather all_reduce alltoall broadcast gather reduce reduce_scatter scatter sendrecv; do
  programs="$programs $objects/${name}_perf"
done
# The compiler knows where MPI is; their Makefile takes include and lib of one folder for it.
# shellcheck disable=SC2086 # a list
make -j 4 -C "$1/src" MPI=1 CXX="${CXX:-mpicxx}" CUDA_HOME="$cuda" CUDARTLIB=cudart_static \
  BUILDDIR="$objects" $programs >&2
mkdir -p "$2"
# shellcheck disable=SC2086
cp $programs "$2"
echo "$2"
