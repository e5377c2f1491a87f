#!/usr/bin/env bash
# Builds a GPU-aware Open MPI: UCX with CUDA or ROCm, and Open MPI with that UCX.
set -euo pipefail

readonly ucx_version=1.20.0 openmpi_version=5.0.7
readonly ucx_url=https://github.com/openucx/ucx/releases/download/v$ucx_version/ucx-$ucx_version.tar.gz
readonly openmpi_url=https://download.open-mpi.org/release/open-mpi/v${openmpi_version%.*}/openmpi-$openmpi_version.tar.bz2

usage() {
  cat <<END
usage: recipes/build-openmpi.sh PREFIX [OPTION VALUE]...

Builds UCX and Open MPI into the folder PREFIX (PREFIX/ucx, PREFIX/ompi), checks what it built, and
writes PREFIX/env.sh, to be sourced, and PREFIX/modulefile, for Environment Modules and Lmod.

  --cuda DIR      the CUDA toolkit [that of the nvcc on PATH]
  --rocm DIR      ROCm, instead of CUDA [/opt/rocm, if there is no nvcc]
  --gdrcopy DIR   gdrcopy: the folder with include/gdrapi.h [/usr, if it is there]
  --slurm DIR     Slurm [found by Open MPI on PATH]
  --pmix DIR      PMIx of the system, such as that of Slurm [Open MPI's own]
  --ucx SOURCE    archive or folder of UCX [version $ucx_version, fetched with curl]
  --openmpi SOURCE  archive or folder of Open MPI [version $openmpi_version, fetched with curl]
  --build DIR     folder to build in; kept, so that a build that ended goes on [PREFIX/build]
  --jobs N        compilers at a time [number of cores]

example: recipes/build-openmpi.sh \$HOME/gpu-mpi --gdrcopy /usr/local
END
}

die() {
  echo "build-openmpi.sh: $*" >&2
  exit "${status:-1}"
}

note() { echo "== $(date +%H:%M:%S) $*"; }

# step NAME COMMAND...: once; its output goes to a file, whose end is shown if it fails.
step() {
  local name=$1
  shift
  [ ! -e "$build/$name.done" ] || return 0
  note "$name"
  if ! "$@" >"$build/$name.log" 2>&1; then
    tail -n 20 "$build/$name.log" >&2
    die "$name failed: $build/$name.log"
  fi
  touch "$build/$name.done"
}

# unpack NAME SOURCE URL: puts the source into $build/NAME.
unpack() {
  local name=$1 source=$2 url=$3 folder=$build/$1
  [ ! -e "$folder/configure.ac" ] || return 0
  mkdir -p "$folder"
  if [ -z "$source" ]; then
    source=$build/${url##*/}
    [ -s "$source" ] || curl --fail --location --silent --show-error --output "$source" "$url" ||
      die "$url cannot be fetched: fetch it elsewhere, and name it by --$name"
  fi
  if [ -d "$source" ]; then
    cp -a "$source/." "$folder"
  else
    tar --extract --file "$source" --directory "$folder" --strip-components 1 ||
      die "--$name '$source' is no archive of a source"
  fi
  [ -e "$folder/configure.ac" ] || die "--$name '$source' has no configure.ac: is it the source?"
}

prefix='' cuda='' rocm='' gdrcopy='' slurm='' pmix='' ucx='' openmpi='' build='' jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --cuda | --rocm | --gdrcopy | --slurm | --pmix | --ucx | --openmpi | --build | --jobs)
      [ $# -ge 2 ] || status=2 die "$1 needs a value"
      printf -v "${1#--}" %s "$2"
      shift 2
      ;;
    -*) status=2 die "there is no option $1: --help shows those there are" ;;
    *)
      [ -z "$prefix" ] || status=2 die "two prefixes, '$prefix' and '$1': write one"
      prefix=$1
      shift
      ;;
  esac
done
[ -n "$prefix" ] || { usage >&2 && exit 2; }
case $prefix$build in
  *[[:space:]]*) status=2 die "'$prefix' or '$build' has a blank, with which UCX and Open MPI cannot be built" ;;
esac
for tool in "${CC:-gcc}" "${CXX:-g++}" make perl tar; do
  command -v "$tool" >/dev/null || die "$tool is missing: install it, or load its module"
done

if [ -z "$cuda$rocm" ]; then
  if nvcc=$(command -v nvcc); then
    nvcc=$(readlink -f "$nvcc")
    cuda=${nvcc%/bin/nvcc}
  elif [ -d /opt/rocm ]; then
    rocm=/opt/rocm
  else
    status=2 die "neither CUDA nor ROCm is found: name one by --cuda or --rocm"
  fi
fi
[ -z "$cuda" ] || [ -e "$cuda/include/cuda.h" ] ||
  status=2 die "--cuda '$cuda' has no include/cuda.h: name the folder of the toolkit"
[ -z "$cuda" ] || [ -e "$cuda/include/nvml.h" ] ||
  status=2 die "--cuda '$cuda' has no include/nvml.h, which UCX needs: install the toolkit's cuda-nvml-dev"
[ -z "$rocm" ] || [ -e "$rocm/include/hip/hip_runtime_api.h" ] ||
  status=2 die "--rocm '$rocm' has no include/hip/hip_runtime_api.h: name the folder of ROCm"
[ -n "$gdrcopy" ] || [ ! -e /usr/include/gdrapi.h ] || gdrcopy=/usr
[ -z "$gdrcopy" ] || [ -e "$gdrcopy/include/gdrapi.h" ] ||
  status=2 die "--gdrcopy '$gdrcopy' has no include/gdrapi.h: name the folder where gdrcopy is installed"

mkdir -p "$prefix"
prefix=$(cd "$prefix" && pwd)
build=${build:-$prefix/build}
mkdir -p "$build"
build=$(cd "$build" && pwd)

# A toolkit on a machine without a GPU has the driver's library as a stub.
stubs=''
[ -z "$cuda" ] || [ ! -d "$cuda/lib64/stubs" ] || stubs=$cuda/lib64/stubs

unpack ucx "$ucx" "$ucx_url"
unpack openmpi "$openmpi" "$openmpi_url"

# Release tarballs have a configure; an archive of the repository needs autoconf, automake and
# libtool.
cd "$build/ucx"
[ -x configure ] || step ucx-autogen ./autogen.sh
step ucx-configure contrib/configure-release --prefix="$prefix/ucx" --enable-mt --without-java \
  --without-go ${cuda:+--with-cuda="$cuda"} ${rocm:+--with-rocm="$rocm"} \
  ${gdrcopy:+--with-gdrcopy="$gdrcopy"}
step ucx-make make -j "$jobs"
step ucx-install make install

# Without btl uct: it may corrupt data in an Open MPI that uses UCX. hwloc and libevent are Open
# MPI's own, as is PMIx unless one is named, so that the result needs no packages of the machine.
cd "$build/openmpi"
[ -x configure ] || step openmpi-autogen ./autogen.pl
step openmpi-configure ./configure --prefix="$prefix/ompi" --with-ucx="$prefix/ucx" \
  --enable-mca-no-build=btl-uct --with-hwloc=internal --with-libevent=internal \
  --with-prrte=internal --with-pmix="${pmix:-internal}" --disable-sphinx \
  ${slurm:+--with-slurm="$slurm"} ${cuda:+--with-cuda="$cuda"} \
  ${stubs:+--with-cuda-libdir="$stubs"} ${rocm:+--with-rocm="$rocm"}
step openmpi-make make -j "$jobs"
step openmpi-install make install

cat >"$prefix/env.sh" <<END
# An Open MPI $(awk -F= '/^(major|minor|release)=/ { printf "%s%s", dot, $2; dot = "." }' VERSION) on UCX for ${cuda:+CUDA}${rocm:+ROCm}: source this.
export OPAL_PREFIX=$prefix/ompi PRTE_PREFIX=$prefix/ompi PMIX_PREFIX=$prefix/ompi
export PATH=$prefix/ompi/bin:$prefix/ucx/bin:\$PATH
export LD_LIBRARY_PATH=$prefix/ompi/lib:$prefix/ucx/lib${gdrcopy:+:$gdrcopy/lib}\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
END
cat >"$prefix/modulefile" <<END
#%Module
module-whatis "GPU-aware Open MPI"
conflict openmpi
prepend-path PATH $prefix/ompi/bin:$prefix/ucx/bin
prepend-path LD_LIBRARY_PATH $prefix/ompi/lib:$prefix/ucx/lib${gdrcopy:+:$gdrcopy/lib}
END

# What was built, by its own words. On a machine without a GPU `ucx_info -d` has no GPU transports,
# so the modules themselves are looked for.
note "checks"
# shellcheck disable=SC1091
source "$prefix/env.sh"
checks=0
check() { # check WHAT COMMAND...
  if "${@:2}" >/dev/null 2>&1; then echo "ok       $1"; else
    echo "PROBLEM  $1: $(printf '%q ' "${@:2}")"
    checks=1
  fi
}
has() { "${@:2}" 2>/dev/null | grep -E -- "$1"; }
has_not() { ! has "$@"; }
check "UCX answers" ucx_info -v
if [ -n "$cuda" ]; then
  check "Open MPI is built with CUDA" has 'mpi_built_with_cuda_support:value:true' \
    ompi_info --parsable --all
  check "UCX has its CUDA module" test -e "$prefix/ucx/lib/ucx/libuct_cuda.so"
else
  check "Open MPI is built with ROCm" has 'rocm' ompi_info --parsable --param accelerator all
  check "UCX has its ROCm module" test -e "$prefix/ucx/lib/ucx/libuct_rocm.so"
fi
[ -z "$gdrcopy" ] ||
  check "UCX has its gdrcopy module" test -e "$prefix/ucx/lib/ucx/libuct_cuda_gdrcopy.so"
check "Open MPI uses UCX (pml ucx)" has 'mca:pml:ucx:version' ompi_info --parsable
check "Open MPI is without btl uct" has_not 'mca:btl:uct:version' ompi_info --parsable
check "UCX is built with threads" has '#define ENABLE_MT +1' ucx_info -b
[ "$checks" = 0 ] || die "what was built is not what was asked for; the logs are in $build"

note "source $prefix/env.sh; then build commlens with this mpicc, and \`commlens doctor\` proves it"
