#!/usr/bin/env python3
"""Overhead of the harness: commlens and bare loops in OSU's manner (bare.c), in turns.

    tools/overhead/compare.py latency|bandwidth [--turns 11] [--out FILE.json]

Both sides use the same MPI on the same cores. For each size: the median over the turns of each
side, and the median of the turns' ratios. A ratio above 1 means that commlens is slower (latency)
or gives less (bandwidth). A turn measures all sizes, so that a disturbance affects one turn of one
side and the medians leave it out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from side_by_side import arguments, compiled, measured, run, take_turns, write  # noqa: E402

METRICS = {"latency": "latency_us", "bandwidth": "bandwidth_GBps"}
BySize = dict[int, float]


def bare(program: Path, launch: list[str], benchmark: str, largest: int) -> BySize:
    lines = run([*launch, program, benchmark, str(largest)]).stdout.splitlines()
    return {int(size): float(value) for size, value in (line.split() for line in lines)}


def commlens(program: Path, launch: list[str], benchmark: str, largest: int) -> BySize:
    """From the mean time, as OSU does: all bytes or all time over all repetitions."""
    options = ["--bytes", f"1:{largest}", "--memory", "host", "--transport", "mpi"]
    found = {}
    for record in measured([*launch, program, benchmark, *options]):
        mean_us = record.statistics["time_us"].mean
        size = record.size or 0
        if benchmark == "latency":
            found[size] = mean_us / 2
        else:
            found[size] = size * int(record.parameters["window"]) / mean_us * 1e-3
    return found


def main() -> None:
    parser = arguments(__doc__, turns=11, launch="mpirun -n 2 --bind-to core")
    parser.add_argument("benchmark", choices=METRICS)
    parser.add_argument("--max", type=int, default=4 << 20, help="largest message, bytes")
    options = parser.parse_args()
    case = options.launch.split(), options.benchmark, options.max
    with compiled(HERE / "bare.c") as program:
        sides = {
            "bare": lambda: bare(program, *case),
            "commlens": lambda: commlens(options.bench, *case),
        }
        turns = list(take_turns(options.turns, sides))
    unit = f"({METRICS[options.benchmark]}, medians of {options.turns} turns)"
    print(f"{'bytes':>10} {'bare':>12} {'commlens':>12} {'ratio':>8}   {unit}")
    rows = []
    for size in turns[0]["bare"]:
        own = {side: median(turn[side][size] for turn in turns) for side in sides}
        ratios = [turn["commlens"][size] / turn["bare"][size] for turn in turns]
        is_time = options.benchmark == "latency"
        ratio = median(ratios if is_time else [1 / value for value in ratios])
        rows.append({"bytes": size, **own, "ratio": ratio})
        print(f"{size:>10} {own['bare']:>12.4g} {own['commlens']:>12.4g} {ratio:>8.3f}", flush=True)
    all_ratios = [row["ratio"] for row in rows]
    print(f"median ratio {median(all_ratios):.3f}, worst {max(all_ratios):.3f}")
    result = {"benchmark": options.benchmark, "turns": options.turns, "rows": rows}
    write(options.out, result)


if __name__ == "__main__":
    main()
