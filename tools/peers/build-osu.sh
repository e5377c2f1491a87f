#!/bin/sh
# Builds the programs of the OSU micro-benchmarks that osu.py runs.
#
#   tools/peers/build-osu.sh SOURCE FOLDER
#
# SOURCE: the unpacked archive of version 7.4, from https://mvapich.cse.ohio-state.edu/benchmarks/.
# FOLDER: for the programs; OSU_HOME is to name it. SOURCE is left as it is. CC: the compiler
# [mpicc], of the MPI library with which commlens was built.
#
# OSU prints two decimals, which is 3% of a latency of 0.3 us: these programs print six.
#
# BARRIERS=no: the programs call no MPI_Barrier, so that collectives run back to back, as commlens runs
# them. They print their version as 7.4_without_barriers.
set -eu
if [ $# -ne 2 ] || [ ! -f "$1/c/util/osu_util.h" ]; then
  echo "usage: tools/peers/build-osu.sh SOURCE FOLDER: SOURCE has c/util/osu_util.h" >&2
  exit 2
fi
util=$1/c/util
mkdir -p "$2"
version=7.4 barrier=
if [ "${BARRIERS-}" = no ]; then
  version=7.4_without_barriers barrier=$2/barrier.c
  printf '#include <mpi.h>\nint MPI_Barrier(MPI_Comm comm) { return MPI_SUCCESS; }\n' >"$barrier"
fi
for program in pt2pt/standard/osu_latency pt2pt/standard/osu_bw pt2pt/standard/osu_bibw \
  pt2pt/persistent/osu_latency_persistent pt2pt/persistent/osu_bw_persistent pt2pt/persistent/osu_bibw_persistent \
  collective/blocking/osu_allgather collective/blocking/osu_allgatherv collective/blocking/osu_allreduce \
  collective/blocking/osu_alltoall collective/blocking/osu_alltoallv collective/blocking/osu_alltoallw \
  collective/blocking/osu_bcast collective/blocking/osu_gather collective/blocking/osu_gatherv \
  collective/blocking/osu_reduce collective/blocking/osu_reduce_scatter \
  collective/blocking/osu_reduce_scatter_block collective/blocking/osu_scatter \
  collective/blocking/osu_scatterv \
  collective/neighborhood/osu_neighbor_allgather collective/neighborhood/osu_neighbor_allgatherv \
  collective/neighborhood/osu_neighbor_alltoall collective/neighborhood/osu_neighbor_alltoallv \
  collective/neighborhood/osu_neighbor_alltoallw \
  one-sided/osu_put_latency one-sided/osu_get_latency \
  one-sided/osu_acc_latency one-sided/osu_get_acc_latency one-sided/osu_fop_latency \
  one-sided/osu_cas_latency one-sided/osu_put_bw one-sided/osu_get_bw one-sided/osu_put_bibw; do
  ${CC:-mpicc} -O3 -DPACKAGE_VERSION="\"$version\"" -DFLOAT_PRECISION=6 -I"$util" -o "$2/${program##*/}" \
    "$1/c/mpi/$program.c" ${barrier:+"$barrier"} "$util"/osu_util.c "$util"/osu_util_mpi.c \
    "$util"/osu_util_graph.c "$util"/osu_util_papi.c "$util"/osu_util_validation.c -lm
done
echo "$2"
