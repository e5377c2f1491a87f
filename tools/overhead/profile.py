#!/usr/bin/env python3
"""Overhead of `commlens profile`, and of --trace, per call, and the memory that they add to a rank.

    tools/overhead/profile.py [--calls 10000000] [--turns 5] [--compiler mpicc] [--out FILE]

Ten million small calls of each kind (calls.c) without the profiler, with it, and with a trace,
interleaved: the median over the turns of each side, and the median of the turns' differences. The
library is chosen as `commlens profile` does.
"""

from __future__ import annotations

import re
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from side_by_side import TOP, arguments, environment, run, take_turns, write  # noqa: E402

# Prints the peak memory of the rank itself: what wait4 says of this small parent's only child.
WATCH = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], close_fds=False)
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


def cost(command: list[str]) -> dict[str, float]:
    """Nanoseconds per call by name, and `peak_kB`, the largest memory of the rank."""
    answer = run(command, env=environment(PYTHONPATH=str(TOP / "python")))
    seconds = re.findall(r"^(\w+) (\S+e-\d+)$", answer.stdout, re.MULTILINE)
    (peak,) = re.findall(r"^peak (\d+)$", answer.stderr, re.MULTILINE)
    calls = {f"{name}_ns": float(value) * 1e9 for name, value in seconds}
    return {**calls, "peak_kB": float(peak)}


def main() -> None:
    parser = arguments(__doc__, turns=5, launch="mpirun -n 1")
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--compiler", default="mpicc")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "calls")
        run([options.compiler, "-O3", "-o", program, HERE / "calls.c"])
        watched = [sys.executable, "-c", WATCH, str(program), str(options.calls)]
        alone = [*options.launch.split(), *watched]
        profile = [sys.executable, "-m", "commlens", "profile", "--out", folder]
        trace = ["--trace", f"{folder}/calls.clt"]
        sides = {
            "alone": partial(cost, alone),
            "profiled": partial(cost, [*profile, "--", *alone]),
            "traced": partial(cost, [*profile, *trace, "--", *alone]),
        }
        turns = list(take_turns(options.turns, sides))
    columns = [*sides, "added", "by_trace"]
    print(" ".join(f"{name:>10}" for name in columns), f"({options.turns} turns)")
    rows = []
    for name in turns[0]["alone"]:
        medians = {side: median(turn[side][name] for turn in turns) for side in sides}
        added = median(turn["profiled"][name] - turn["alone"][name] for turn in turns)
        by_trace = median(turn["traced"][name] - turn["profiled"][name] for turn in turns)
        rows.append({"metric": name, **medians, "added": added, "by_trace": by_trace})
        print(" ".join(f"{rows[-1][column]:>10.1f}" for column in columns), name)
    result = {"launch": options.launch, "calls": options.calls, "turns": options.turns}
    write(options.out, {**result, "rows": rows})


if __name__ == "__main__":
    main()
