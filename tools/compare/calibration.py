#!/usr/bin/env python3
"""How often `commlens compare` is wrong, and how often it finds what was slowed on purpose.

    tools/compare/calibration.py [--trials 100] [--starts N] [--percent 10] [--out FILE.json]

Needs build/host/tests/benchmarks/commlens-bench-slowed, whose transport `slowed` is mpi with a busy
wait after each sum. A trial takes turns between three sets of starts: two of the same, which must
not differ, and one slowed by --percent, which must be found. Without --starts a pilot of 5 starts
is compared with the threshold --percent, and the number of starts that compare then asks for is
used.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr
from datetime import datetime
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "python"))

from commlens.compare import Row, Side, Verdict, judge, match  # noqa: E402
from commlens.compare.turns import measure  # noqa: E402
from commlens.launch.options import Options  # noqa: E402
from commlens.records.rank_test import FEWEST  # noqa: E402
from commlens.run.entry import Entry  # noqa: E402
from commlens.run.session import Settings  # noqa: E402

THRESHOLD = 0.03
OPTIONS = {
    "transport": "slowed",
    "memory": "host",
    "bytes": "1K",
    "batches": "100",
    "no-ceilings": None,
    "no-parts": None,
}


def starts_of_trial(starts: int, percent: float) -> list[Side]:
    """Two sets of the same, and one that is slowed."""
    entry = Entry("allreduce", Options(OPTIONS), ranks=2, starts=starts)
    settings = [[f"COMMLENS_SLOWDOWN={text}"] for text in ("0", "0.0", f"{percent:g}")]
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.TextIOWrapper(io.BytesIO())):
        measured = measure(entry, settings, Settings("auto", Path(folder), quiet=True))
    if measured.interrupted or any(len(side.records) < starts for side in measured.sides):
        sys.exit("a start failed or was interrupted")
    return list(measured.sides)


def compared(baseline: Side, other: Side, threshold: float) -> Row:
    (row,) = judge([match(baseline, other)], threshold)
    return row


def starts_asked(percent: float) -> int:
    """What compare asks for after a pilot, which looks for a difference of so much."""
    same, other, _ = starts_of_trial(FEWEST, percent)
    row = compared(same, other, percent / 100)
    print(f"pilot: {row.verdict.value} {row.why}", flush=True)
    return row.starts_needed or FEWEST


def summary(row: Row) -> dict[str, object]:
    interval = row.interval
    return {
        "verdict": row.verdict.value,
        "ratio": row.ratio,
        "interval": [interval.low, interval.high] if interval else None,
        "p": row.p_value,
    }


def single(baseline: Side, other: Side) -> Row:
    """One start of each."""
    return compared(Side("one", baseline.records[:1]), Side("other", other.records[:1]), THRESHOLD)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    program = TOP / "build" / "host" / "tests" / "benchmarks" / "commlens-bench-slowed"
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--starts", type=int, help="of each set")
    parser.add_argument("--percent", type=float, default=10)
    parser.add_argument("--bench", type=Path, default=program)
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()
    os.environ["COMMLENS_BENCH"] = str(options.bench)
    starts = options.starts or starts_asked(options.percent)
    counts = {name: Counter[str]() for name in ("same", "slowed", "one start of the same")}
    trials = []
    for number in range(1, options.trials + 1):
        same, other, slowed = starts_of_trial(starts, options.percent)
        rows = {
            "same": compared(same, other, THRESHOLD),
            "slowed": compared(same, slowed, THRESHOLD),
            "one start of the same": single(same, other),
        }
        for name, row in rows.items():
            counts[name][row.verdict.value] += 1
        trials.append({name: summary(row) for name, row in rows.items()})
        if options.out:
            write(options.out, starts, options, counts, trials)
        print(f"{number}: {', '.join(f'{n} {dict(c)}' for n, c in counts.items())}", flush=True)
    wrong = counts["same"][Verdict.FASTER.value] + counts["same"][Verdict.SLOWER.value]
    found = counts["slowed"][Verdict.SLOWER.value]
    print(f"{starts} starts of each set, {options.trials} trials")
    print(f"the same: {wrong} called faster or slower")
    print(f"slowed by {options.percent:g}%: {found} called slower")


def write(
    path: Path,
    starts: int,
    options: argparse.Namespace,
    counts: dict[str, Counter[str]],
    trials: list[dict[str, object]],
) -> None:
    result = {
        "date": f"{datetime.now():%Y-%m-%d}",
        "starts": starts,
        "percent": options.percent,
        "threshold": THRESHOLD,
        "trials": len(trials),
        "counts": counts,
        "rows": trials,
    }
    path.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
