#!/usr/bin/env bash
# Shows that the tests of stream order can fail: takes the wait out of one transport at a time, builds, and runs them.
#
#   tools/mutate.sh PRESET      works in a copy of the tree; exit status 0 if the tests caught every missing wait
set -eu
preset=${1:?usage: tools/mutate.sh host|cuda}
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
missed=0
for transport in mpi staged; do
  rm -rf "$work/tree" && mkdir "$work/tree"
  cp -r "$top"/{CMakeLists.txt,CMakePresets.json,cmake,docs,src,tests} "$work/tree"
  # The one line in each file that waits.
  sed -i 's/^  stream\.wait();$/  (void)stream;/' "$work/tree/src/transport/$transport.cpp"
  cmp -s "$top/src/transport/$transport.cpp" "$work/tree/src/transport/$transport.cpp" && { echo "nothing taken out of $transport"; exit 1; }
  (cd "$work/tree" && cmake --preset "$preset" -G Ninja ${CMAKE_ARGUMENTS:-} && cmake --build --preset "$preset" --target transport_test) >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
  if mpirun -n 2 "$work/tree/build/$preset/tests/transport/transport_test" --gtest_color=no \
    --gtest_filter="*StreamOrder*/${transport}_*" >"$work/log" 2>&1; then
    echo "$transport without its wait: every test passed: MISSED"
    missed=1
  else
    echo "$transport without its wait: caught by $(grep -a ' RUN ' "$work/log" | tail -n 1 | sed 's/.*] //')"
  fi
done
exit $missed
