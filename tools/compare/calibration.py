#!/usr/bin/env python3
"""How often `commlens compare` is wrong, and how often it finds what was slowed on purpose.

    tools/compare/calibration.py [--trials 100] [--percent 10] [--out FILE.json]

Needs build/host/tests/benchmarks/commlens-bench-slowed, whose transport `slowed` is mpi with a busy
wait after each sum. A trial takes turns between three sets of 5 launches, the default of compare:
two of the same, which must not differ, and one slowed by --percent, which must be found. Where
compare leaves the slowed one inconclusive and asks for more launches, as many new ones are
measured, interleaved, and so on; the last verdict counts.
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
from commlens.compare.interleaved import measure  # noqa: E402
from commlens.jobs.session import Settings  # noqa: E402
from commlens.jobs.spec import JobSpec, Options  # noqa: E402

THRESHOLD = 0.03  # the default of compare
LAUNCHES = 5  # likewise
OPTIONS = {
    "transport": "slowed",
    "memory": "host",
    "bytes": "1K",
    "batches": "100",
    "no-ceilings": None,
    "no-parts": None,
}


def measured(launches: int, *slowdowns: str) -> list[Side]:
    """A set of launches for each slowdown, interleaved."""
    entry = JobSpec("allreduce", Options(OPTIONS), ranks=2, launches=launches)
    settings = [[f"COMMLENS_SLOWDOWN={text}"] for text in slowdowns]
    said = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.TextIOWrapper(said)):
        outcome = measure(entry, settings, Settings("auto", Path(folder), quiet=True))
        sys.stderr.flush()
        text = said.getvalue().decode()
    if outcome.interrupted or any(len(side.records) < launches for side in outcome.sides):
        sys.exit(f"{text}a start failed or was interrupted")
    return list(outcome.sides)


def compared(baseline: Side, other: Side) -> Row:
    (row,) = judge([match(baseline, other)], THRESHOLD).rows
    return row


def trial(percent: float) -> dict[str, Row]:
    same, other, slowed = measured(LAUNCHES, "0", "0.0", f"{percent:g}")
    rows = {
        "same": compared(same, other),
        "one start of the same": compared(
            Side("one", same.records[:1]), Side("other", other.records[:1])
        ),
        "slowed": compared(same, slowed),
    }
    while needed := rows["slowed"].launches_needed:
        rows["slowed"] = compared(*measured(needed, "0", f"{percent:g}"))
    return rows


def summary(row: Row) -> dict[str, object]:
    interval = row.difference.interval
    return {
        "verdict": row.verdict.value,
        "launches": row.difference.launches[0],
        "ratio": row.difference.ratio,
        "interval": [interval.low, interval.high] if interval else None,
        "p": row.difference.p_value,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    program = TOP / "build" / "host" / "tests" / "benchmarks" / "commlens-bench-slowed"
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--percent", type=float, default=10)
    parser.add_argument("--bench", type=Path, default=program)
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()
    os.environ["COMMLENS_BENCH"] = str(options.bench)
    counts = {name: Counter[str]() for name in ("same", "slowed", "one start of the same")}
    trials: list[dict[str, object]] = []
    for number in range(1, options.trials + 1):
        rows = trial(options.percent)
        for name, row in rows.items():
            counts[name][row.verdict.value] += 1
        trials.append({name: summary(row) for name, row in rows.items()})
        if options.out:
            write(options.out, options.percent, counts, trials)
        words = ", ".join(f"{name} {dict(counter)}" for name, counter in counts.items())
        print(f"{number}: {words}; {rows['slowed'].difference.launches[0]} starts", flush=True)
    wrong = counts["same"][Verdict.FASTER.value] + counts["same"][Verdict.SLOWER.value]
    slower = counts["slowed"][Verdict.SLOWER.value]
    print(f"the same: {wrong} called faster or slower")
    print(f"slowed by {options.percent:g}%: {slower} called slower")


def write(
    path: Path, percent: float, counts: dict[str, Counter[str]], trials: list[dict[str, object]]
) -> None:
    result = {
        "date": f"{datetime.now():%Y-%m-%d}",
        "launches": LAUNCHES,
        "percent": percent,
        "threshold": THRESHOLD,
        "trials": len(trials),
        "counts": counts,
        "rows": trials,
    }
    path.write_text(json.dumps(result) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
