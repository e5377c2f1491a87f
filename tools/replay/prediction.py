#!/usr/bin/env python3
"""Whether replays predict what a setting does to a program.

    tools/replay/prediction.py [--turns 7] [--a NAME=VALUE] [--b NAME=VALUE] [--out FILE] PROGRAM...

The program is launched with either setting, and so are replays of one trace of it, which was
recorded with the first setting; all four interleaved. A share above 0 is what the second setting
saves of the run, by the program's own times from the end of MPI_Init to MPI_Finalize, and by the
times of the replays; with its interval of 95%, over launches.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "python")]

from side_by_side import TOP, arguments, environment, run, take_turns, write  # noqa: E402

from commlens.model.comparison import interval_over_launches  # noqa: E402
from commlens.profile.traces import container  # noqa: E402

COMMLENS = [sys.executable, "-m", "commlens"]


def with_setting(setting: str) -> dict[str, str]:
    name, _, value = setting.partition("=")
    return environment(PYTHONPATH=str(TOP / "python"), **{name: value})


def record(program: list[str], setting: str, trace: Path) -> float:
    """The seconds that the program took; the trace is replaced."""
    trace.unlink(missing_ok=True)
    words = ["profile", "--no-plot", "--out", str(trace.parent), "--trace", str(trace), "--"]
    run([*COMMLENS, *words, *program], env=with_setting(setting))
    return float(container.read(trace).header["seconds"])


def replay(trace: Path, setting: str, numbers: itertools.count[int]) -> float:
    """The median over the replays of one launch."""
    out = trace.parent / f"replay-{next(numbers)}.jsonl"
    words = ["replay", str(trace), "--transport", "mpi", "--record", str(out)]
    run([*COMMLENS, *words], env=with_setting(setting))
    records = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    (seconds,) = [
        each["statistics"]["time_s"]["median"] for each in records if "statistics" in each
    ]
    return float(seconds)


def shares(times: dict[str, list[float]], before: str, after: str, of_s: float) -> list[float]:
    """What is saved of the run, and the ends of its interval."""
    baseline, other = ([math.log(time) for time in times[side]] for side in (before, after))
    ratio = interval_over_launches(baseline, other)
    if ratio is None:
        sys.exit("--turns: too few for an interval; give 5 or more")
    scale = median(times[before]) / of_s
    return [scale * (1 - times) for times in (ratio.value, ratio.high, ratio.low)]


def main() -> None:
    parser = arguments(__doc__, turns=7, launch="")
    parser.add_argument("--a", default="OMPI_MCA_btl=self,vader")
    parser.add_argument("--b", default="OMPI_MCA_btl=self,tcp")
    parser.add_argument("program", nargs="+", help="with its launcher")
    options = parser.parse_args()
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        trace, other = Path(folder, "program.clt"), Path(folder, "other.clt")
        record(options.program, options.a, trace)
        sides = {
            "program_a": partial(record, options.program, options.a, other),
            "program_b": partial(record, options.program, options.b, other),
            "replay_a": partial(replay, trace, options.a, numbers),
            "replay_b": partial(replay, trace, options.b, numbers),
        }
        turns = list(take_turns(options.turns, sides))
    times = {side: [turn[side] for turn in turns] for side in sides}
    run_s = median(times["program_a"])
    saved = {kind: shares(times, f"{kind}_a", f"{kind}_b", run_s) for kind in ("program", "replay")}
    for kind, (value, low, high) in saved.items():
        print(
            f"{kind:>8}: {100 * value:6.1f}% of the run saved, {100 * low:.1f} to {100 * high:.1f}"
        )
    result = {"program": options.program, "a": options.a, "b": options.b, "turns": options.turns}
    write(options.out, {**result, "times_s": times, "saved": saved})


if __name__ == "__main__":
    main()
