#!/usr/bin/env python3
"""Whether a replay communicates as long as its program.

    tools/replay/communication.py [--turns 7] [--launch "mpirun -n 2"] [--out FILE] PROGRAM...

Each turn launches the program with a trace (--exact-times), then one replay of that trace. Printed
is the time in MPI, in all and by function, in ms and as the mean over the ranks: medians over the
turns; and the median over the turns of the replay's time over the program's, with its interval of
95%. COMMLENS_BENCH names
commlens-bench where it is not on the PATH.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from scipy.stats import binom

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

from side_by_side import TOP, arguments, environment, run, write  # noqa: E402

from commlens.profile.traces import container  # noqa: E402
from commlens.profile.traces.summary import summarize  # noqa: E402

REPLAY = "replay --transport mpi --memory host --repeat 1 --warmup 0"
NOTHING_ELSE = "--no-parts --no-validate --no-ceilings"
ALL = "all"
Times = dict[str, float]  # ms by function


def program(command: list[str], trace: Path) -> Times:
    """The trace is replaced."""
    trace.unlink(missing_ok=True)
    kept = ["--trace", trace, "--exact-times"]
    words = ["profile", "--no-plot", "--out", trace.parent, *kept, "--", *command]
    run([sys.executable, "-m", "commlens", *words], env=environment(PYTHONPATH=str(TOP / "python")))
    read = container.read(trace)
    functions = summarize(read).functions
    times = {own.name: 1e3 * own.seconds / len(read.ranks) for own in functions}
    return {ALL: sum(times.values()), **times}


def replay(launch: list[str], trace: Path) -> Times:
    out = trace.with_suffix(".jsonl")
    out.unlink(missing_ok=True)
    bench = os.environ.get("COMMLENS_BENCH", "commlens-bench")
    words = [*REPLAY.split(), *NOTHING_ELSE.split(), "--trace", trace, "--record", out]
    run([*launch, bench, *words])
    records = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    (record,) = (each for each in records if "statistics" in each)
    series = {name: values for name, values in record["series"].items() if name.startswith("MPI_")}
    times = {name[:-2]: 1e3 * sum(values) / len(values) for name, values in series.items()}
    return {ALL: 1e3 * record["facts"]["communication_s"], **times}


def ratio(turns: list[dict[str, Times]]) -> tuple[float, float, float]:
    """The median of the replay's time over that of the launch whose trace it executes, and the ends
    of its interval: order statistics, by the binomial distribution."""
    ratios = sorted(turn["replay"][ALL] / turn["program"][ALL] for turn in turns)
    outside = int(binom.ppf(0.025, len(ratios), 0.5))
    if outside == 0:
        sys.exit("--turns: too few for an interval; give 6 or more")
    return median(ratios), ratios[outside - 1], ratios[-outside]


def main() -> None:
    parser = arguments(__doc__, turns=7, launch="mpirun -n 2")
    parser.add_argument("program", nargs="+", help="without its launcher")
    options = parser.parse_args()
    launch, turns = options.launch.split(), []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "program.clt")
        for _ in range(options.turns):
            times = program([*launch, *options.program], trace)
            turns.append({"program": times, "replay": replay(launch, trace)})
    medians = {
        name: {side: median(turn[side].get(name, 0) for turn in turns) for side in turns[0]}
        for name in turns[0]["program"]
    }
    for name, of_side in medians.items():
        print(f"{name:>32} {of_side['program']:10.3f} ms, replay {of_side['replay']:10.3f} ms")
    value, low, high = ratio(turns)
    print(f"replay / program: {value:.3f}, {low:.3f} to {high:.3f}")
    result = {"launch": options.launch, "program": options.program, "turns": options.turns}
    all_ms = {side: [turn[side][ALL] for turn in turns] for side in turns[0]}
    write(
        options.out,
        {**result, "all_ms": all_ms, "medians_ms": medians, "ratio": [value, low, high]},
    )


if __name__ == "__main__":
    main()
