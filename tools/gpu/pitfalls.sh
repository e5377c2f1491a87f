#!/usr/bin/env bash
# The two pitfalls of Open MPI 5 with UCX that commlens must turn into a sentence
# (docs/gpu-aware-mpi.md), each provoked on purpose, and the fix of each.
#
#   tools/gpu/pitfalls.sh OUT    writes OUT/pitfalls.txt
#
# Needs what tools/gpu/check.sh needs for suites.
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/pitfalls.sh OUT}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.." || exit
export COMMLENS_BENCH=$PWD/build/cuda/src/commlens-bench
export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}

attempt() { # attempt WHAT [NAME=VALUE...]
  local what=$1
  shift
  printf '\n== %s\n   %s\n' "$what" "$*"
  timeout 120 python3 -m commlens run latency "${@/#/--env=}" --ranks 2 --bytes 1,1M --repeat 20 \
    --batches 6 --transport mpi,staged --out "$out/pitfalls" 2>&1
  printf '   exit status %s\n' $?
}

ucx_on_any_device=(OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any)
{
  attempt "UCX asked for, on a host without a Mellanox adapter" OMPI_MCA_pml=ucx
  attempt "UCX let in, its memory-type cache on" OMPI_MCA_pml=ucx "${ucx_on_any_device[@]}"
  attempt "both fixed" OMPI_MCA_pml=ucx "${ucx_on_any_device[@]}" UCX_MEMTYPE_CACHE=n
  attempt "nothing set: Open MPI passes UCX over"
} | tee "$out/pitfalls.txt"
