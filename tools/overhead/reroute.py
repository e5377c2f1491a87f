#!/usr/bin/env python3
"""Overhead of `commlens reroute` for a call that it passes on to MPI.

    tools/overhead/reroute.py LIBRARY [--calls N] [--turns 5] [--compiler mpicc] [--out FILE]

Ten million calls of each kind (rerouted.c) without and with LIBRARY, libcommlens-reroute.so for the
MPI of the compiler, interleaved: the median over the turns of each side, and the median of the
turns' differences. The goal is 100 ns.
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

from side_by_side import arguments, environment, run, take_turns, write  # noqa: E402


def cost(command: list[str]) -> dict[str, float]:
    """Nanoseconds per call by name."""
    answer = run(command, env=environment())
    seconds = re.findall(r"^(\w+) (\S+e-\d+)$", answer.stdout, re.MULTILINE)
    return {name: float(value) * 1e9 for name, value in seconds}


def main() -> None:
    parser = arguments(__doc__, turns=5, launch="mpirun -n 1")
    parser.add_argument("library", type=Path)
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--compiler", default="mpicc")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "rerouted")
        run([options.compiler, "-O3", "-o", program, HERE / "rerouted.c"])
        launch, words = options.launch.split(), [str(program), str(options.calls)]
        preload = [f"LD_PRELOAD={options.library.resolve()}", f"COMMLENS_REROUTE_DIR={folder}"]
        sides = {
            "alone": partial(cost, [*launch, *words]),
            "rerouted": partial(cost, [*launch, "env", *preload, *words]),
        }
        turns = list(take_turns(options.turns, sides))
    columns = [*sides, "added"]
    print(" ".join(f"{name:>10}" for name in columns), f"ns ({options.turns} turns)")
    rows = []
    for name in turns[0]["alone"]:
        medians = {side: median(turn[side][name] for turn in turns) for side in sides}
        added = median(turn["rerouted"][name] - turn["alone"][name] for turn in turns)
        rows.append({"metric": name, **medians, "added": added})
        print(" ".join(f"{rows[-1][column]:>10.1f}" for column in columns), name)
    write(options.out, {"launch": options.launch, "calls": options.calls, "rows": rows})


if __name__ == "__main__":
    main()
