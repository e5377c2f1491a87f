"""The series of a store: of each case on each machine the median of each launch, oldest first."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from commlens.base.errors import CommlensError
from commlens.base.text import shown
from commlens.compare.history.entries import Explanations
from commlens.compare.matching import short_names
from commlens.model.start import Metric

BASELINE = 100  # launches, at most: with many cases, 3 new ones decide against a long one
_LONGEST = 100  # characters of a list of names in a message


class LaunchPoint(NamedTuple):
    """What a launch has measured of a case."""

    time: str
    median: float | None  # None: it failed
    busy: str  # what disturbed it
    facts: tuple[Explanations, Explanations]  # of the launch and of the record

    @property
    def versions(self) -> dict[str, str]:
        """Of software and firmware."""
        return {name: text for facts in self.facts for name, text in facts.versions.items()}

    @property
    def settings(self) -> dict[str, str]:
        """Of the environment, and where it ran."""
        return {name: text for facts in self.facts for name, text in facts.settings.items()}


@dataclass(frozen=True)
class CaseSeries:
    """A case on a machine, over time."""

    case: int  # its number in the store
    name: str
    machine: str
    benchmark: str
    words: Mapping[str, str]  # its whole description
    metric: Metric
    points: Sequence[LaunchPoint]

    @cached_property
    def measured(self) -> list[LaunchPoint]:
        """Those that did not fail, and whose values have a ratio."""
        return [point for point in self.points if point.median is not None and point.median > 0]

    @property
    def whole_name(self) -> str:
        """With all that other cases may have in common with it."""
        words = {**self.words, "backend": f"backend {self.words.get('backend')}"}
        return ", ".join(filter(None, words.values()))

    @property
    def fails(self) -> bool:
        """Whether the newest launch did."""
        return bool(self.points) and self.points[-1].median is None


def logs_of(points: Sequence[LaunchPoint], metric: Metric) -> list[float]:
    """Of the medians: larger is worse."""
    sign = 1 if metric.better == "lower" else -1
    return [sign * math.log(point.median) for point in points if point.median]


class Selection(NamedTuple):
    """Which series are read."""

    benchmark: str = ""
    machine: str = ""
    since: str = ""  # the beginning of a time, as in 2026-03-02


def series_of(connection: sqlite3.Connection, chosen: Selection | None = None) -> list[CaseSeries]:
    """The series that were chosen, in the order in which they were first met. Raises CommlensError
    where the store has none of them."""
    chosen = chosen or Selection()
    cases = _cases(connection, chosen)
    points: dict[int, list[LaunchPoint]] = {case: [] for case in cases}
    facts = _Decoded(connection.execute("SELECT id, text FROM facts"))
    launches = {
        launch: (time, known)
        for launch, time, known in connection.execute("SELECT id, time, facts FROM launches")
        if time >= chosen.since
    }
    seen: set[tuple[int, int]] = set()
    rows = connection.execute(
        "SELECT of_case, launch, median, busy, facts FROM records ORDER BY id"
    )
    for case, launch, median, busy, known in rows:
        place = case, launch
        # Of a launch the first record counts, where it has measured the same twice.
        if case in points and launch in launches and place not in seen:
            seen.add(place)
            time, of_launch = launches[launch]
            points[case].append(LaunchPoint(time, median, busy, (facts[of_launch], facts[known])))
    names = short_names({case: _words(row, cases) for case, row in cases.items()})
    found = [
        CaseSeries(case, names[case], *row, sorted(points[case], key=lambda point: point.time))
        for case, row in cases.items()
        if points[case]
    ]
    if not found:
        since = f" since {chosen.since}" if chosen.since else ""
        raise CommlensError(f"the history has no launch{since}; add records, or look further back")
    return found


class _Decoded(dict[int, Any]):
    """Explanations by their numbers, decoded when they are asked for."""

    def __init__(self, rows: Any) -> None:
        super().__init__()
        self._texts: dict[int, str] = dict(rows)

    def __missing__(self, number: int) -> Explanations:
        self[number] = facts = msgspec.json.decode(self._texts[number], type=Explanations)
        return facts


_Row = tuple[str, str, Mapping[str, str], Metric]


def _cases(connection: sqlite3.Connection, chosen: Selection) -> dict[int, _Row]:
    rows = connection.execute("SELECT id, machine, benchmark, words, metric FROM cases").fetchall()
    if not rows:
        raise CommlensError("the history is empty; `commlens history add RECORDS` adds to it")
    for wanted, column, option in ((chosen.benchmark, 2, ""), (chosen.machine, 1, "--machine ")):
        names = sorted({row[column] for row in rows})
        if wanted and wanted not in names:
            listed = ", ".join(names)
            more = f"{listed[:_LONGEST]} ..." if len(listed) > _LONGEST else listed
            raise CommlensError(f"{option}{shown(wanted)}: the history has none; it has {more}")
        rows = [row for row in rows if not wanted or row[column] == wanted]
    decode, metric = msgspec.json.decode, msgspec.json.Decoder(Metric)
    return {
        row[0]: (row[1], row[2], decode(row[3], type=dict[str, str]), metric.decode(row[4]))
        for row in rows
    }


def _words(row: _Row, cases: Mapping[int, _Row]) -> dict[str, str]:
    """With the machine and the metric, where they set cases apart."""
    machine, _, words, metric = row
    return {**words, "machine": machine, "metric": metric.label or metric.name}


def day(text: str) -> str | None:
    """`2026-03-02`, or that many days ago in `90d`, weeks in `8w`, years in `1y`; None for other
    texts."""
    days = {"d": 1, "w": 7, "y": 365}
    number, unit = text[:-1], text[-1:]
    if unit in days and number.isascii() and number.isdecimal() and len(number) <= 4:
        today = datetime.now(timezone.utc).date().toordinal()
        return date.fromordinal(max(1, today - days[unit] * int(number))).isoformat()
    try:
        return text if date.fromisoformat(text).isoformat() == text else None
    except ValueError:
        return None
