#!/bin/sh
# Builds gslib, and the program that gslib.py runs.
#
#   tools/peers/build-gslib.sh SOURCE FOLDER
#
# SOURCE: gslib's unpacked source, https://github.com/Nek5000/gslib or 3rd_party/gslib of nekRS.
# FOLDER: for the program; GSLIB_HOME is to name it. SOURCE is left as it is. CC: the compiler
# [mpicc], of the MPI library with which commlens was built.
set -eu
if [ $# -ne 2 ] || [ ! -f "$1/src/gs.h" ]; then
  echo "usage: tools/peers/build-gslib.sh SOURCE FOLDER: SOURCE has src/gs.h" >&2
  exit 2
fi
own=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
sources=
for name in gs sort sarray_transfer sarray_sort gs_local fail crystal comm tensor; do
  sources="$sources $1/src/$name.c"
done
# As its Makefile defines them, before version 1.0.8 and since; that puts them into config.h, too.
config=$(mktemp -d)
trap 'rm -r "$config"' EXIT
: >"$config/config.h"
# shellcheck disable=SC2086
${CC:-mpicc} -O3 -DMPI -DUNDERSCORE -DUSE_NAIVE_BLAS= -DGLOBAL_LONG_LONG -DGSLIB_USE_MPI \
  -DGSLIB_UNDERSCORE -DGSLIB_USE_NAIVE_BLAS -DGSLIB_USE_GLOBAL_LONG_LONG -I"$config" -I"$1/src" \
  -o "$2/gslib_pairwise" "$own/gslib_pairwise.c" $sources -lm
echo "$2"
