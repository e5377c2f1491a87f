#!/usr/bin/env python3
"""What `commlens profile` adds to a call and to a rank's memory: ten million small calls, with and without it in turns.

    tools/overhead/profile.py [--calls 10000000] [--turns 5] [--launch 'mpirun -n 1'] [--compiler mpicc] [--out FILE]

For each kind of call the median over the turns of each side, and the median of the turns' differences. The library is
chosen as `commlens profile` does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "python"
# The peak of the rank itself: what wait4 says of this small parent's only child.
WATCH = (
    "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:], close_fds=False); "
    "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(status)"
)
Figures = dict[str, float]


def run(command: list[str]) -> Figures:
    """Nanoseconds a call by its name, and `peak_kB`, the most memory of the rank."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")
    seconds = re.findall(r"^(\w+) (\S+e-\d+)$", answer.stdout, re.MULTILINE)
    (peak,) = re.findall(r"^peak (\d+)$", answer.stderr, re.MULTILINE)
    return {**{f"{name}_ns": float(value) * 1e9 for name, value in seconds}, "peak_kB": float(peak)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--launch", default="mpirun -n 1")
    parser.add_argument("--compiler", default="mpicc")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    turns = []
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/calls"
        subprocess.run([options.compiler, "-O2", str(HERE / "calls.c"), "-o", program], check=True)
        bare = [*options.launch.split(), sys.executable, "-c", WATCH, program, str(options.calls)]
        profiled = [sys.executable, "-m", "commlens", "profile", "--out", folder, "--", *bare]
        for turn in range(options.turns):
            sides = [run(side) for side in ((bare, profiled) if turn % 2 == 0 else (profiled, bare))]
            turns.append(sides if turn % 2 == 0 else sides[::-1])  # neither is always first
    rows = []
    print(f"{'':>16} {'alone':>10} {'profiled':>10} {'added':>10}   (medians of {options.turns} turns)")
    for name in turns[0][0]:
        alone, profiled_ = (statistics.median(turn[side][name] for turn in turns) for side in (0, 1))
        added = statistics.median(turn[1][name] - turn[0][name] for turn in turns)
        rows.append({"figure": name, "alone": alone, "profiled": profiled_, "added": added})
        print(f"{name:>16} {alone:>10.1f} {profiled_:>10.1f} {added:>10.1f}")
    if options.out:
        record = {"launch": options.launch, "calls": options.calls, "turns": options.turns, "rows": rows}
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
