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
  [[ $1 == - ]] || (cd "$tree" && cmake --build --preset "$preset" --target "$1") >"$work/log" 2>&1
}

# ---- tests, which mutation() calls ----
# shellcheck disable=SC2317

native() { # native PROGRAM FILTER
  "$tree/build/$preset/tests/$1" --gtest_color=no --gtest_filter="$2"
}

on_two_ranks() { # on_two_ranks PROGRAM FILTER
  # shellcheck disable=SC2086 # MPIRUN_ARGUMENTS are words
  mpirun ${MPIRUN_ARGUMENTS:-} -n 2 "$tree/build/$preset/tests/$1" --gtest_color=no --gtest_filter="$2"
}

python_tests() { # python_tests FILE [OPTION...]: none may be skipped
  local program=$tree/build/$preset/src/commlens-bench status=0
  (cd "$tree" && COMMLENS_BENCH=$program COMMLENS_BENCH_FAULTS=$program "${PYTHON:-python3}" \
    -m pytest -q -x -p no:cacheprovider "tests/python/$1" "${@:2}") >"$work/tests" || status=$?
  cat "$work/tests"
  [[ $status == 0 ]] && ! grep -q skipped "$work/tests"
}

# ---- mutations ----

# mutation WHAT FILE PATTERN REPLACEMENT TARGET TEST...: the pattern is a sed expression for part
# of one line. Without a target nothing is built.
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

mutation "MPI does not wait for the stream" src/transport/mpi_calls.hpp \
  'if (stream\.idle()) return;' 'return;' \
  transport_test on_two_ranks transport/transport_test '*StreamOrder*/mpi_*'
mutation "a stream is idle although work was added" src/device/device.hpp \
  'return !busy_;' 'return true;' device_test native device/device_test '*AStreamIsIdle*'
mutation "results are not compared" src/measure/sampling.cpp \
  'if (!sampling_\.validate) return;' 'return;' measure_test native measure/measure_test '*'
mutation "a median of two is the larger one" src/measure/statistics.cpp \
  'std::midpoint(sorted\[middle - 1\], sorted\[middle\])' 'sorted[middle]' \
  measure_test native measure/measure_test '*'
collectives=src/benchmarks/collectives
mutation "a bandwidth is better where it is lower" $collectives/collectives.cpp \
  '"bus_bandwidth_GBps", unit::GBps, Better::higher' \
  '"bus_bandwidth_GBps", unit::GBps, Better::lower' \
  commlens-bench python_tests native/test_declarations.py -k allreduce
mutation "a bandwidth has the unit of a rate of operations" $collectives/collectives.cpp \
  '"algorithm_bandwidth_GBps", unit::GBps' \
  '"algorithm_bandwidth_GBps", unit::GFLOPs' \
  commlens-bench python_tests native/test_declarations.py -k allreduce
mutation "a parameter that follows from another is part of the case" $collectives/options.cpp \
  'counted\.role(measure::Role::derived)' \
  'counted.role(measure::Role::setting)' \
  commlens-bench python_tests native/test_declarations.py -k allreduce

mutation "an interval is narrower than it must be" python/commlens/model/rank_test.py \
  'differences\.count + 1 - rank' 'differences.count - rank' - python_tests compare/test_rank_test.py
mutation "many comparisons are as one" python/commlens/compare/verdicts.py \
  'fewest_for(DECISION \/ max(1, tests))' 'fewest_for(DECISION)' \
  - python_tests compare/test_many_cases.py
mutation "the gate fails where anything is slower" python/commlens/compare/verdicts.py \
  'ratio >= 1 + slower_by' 'ratio >= 1' - python_tests compare/test_compare.py
mutation "page faults are reported where they cost nothing" \
  python/commlens/findings/rules/operations.py \
  'and record\.page_fault_share >= share' 'and record.page_fault_share >= 0' \
  - python_tests findings/test_cases.py
exit $missed
