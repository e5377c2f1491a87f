#!/usr/bin/env python3
"""commlens's gather-scatter and gslib's pairwise one (bare_gather_scatter.c), of the same labels in host memory, run in
turns with the same MPI on the same cores.

    tools/overhead/compare_gather_scatter.py [--turns 11] [--samples 15] [--bench build/host/src/commlens-bench]
                                             [--launch 'mpirun --bind-to core'] [--out FILE.json]

For each mesh and number of ranks the median over the turns of each side, and the median of the turns' ratios, of the
whole operation, of its messages (with the wait for the other ranks) and of the rest. A ratio above 1 means that
commlens is slower. A turn of one side is the median of its samples.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FIGURES = ("whole", "exchange", "rest")
Figures = dict[str, float]


class Case(NamedTuple):
    ranks: int
    edge: int  # elements along the edge of a rank's cube
    order: int

    @property
    def elements(self) -> list[str]:
        return [str(self.edge * self.ranks), str(self.edge), str(self.edge)]


CASES = [Case(ranks, *mesh) for mesh in ((20, 7), (12, 7), (24, 3), (40, 1)) for ranks in (1, 2)]


def run(launch: list[str], ranks: int, command: list[str]) -> str:
    return subprocess.run([*launch, "-n", str(ranks), *command], check=True, capture_output=True, text=True).stdout


def bare(program: Path, launch: list[str], case: Case, samples: int) -> Figures:
    command = [str(program), *case.elements, str(case.order), str(samples)]
    return {
        name: float(figure) for name, figure in (line.split() for line in run(launch, case.ranks, command).splitlines())
    }


def commlens(program: Path, launch: list[str], case: Case, samples: int) -> Figures:
    options = ["--mode", "pairwise", "--transport", "mpi", "--memory", "host", "--no-ceilings", "--format", "json"]
    options += ["--elements", ",".join(case.elements), "--order", str(case.order)]
    options += ["--repeat", str(samples), "--warmup", "3"]
    record = json.loads(run(launch, case.ranks, [str(program), "gather-scatter", *options]))
    assert record["status"] == "ok", record
    parts = {part["name"]: part["statistics"]["time_us"]["median"] for part in record["parts"]}
    return {
        "whole": record["statistics"]["time_us"]["median"],
        "exchange": parts["exchange"],
        "rest": parts["pack"] + parts["local"] + parts["unpack"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--bench", type=Path, default=HERE.parent.parent / "build/host/src/commlens-bench")
    parser.add_argument("--launch", default="mpirun --bind-to core")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    launch = options.launch.split()
    turns: dict[Case, list[tuple[Figures, Figures]]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "bare"
        subprocess.run(["mpicc", "-O3", "-o", str(program), str(HERE / "bare_gather_scatter.c")], check=True)
        for turn in range(options.turns):
            for case in CASES:
                sides = [(bare, program), (commlens, options.bench)]
                order = sides if turn % 2 == 0 else sides[::-1]  # neither is always first
                figures = {side: side(path, launch, case, options.samples) for side, path in order}
                turns[case].append((figures[bare], figures[commlens]))
    rows = []
    print(f"ranks edge order  microseconds    bare commlens  ratio   (medians of {options.turns} turns)")
    for case, pairs in turns.items():
        row: dict[str, object] = case._asdict()
        for name in FIGURES if case.ranks > 1 else FIGURES[:1]:
            sides_us = [statistics.median(pair[side][name] for pair in pairs) for side in (0, 1)]
            ratio = statistics.median(pair[1][name] / pair[0][name] for pair in pairs)
            row[name] = {"bare_us": sides_us[0], "commlens_us": sides_us[1], "ratio": ratio}
            where = f"{case.ranks:>5} {case.edge:>4} {case.order:>5}"
            print(f"{where} {name:>13} {sides_us[0]:>7.0f} {sides_us[1]:>8.0f} {ratio:>6.3f}")
        rows.append(row)
    if options.out:
        record = {"benchmark": "gather-scatter", "turns": options.turns, "samples": options.samples, "rows": rows}
        options.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
