#!/usr/bin/env python3
"""What the harness adds: commlens and the bare loops of OSU (bare.c), run in turns with the same MPI on the same cores.

    tools/overhead/compare.py latency|bandwidth [--turns 11] [--bench build/host/src/commlens-bench] [--out FILE.json]

For each size the median over the turns of each side, and the median of the turns' ratios. A ratio above 1 means that
commlens is slower (latency) or gives less (bandwidth). Sizes go all at once in a turn, so that a burst of noise on the
machine strikes one turn of one side and the medians leave it out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FIGURES = {"latency": "latency_us", "bandwidth": "bandwidth_GBps"}


def run(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def bare(program: Path, launch: list[str], benchmark: str, most: int) -> dict[int, float]:
    lines = run([*launch, str(program), benchmark, str(most)]).splitlines()
    return {int(size): float(figure) for size, figure in (line.split() for line in lines)}


def commlens(program: Path, launch: list[str], benchmark: str, most: int) -> dict[int, float]:
    """The mean, as OSU prints it: all bytes or all time over all repetitions."""
    options = ["--bytes", f"1:{most}", "--memory", "host", "--transport", "mpi", "--format", "json"]
    records = [json.loads(line) for line in run([*launch, str(program), benchmark, *options]).splitlines()]
    figures = {}
    for record in records:
        mean_us = record["statistics"]["time_us"]["mean"]
        size = record["parameters"]["bytes"]
        figures[size] = (
            mean_us / 2 if benchmark == "latency" else size * record["parameters"]["window"] / mean_us * 1e-3
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=FIGURES)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--bench", type=Path, default=HERE.parent.parent / "build/host/src/commlens-bench")
    parser.add_argument("--max", type=int, default=4 << 20, help="largest message, bytes")
    parser.add_argument("--launch", default="mpirun -n 2 --bind-to core")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    launch = options.launch.split()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bare"
        subprocess.run(["mpicc", "-O3", "-o", str(program), str(HERE / "bare.c")], check=True)
        turns = []
        for turn in range(options.turns):
            sides = [(bare, program), (commlens, options.bench)]
            order = sides if turn % 2 == 0 else sides[::-1]  # neither is always first
            figures = {side: side(path, launch, options.benchmark, options.max) for side, path in order}
            turns.append((figures[bare], figures[commlens]))
    rows = []
    print(
        f"{'bytes':>10} {'bare':>12} {'commlens':>12} {'ratio':>8}   "
        f"({FIGURES[options.benchmark]}, medians of {options.turns} turns)"
    )
    for size in turns[0][0]:
        reference = statistics.median(turn[0][size] for turn in turns)
        ours = statistics.median(turn[1][size] for turn in turns)
        ratios = [turn[1][size] / turn[0][size] for turn in turns]
        ratio = statistics.median(ratios if options.benchmark == "latency" else [1 / value for value in ratios])
        rows.append({"bytes": size, "bare": reference, "commlens": ours, "ratio": ratio})
        print(f"{size:>10} {reference:>12.4g} {ours:>12.4g} {ratio:>8.3f}", flush=True)
    all_ratios = [row["ratio"] for row in rows]
    print(f"median ratio {statistics.median(all_ratios):.3f}, worst {max(all_ratios):.3f}")
    if options.out:
        options.out.write_text(
            json.dumps({"benchmark": options.benchmark, "turns": options.turns, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
