#!/usr/bin/env python3
"""Compares `commlens-bench fft` with CP2K's own test of the same transforms, interleaved.

    tools/cp2k/compare.py [--grid 64] [--layout 2,2] [--turns 5] [--out FILE.json]

Needs `cp2k` and `mpirun` on the PATH, both of the MPI that commlens was built with.
CP2K runs with one thread per rank and measured FFTW plans, as commlens does. A loop is a backward
and a forward transform of the full grid, with a barrier before and after; the best time counts.
CP2K does it in two ways, on a blocked grid of coefficients, as commlens does, and on rays. A ratio
is CP2K's time over commlens's, with the 95% interval by which `commlens compare` decides.

`commlens compare --run` cannot run it: CP2K prints the best of its loops, and commlens's records
have the median.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from side_by_side import TOP, arguments, environment, run, take_turns, write  # noqa: E402

sys.path.insert(0, str(TOP / "python"))

from commlens.jobs.native import find_native  # noqa: E402
from commlens.model import read  # noqa: E402
from commlens.model.rank_test import shift, shift_interval  # noqa: E402

INPUT = """&GLOBAL
  PROGRAM_NAME TEST
  RUN_TYPE NONE
  PRINT_LEVEL LOW
  FFTW_PLAN_TYPE MEASURE
&END GLOBAL
&TEST
  &PW_TRANSFER
    GRID {n} {n} {n}
    N_LOOP {loops}
    PW_GRID NS-FULLSPACE
    PW_GRID_BLOCKED {blocked}
    PW_GRID_LAYOUT {p} {q}
  &END PW_TRANSFER
&END TEST
"""
TIME_LIMIT_S = 600


class Case(NamedTuple):
    grid: int  # points in each direction
    p: int
    q: int

    @property
    def loops(self) -> int:
        return 100 if self.grid <= 64 else 20


def cp2k_best_ms(launch: list[str], case: Case, is_blocked: bool) -> float:
    n, p, q = case
    blocked = "TRUE" if is_blocked else "FALSE"
    with tempfile.TemporaryDirectory() as folder:
        text = INPUT.format(n=n, p=p, q=q, loops=case.loops, blocked=blocked)
        Path(folder, "test.inp").write_text(text)
        command = [*launch, "-n", str(p * q), "cp2k", "-i", "test.inp"]
        variables = environment(OMP_NUM_THREADS="1")
        output = run(command, cwd=folder, env=variables, timeout=TIME_LIMIT_S).stdout
    layout = re.search(r"Real space group dimensions\s+(\d+)\s+(\d+)", output)
    if p * q > 1 and (layout is None or (int(layout[1]), int(layout[2])) != (p, q)):
        sys.exit(f"CP2K did not use the layout {p} x {q}")
    answer = "YES" if is_blocked else "NO"
    if p * q > 1 and re.search(rf"the grid is blocked:\s+{answer}", output) is None:
        sys.exit(f"CP2K did not use PW_GRID_BLOCKED {blocked}")
    best = re.search(r"Best time\s*:\s*([\d.]+)", output)
    if best is None:
        sys.exit("CP2K printed no best time")
    return 1e3 * float(best[1])


def commlens_best_ms(bench: Path, launch: list[str], case: Case) -> float:
    n, p, q = case
    options = ["--grid", str(n), "--grid-of-ranks", f"{p},{q}", "--communicators", "cached"]
    options += ["--transport", "mpi", "--repeat", str(case.loops), "--no-parts", "--no-ceilings"]
    command = [*launch, "-n", str(p * q), str(bench), "fft", *options]
    variables = environment(OMP_NUM_THREADS="1")
    output = run([*command, "--format", "json"], env=variables, timeout=TIME_LIMIT_S).stdout
    loaded = read(output.splitlines(keepends=True), "commlens-bench")
    if loaded.problems or len(loaded.records) != 1 or not loaded.records[0].measured:
        sys.exit(f"{' '.join(command)} has measured nothing: {loaded.problems}")
    return loaded.records[0].statistics["time_ms"].min


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """With its interval, where the turns are enough for one."""
    logs = [math.log(time) for time in ours], [math.log(time) for time in theirs]
    interval = shift_interval(*logs)
    ends = [f"{math.exp(end):.2f}" for end in interval or ()]
    return f"{math.exp(shift(*logs)):.2f} ({' to '.join(ends) or 'too few turns'})"


def compared(case: Case, turns: int, bench: Path, launch: list[str]) -> dict[str, object]:
    sides: dict[str, Callable[[], float]] = {
        "cp2k_blocked": lambda: cp2k_best_ms(launch, case, is_blocked=True),
        "cp2k_rays": lambda: cp2k_best_ms(launch, case, is_blocked=False),
        "commlens": lambda: commlens_best_ms(bench, launch, case),
    }
    results = list(take_turns(turns, sides))
    times = {name: [turn[name] for turn in results] for name in sides}
    cells = [f"{min(best):.2f}, {median(best):.2f}" for best in times.values()]
    cells += [ratio(times["commlens"], times[name]) for name in ("cp2k_blocked", "cp2k_rays")]
    line = " ".join(f"{cell:>20}" for cell in cells)
    print(f"{case.grid:5} {case.p:3} x{case.q:2} {line}", flush=True)
    return {**case._asdict(), "loops": case.loops, "best_ms": times}


def main() -> None:
    parser = arguments(__doc__, turns=5, launch="mpirun --oversubscribe --bind-to none")
    parser.add_argument("--grid", type=int, action="append", help="points per direction [64 125]")
    parser.add_argument("--layout", action="append", help="process grid p,q [1,1 2,1 2,2 4,1]")
    options = parser.parse_args()
    launch = options.launch.split()
    print("best of a turn, ms: least, median")
    names = ("CP2K, blocked", "CP2K, rays", "commlens", "ratio, blocked", "ratio, rays")
    columns = " ".join(f"{name:>20}" for name in names)
    print(f"{'grid':>5} {'ranks':>6} {columns}")
    rows = []
    for grid in options.grid or [64, 125]:
        for layout in options.layout or ["1,1", "2,1", "2,2", "4,1"]:
            p, q = map(int, layout.split(","))
            rows.append(compared(Case(grid, p, q), options.turns, find_native().path, launch))
    version = subprocess.run(["cp2k", "--version"], capture_output=True, text=True).stdout
    result = {
        "turns": options.turns,
        "cores": len(os.sched_getaffinity(0)),
        "cp2k": version.partition("\n")[0].strip(),
        "rows": rows,
    }
    write(options.out, result)


if __name__ == "__main__":
    main()
