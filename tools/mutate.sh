#!/usr/bin/env bash
# Shows that tests can fail: breaks one line of the sources at a time, builds, and runs the tests
# that must find it.
#
#   tools/mutate.sh [PRESET]      exit status 0 if every mutation was found
#
# Works in a copy of the tree. PYTHON names the Python that has pytest and what commlens needs;
# CMAKE_ARGUMENTS are added when configuring.
set -euo pipefail
preset=${1:-host}
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
missed=0

fail() {
  echo "mutate.sh: $*" >&2
  exit 1
}

build() { # build TARGET
  (cd "$tree" && cmake --build --preset "$preset" --target "$1") >"$work/log" 2>&1
}

# ---- tests, which mutation() calls ----
# shellcheck disable=SC2317

stream_order() { # stream_order TRANSPORT
  # shellcheck disable=SC2086 # MPIRUN_ARGUMENTS are words
  mpirun ${MPIRUN_ARGUMENTS:-} -n 2 "$tree/build/$preset/tests/transport/transport_test" \
    --gtest_color=no --gtest_filter="*StreamOrder*/$1_*"
}

declarations() { # declarations BENCHMARK
  local program=$tree/build/$preset/src/commlens-bench
  local tests=tests/python/native/test_declarations.py status=0
  (cd "$tree" && COMMLENS_BENCH=$program COMMLENS_BENCH_FAULTS=$program "${PYTHON:-python3}" \
    -m pytest -q -p no:cacheprovider "$tests" -k "$1") >"$work/tests" || status=$?
  cat "$work/tests"
  [[ $status == 0 ]] && ! grep -q skipped "$work/tests"
}

# ---- mutations ----

# mutation WHAT FILE PATTERN REPLACEMENT TARGET TEST...: the pattern is a sed expression for part
# of one line.
mutation() {
  local what=$1 file=$2 pattern=$3 replacement=$4 target=$5
  shift 5
  local lines
  lines=$(grep -c -e "$pattern" "$tree/$file" || true)
  [[ $lines == 1 ]] || fail "$what: '$pattern' is in $lines lines of $file instead of one"
  build "$target" || { tail "$work/log" && fail "the sources do not build"; }
  "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" && fail "$what: $* fails without it"; }
  sed -i "s/$pattern/$replacement/" "$tree/$file"
  if ! build "$target"; then
    echo "found by the compiler: $what"
  elif "$@" >"$work/log" 2>&1; then
    echo "MISSED: $what"
    missed=1
  else
    echo "found: $what"
  fi
  cp "$top/$file" "$tree/$file"
}

mkdir "$tree"
cp -r "$top"/{CMakeLists.txt,CMakePresets.json,cmake,docs,pyproject.toml,python,src,tests} "$tree"
# shellcheck disable=SC2086 # CMAKE_ARGUMENTS are words
(cd "$tree" && cmake --preset "$preset" -G Ninja ${CMAKE_ARGUMENTS:-}) >"$work/log" 2>&1 ||
  { tail "$work/log" && fail "CMake cannot configure"; }

for transport in mpi staged; do
  mutation "$transport does not wait for the stream" "src/transport/$transport.cpp" \
    '^  stream\.wait();$' '  (void)stream;' transport_test stream_order "$transport"
done
allreduce=src/benchmarks/allreduce.cpp
mutation "a bandwidth is better where it is lower" $allreduce \
  '"bus_bandwidth_GBps", unit::GBps, Better::higher' \
  '"bus_bandwidth_GBps", unit::GBps, Better::lower' commlens-bench declarations allreduce
mutation "a bandwidth has the unit of a rate of operations" $allreduce \
  '"algorithm_bandwidth_GBps", unit::GBps' \
  '"algorithm_bandwidth_GBps", unit::GFLOPs' commlens-bench declarations allreduce
mutation "a parameter that follows from another is part of the case" $allreduce \
  'counted\.role(measure::Role::derived)' \
  'counted.role(measure::Role::setting)' commlens-bench declarations allreduce
exit $missed
