#!/usr/bin/env python3
"""commlens's gather-scatter and gslib's pairwise one (bare_gather_scatter.c), in turns.

    tools/overhead/compare_gather_scatter.py [--turns 11] [--samples 15] [--out FILE.json]

Both sides have the same global ids in host memory and use the same MPI on the same cores. For each
mesh and number of ranks: the median over the turns of each side, and the median of the turns'
ratios, of the whole operation, of the exchange (with the wait for the other ranks) and of the rest.
A ratio above 1 means that commlens is slower. A turn of one side is the median of its samples.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from side_by_side import arguments, compiled, measured, run, take_turns, write  # noqa: E402

PARTS = ("whole", "exchange", "rest")
Times = dict[str, float]  # microseconds by part


class Case(NamedTuple):
    ranks: int
    edge: int  # elements along the edge of a rank's cube
    order: int

    @property
    def elements(self) -> list[str]:
        return [str(self.edge * self.ranks), str(self.edge), str(self.edge)]


MESHES = ((20, 7), (12, 7), (24, 3), (40, 1))
CASES = [Case(ranks, *mesh) for mesh in MESHES for ranks in (1, 2)]


def bare(program: Path, launch: list[str], samples: int, case: Case) -> Times:
    words = [*case.elements, str(case.order), str(samples)]
    answer = run([*launch, "-n", str(case.ranks), program, *words])
    lines = (line.split() for line in answer.stdout.splitlines())
    return {name: float(value) for name, value in lines}


def commlens(program: Path, launch: list[str], samples: int, case: Case) -> Times:
    options = ["--mode", "pairwise", "--transport", "mpi", "--memory", "host", "--no-ceilings"]
    options += ["--elements", ",".join(case.elements), "--order", str(case.order)]
    options += ["--repeat", str(samples), "--warmup", "3"]
    command = [*launch, "-n", str(case.ranks), str(program), "gather-scatter", *options]
    (record,) = measured(command)
    parts = {part.name: 1e6 * part.time_s for part in record.parts}
    return {
        "whole": record.statistics["time_us"].median,
        "exchange": parts["exchange"],
        "rest": parts["pack"] + parts["local"] + parts["unpack"],
    }


def compared(case: Case, turns: list[dict[str, Times]]) -> dict[str, object]:
    row: dict[str, object] = case._asdict()
    for name in PARTS if case.ranks > 1 else PARTS[:1]:
        bare_us, ours_us = (
            median(turn[side][name] for turn in turns) for side in ("bare", "commlens")
        )
        ratio = median(turn["commlens"][name] / turn["bare"][name] for turn in turns)
        row[name] = {"bare_us": bare_us, "commlens_us": ours_us, "ratio": ratio}
        where = f"{case.ranks:>5} {case.edge:>4} {case.order:>5}"
        print(f"{where} {name:>13} {bare_us:>7.0f} {ours_us:>8.0f} {ratio:>6.3f}")
    return row


def main() -> None:
    parser = arguments(__doc__, turns=11, launch="mpirun --bind-to core")
    parser.add_argument("--samples", type=int, default=15)
    options = parser.parse_args()
    how = options.launch.split(), options.samples
    turns: dict[Case, list[dict[str, Times]]] = {case: [] for case in CASES}
    with compiled(HERE / "bare_gather_scatter.c") as program:

        def all_cases(side: partial[Times]) -> dict[Case, Times]:
            return {case: side(case) for case in CASES}

        sides = {
            "bare": lambda: all_cases(partial(bare, program, *how)),
            "commlens": lambda: all_cases(partial(commlens, options.bench, *how)),
        }
        for turn in take_turns(options.turns, sides):
            for case in CASES:
                turns[case].append({side: times[case] for side, times in turn.items()})
    print(f"ranks edge order  microseconds    bare commlens  ratio   ({options.turns} turns)")
    rows = [compared(case, own) for case, own in turns.items()]
    result = {"benchmark": "gather-scatter", "turns": options.turns, "samples": options.samples}
    write(options.out, {**result, "rows": rows})


if __name__ == "__main__":
    main()
