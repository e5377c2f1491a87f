#!/usr/bin/env bash
# Six troubles of a machine with GPUs, each made on purpose: `commlens doctor` must find it, and name
# the fix, which is tried. With nothing set, doctor must find no problem.
#
#   tools/gpu/doctor.sh OUT [SETUP...]    writes OUT/SETUP/ for each, OUT/summary.json, OUT/summary.md
#
# Needs two GPUs, an Open MPI 5 with CUDA and UCX on the PATH, and the Python packages of
# tools/gpu/check.sh. COMMLENS_BENCH names the program, else it is that of build/cuda. NO_CUDA_MPI may
# name the folder of an Open MPI of the same version without CUDA; without it Open MPI is told to
# ignore CUDA.
set -u
out=$(mkdir -p "${1:?usage: tools/gpu/doctor.sh OUT [SETUP...]}" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/../.." || exit
bench=${COMMLENS_BENCH:-$PWD/build/cuda/src/commlens-bench}
export PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH} COMMLENS_BENCH=$bench
python=${PYTHON:-python3}
wanted=("$@")
limit_s=${LIMIT_S:-240} # of a doctor, and of a comparison

is_wanted() { # is_wanted SETUP
  ((${#wanted[@]} == 0)) || [[ " ${wanted[*]} " == *" $1 "* ]]
}

examine() { # examine SETUP CODES WHAT [NAME=VALUE...]: with fixes that are settings tried
  is_wanted "$1" || return
  local folder=$out/$1 codes=$2 what=$3
  shift 3
  printf '== %s: %s\n' "${folder##*/}" "$what"
  mkdir -p "$folder"
  printf '%s\n' "$codes" >"$folder/expected"
  printf '%s\n' "$what" >"$folder/what"
  env "$@" timeout --kill-after=10 "$limit_s" "$python" -m commlens doctor --prove --out "$folder" \
    >"$folder/doctor.txt" 2>"$folder/doctor.err"
  printf '%s\n' $? >"$folder/status"
  tail -n 1 "$folder/doctor.txt"
}

compare() { # compare SETUP BEFORE BENCHMARK OPTIONS...: BEFORE is the program with the trouble
  is_wanted "$1" || return
  local folder=$out/$1 before=$2 benchmark=$3
  shift 3
  timeout --kill-after=10 "$limit_s" "$python" -m commlens compare --run "$benchmark" --launches 5 \
    --a "COMMLENS_BENCH=$before" --b "COMMLENS_BENCH=$bench" --out "$folder/compare" --format json \
    -- "$@" >"$folder/compare.json" 2>"$folder/compare.err"
}

wrapper() { # wrapper NAME LINE: a program that does LINE before it becomes the real one
  local path=$out/$1.sh
  printf '#!/bin/sh\n%s\n' "$2" >"$path"
  chmod +x "$path"
  printf '%s' "$path"
}

over_ucx=(OMPI_MCA_pml=ucx OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any)
first_core=$("$python" -c 'import os; print(min(os.sched_getaffinity(0)))')
one_core=$(wrapper one-core "exec taskset -c $first_core '$bench' \"\$@\"")
one_gpu=$(wrapper one-gpu "rank=\${OMPI_COMM_WORLD_LOCAL_RANK:-\${SLURM_LOCALID:-}}
[ -z \"\$rank\" ] || export CUDA_VISIBLE_DEVICES=\$rank
exec '$bench' \"\$@\"")

examine sound '' 'nothing is set'
examine ucx-tls ucx-tls-without-gpu 'UCX_TLS without cuda_copy' \
  "${over_ucx[@]}" UCX_MEMTYPE_CACHE=n UCX_TLS=self,sm
examine memtype-cache ucx-memtype-cache-on 'UCX_MEMTYPE_CACHE=y' \
  "${over_ucx[@]}" UCX_MEMTYPE_CACHE=y
if [[ -n ${NO_CUDA_MPI:-} ]]; then
  examine no-cuda mpi-without-gpu-support 'an Open MPI without CUDA' OPAL_PREFIX="$NO_CUDA_MPI" \
    PATH="$NO_CUDA_MPI/bin:$PATH" LD_LIBRARY_PATH="$NO_CUDA_MPI/lib:${LD_LIBRARY_PATH:-}"
else
  examine no-cuda open-mpi-gpu-support-off 'an Open MPI that is told to ignore CUDA' \
    OMPI_MCA_accelerator=null
fi
examine nccl-p2p nccl-p2p-disabled 'NCCL_P2P_DISABLE=1' NCCL_P2P_DISABLE=1
examine one-core ranks-share-cores 'all ranks on one core' COMMLENS_BENCH="$one_core"
# Ranks that spin on one core take milliseconds for a message.
compare one-core "$one_core" latency --bytes 1 --memory host --transport mpi --repeat 20 --warmup 2
examine one-gpu one-gpu-visible 'each rank sees one GPU' COMMLENS_BENCH="$one_gpu"
compare one-gpu "$one_gpu" bandwidth --bytes 4M --memory device --transport mpi

"$python" tools/gpu/doctor_table.py "$out"
