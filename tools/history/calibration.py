#!/usr/bin/env python3
"""How often `commlens history check` alarms where nothing has changed, and how soon it finds a
change, on simulated series of launches.

    tools/history/calibration.py [--series 1000] [--percent 10] [--out FILE.json]

There are --series stable and as many changed series of each kind; launches differ by what KINDS
has. A series has 40 launches before the first check. Stable series are checked after each of 30
more launches, as by cron every night; the others become slower by --percent, and are checked after
each of 5 more. An alarm is status 1, with the options as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "python"))

from commlens.compare.history.entries import Explanations  # noqa: E402
from commlens.compare.history.series import CaseSeries, LaunchPoint  # noqa: E402
from commlens.compare.history.trends import judge  # noqa: E402
from commlens.model.comparison import THRESHOLD  # noqa: E402
from commlens.model.start import Metric  # noqa: E402

Noise = Callable[[np.random.Generator, int], NDArray[np.float64]]
BEFORE, CHECKS, LATEST = 40, 30, 5
METRIC = Metric(name="time_us", label="time", unit="us", better="lower", definition="")
NOTHING = Explanations(), Explanations()


def heavy(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Most launches within 1.5%, some far out: Student's t with 3 degrees of freedom."""
    return 0.015 * random.standard_t(3, count)


def disturbed(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Of 100 launches 3 are slower by 10% to 100%, and nothing says why."""
    values = 0.015 * random.standard_t(4, count)
    return values + np.where(random.random(count) < 0.03, random.uniform(0.1, 0.7, count), 0)


def two_modes(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Of 10 launches 3 are slower by 4%, as where ranks or memory were placed otherwise."""
    return 0.01 * random.standard_normal(count) + np.where(random.random(count) < 0.3, 0.04, 0)


def alike(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """A launch is like the one before: a correlation of 0.3, which permutations do not have."""
    values = 0.015 * random.standard_t(4, count)
    for place in range(1, count):
        values[place] += 0.3 * values[place - 1]
    return values


KINDS: dict[str, Noise] = {
    "normal, 2%": lambda random, count: 0.02 * random.standard_normal(count),
    "heavy tails": heavy,
    "disturbed": disturbed,
    "two modes": two_modes,
}
BEYOND: dict[str, Noise] = {"like the launch before": alike}  # what the method takes not to be


@dataclass
class Counts:
    """Of the series of a kind."""

    series: int = 0
    alarms: int = 0  # at the first check
    alarms_ever: int = 0  # at one of CHECKS
    found: list[int] = field(default_factory=lambda: [0] * LATEST)  # after so many launches


def alarms(logs: Sequence[float]) -> bool:
    """Whether the check ends with status 1."""
    points = [
        LaunchPoint(date.fromordinal(738000 + day).isoformat(), float(np.exp(log)), "", NOTHING)
        for day, log in enumerate(logs)
    ]
    (trend,) = judge([CaseSeries(1, "case", "machine", "benchmark", {}, METRIC, points)])
    return trend.is_worse_by(THRESHOLD)


def simulate(noise: Noise, series: int, percent: float, seed: int) -> Counts:
    random, counts = np.random.default_rng(seed), Counts(series)
    for _ in range(series):
        stable = noise(random, BEFORE + CHECKS)
        seen = [alarms(stable[: BEFORE + check]) for check in range(CHECKS + 1)]
        counts.alarms += seen[0]
        counts.alarms_ever += any(seen)
        slower = noise(random, BEFORE + LATEST)
        slower[BEFORE:] += np.log1p(percent / 100)
        found = False
        for number in range(LATEST):
            found = found or alarms(slower[: BEFORE + number + 1])
            counts.found[number] += found
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--percent", type=float, default=10)
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()
    rows = {}
    for seed, (name, noise) in enumerate({**KINDS, **BEYOND}.items()):
        counts = simulate(noise, options.series, options.percent, seed)
        rows[name] = vars(counts)
        print(f"{name}: {rows[name]}", flush=True)
    if options.out:
        facts = {"percent": options.percent, "before": BEFORE, "checks": CHECKS}
        document = {"date": f"{datetime.now():%Y-%m-%d}", **facts, "rows": rows}
        options.out.write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
