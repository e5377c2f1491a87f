#!/usr/bin/env python3
"""Compares `commlens-bench fft` with CP2K's own test of the same transforms, in turns: best time of a loop of both.

    tools/cp2k/compare.py [--grid 64] [--layout 2,2] [--turns 5] [--record OUT.json]

Needs `cp2k` and `mpirun` on the PATH, both of the MPI that commlens was built with, and build/host. CP2K runs with one
thread a rank and FFTW's plans measured, as commlens does. A loop is a backward and a forward transform of the full
grid, with a barrier before and after.
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
    PW_GRID_BLOCKED FALSE
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


def cp2k_best_ms(grid: int, p: int, q: int, loops: int, folder: str) -> float:
    Path(folder, "test.inp").write_text(INPUT.format(n=grid, loops=loops, p=p, q=q))
    text = launch(p * q, ["cp2k", "-i", "test.inp"], folder)
    layout = re.search(r"Real space group dimensions\s+(\d+)\s+(\d+)", text)
    if p * q > 1 and (layout is None or (int(layout[1]), int(layout[2])) != (p, q)):
        sys.exit(f"CP2K did not use the layout {p} x {q}")
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
    print(
        f"{'grid':>5} {'ranks':>6} {'CP2K, ms':>24} {'commlens, ms':>24} {'ratio':>6}   best of a turn: least, median"
    )
    for grid in options.grid or [64, 125]:
        loops = 100 if grid <= 64 else 20
        for layout in options.layout or ["1,1", "2,1", "2,2", "4,1"]:
            p, q = map(int, layout.split(","))
            times: dict[str, list[float]] = {"cp2k": [], "commlens": []}
            with tempfile.TemporaryDirectory() as folder:
                for _ in range(options.turns):
                    times["cp2k"].append(cp2k_best_ms(grid, p, q, loops, folder))
                    times["commlens"].append(commlens_best_ms(grid, p, q, loops, folder))
            cells = [f"{min(best):.2f}, {statistics.median(best):.2f}" for best in times.values()]
            ratio = min(times["cp2k"]) / min(times["commlens"])
            print(f"{grid:5} {p:3} x{q:2} {cells[0]:>24} {cells[1]:>24} {ratio:6.2f}", flush=True)
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
