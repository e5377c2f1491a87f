#!/usr/bin/env python3
"""Compares `commlens-bench fft` with CP2K's own test of the same transforms, in turns: best time of a loop of both.

    tools/cp2k/compare.py [--grid 64] [--layout 2,2] [--turns 5] [--record OUT.json]

Needs `cp2k` and `mpirun` on the PATH, both of the MPI that commlens was built with, and build/host. CP2K runs with one
thread a rank and FFTW's plans measured, as commlens does. A loop is a backward and a forward transform of the full
grid, with a barrier before and after. CP2K does it in two ways, on a blocked grid of coefficients, as commlens does,
and on rays; the ratio is of the faster.
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
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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


def launch(ranks: int, command: list[str], folder: str) -> str:
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def cp2k_best_ms(grid: int, p: int, q: int, loops: int, folder: str, blocked: bool) -> float:
    words = INPUT.format(n=grid, loops=loops, p=p, q=q, blocked="TRUE" if blocked else "FALSE")
    Path(folder, "test.inp").write_text(words)
    text = launch(p * q, ["cp2k", "-i", "test.inp"], folder)
    layout = re.search(r"Real space group dimensions\s+(\d+)\s+(\d+)", text)
    if p * q > 1 and (layout is None or (int(layout[1]), int(layout[2])) != (p, q)):
        sys.exit(f"CP2K did not use the layout {p} x {q}")
    if p * q > 1 and re.search(r"the grid is blocked:\s+" + ("YES" if blocked else "NO"), text) is None:
        sys.exit(f"CP2K did not take PW_GRID_BLOCKED {blocked}")
    best = re.search(r"Best time\s*:\s*([\d.]+)", text)
    if best is None:
        sys.exit("CP2K printed no best time")
    return 1e3 * float(best[1])


def commlens_best_ms(grid: int, p: int, q: int, loops: int, folder: str) -> float:
    bench = ROOT / "build" / "host" / "src" / "commlens-bench"
    options = ["--grid", str(grid), "--grid-of-ranks", f"{p},{q}", "--communicators", "cached", "--transport", "mpi"]
    harness = ["--repeat", str(loops), "--no-parts", "--no-ceilings", "--format", "json"]
    text = launch(p * q, [str(bench), "fft", *options, *harness], folder)
    record = next(json.loads(line) for line in text.splitlines() if line.startswith("{"))
    return float(record["statistics"]["time_ms"]["min"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", type=int, action="append", help="points in each direction [64 and 125]")
    parser.add_argument("--layout", action="append", help="process grid p,q [1,1 2,1 2,2 4,1]")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    rows = []
    print("best of a turn, ms: least, median")
    print(f"{'grid':>5} {'ranks':>6} {'CP2K, blocked':>18} {'CP2K, rays':>18} {'commlens':>18} {'ratio':>6}")
    for grid in options.grid or [64, 125]:
        loops = 100 if grid <= 64 else 20
        for layout in options.layout or ["1,1", "2,1", "2,2", "4,1"]:
            p, q = map(int, layout.split(","))
            with tempfile.TemporaryDirectory() as folder:
                case = (grid, p, q, loops, folder)
                ways: dict[str, Callable[[], float]] = {
                    "cp2k_blocked": lambda case=case: cp2k_best_ms(*case, blocked=True),
                    "cp2k_rays": lambda case=case: cp2k_best_ms(*case, blocked=False),
                    "commlens": lambda case=case: commlens_best_ms(*case),
                }
                times: dict[str, list[float]] = {way: [] for way in ways}
                for turn in range(options.turns):
                    for way in sorted(ways, reverse=turn % 2 == 1):
                        times[way].append(ways[way]())
            cells = [f"{min(best):.2f}, {statistics.median(best):.2f}" for best in times.values()]
            ratio = min(times["cp2k_blocked"] + times["cp2k_rays"]) / min(times["commlens"])
            print(f"{grid:5} {p:3} x{q:2} " + " ".join(f"{cell:>18}" for cell in cells) + f" {ratio:6.2f}", flush=True)
            rows.append({"grid": grid, "p": p, "q": q, "loops": loops, "best_ms": times})
    if options.record:
        about = subprocess.run(["cp2k", "--version"], capture_output=True, text=True).stdout.splitlines()
        versions = {"cp2k": about[0].strip() if about else ""}
        cores = len(os.sched_getaffinity(0))
        options.record.write_text(
            json.dumps({"turns": options.turns, "cores": cores, **versions, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
