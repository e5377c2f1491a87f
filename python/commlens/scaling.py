"""What a variant of a benchmark is worth over another, and what becomes of the same problem on more ranks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from commlens.records import Case, Record, Statistic, transport_order
from commlens.text import figure_label, format_figure, format_percent, memory_name

# How the ranks are arranged follows from how many there are, so it may change along a scaling.
ARRANGEMENTS = ("grid-of-ranks",)

# Size (-1: none), transport, memory, and what sets the run apart where several measured the same.
_Place = tuple[int, tuple[int, str], str, str]


@dataclass(frozen=True)
class Pair:
    """Two variants of the same: the one that the others are compared with, and another."""

    case: Case
    before: Record
    after: Record

    @property
    def figure(self) -> str:
        """The time by which they are compared: the benchmark's own, or that of the operation."""
        return _time_figure(self.before)

    @property
    def gain(self) -> float:
        """before / after - 1, of the medians: 0.12 is a speed-up of 12%."""
        before, after = self.statistics
        return _gain(before.median, after.median)

    @property
    def gain_of_best(self) -> float | None:
        """The same of the shortest times."""
        before, after = (statistic.minimum for statistic in self.statistics)
        return None if before is None or after is None else _gain(before, after)

    @property
    def statistics(self) -> tuple[Statistic, Statistic]:
        return self.before.statistics[self.figure], self.after.statistics[self.figure]


def pairs(case: Case) -> list[Pair]:
    """Each variant of the case beside the first of its place, where both were measured."""
    if case.compared is None:
        return []
    found = []
    for group in _by_place(case, [record for record in case.records if record.measured]):
        first = next((record for record in group if record.variant_value == case.compared_values[0]), None)
        if first is not None:
            found += [Pair(case, first, record) for record in group if record.variant_value != first.variant_value]
    return found


def gain_lines(case: Case) -> list[Text]:
    """`cached over per-transpose (mpi, host): speed-up 12.3% by the medians, 11.0% by the best times`, one a pair."""
    if any(record.candidate for record in case.records):
        return []  # the fastest alone is used: what others gain on each other does not matter
    lines = []
    for pair in pairs(case):
        size, _, memory, run = _place(case, pair.after)
        words = [case.format_size(size)] if case.is_sweep and size >= 0 else []
        words += [pair.after.transport, memory_name(memory), *([run] if run else [])]
        line = Text(f"{pair.after.variant_value} over {pair.before.variant_value} ({', '.join(words)}): speed-up ")
        line.append(format_gain(pair.gain), style="bold").append(" by the medians, ")
        lines.append(line.append(f"{format_gain(pair.gain_of_best)} by the best times"))
    return lines


@dataclass(frozen=True)
class Scaling:
    """Cases of one problem that differ in the number of ranks, the fewest first."""

    cases: Sequence[Case]

    @property
    def compared(self) -> str | None:
        return self.cases[0].compared

    @property
    def settings(self) -> dict[str, str]:
        """What all of them have in common."""
        return {name: text for name, text in self.cases[0].settings.items() if name not in ARRANGEMENTS}

    @property
    def title(self) -> str:
        """`grid 125x125x125 · dtype c128 · timing each`"""
        case = self.cases[0]
        return " · ".join([*(f"{name} {text}" for name, text in self.settings.items()), f"timing {case.timing}"])

    @property
    def arrangements(self) -> list[str]:
        """The parameters that say how the ranks are arranged, if the problem has any."""
        return [name for name in ARRANGEMENTS if any(name in case.settings for case in self.cases)]


def scalings(all_cases: Sequence[Case], fewest: int = 2) -> list[Scaling]:
    """The cases by problem, of those that ran, and did not skip, on at least `fewest` different numbers of ranks."""
    groups: dict[str, list[Case]] = {}
    for case in all_cases:
        if all(record.status == "skipped" for record in case.records):
            continue
        parameters = {name: text for name, text in case.settings.items() if name not in ARRANGEMENTS}
        size = None if case.is_sweep else case.sizes[:1]
        backend = case.records[0].backend
        key = json.dumps([case.benchmark, backend, case.timing, case.swept, case.compared, size, parameters])
        groups.setdefault(key, []).append(case)
    found = [Scaling(sorted(group, key=lambda case: case.ranks)) for group in groups.values()]
    return [scaling for scaling in found if len({case.ranks for case in scaling.cases}) >= fewest]


def is_oversubscribed(record: Record) -> bool:
    """Whether on a machine more ranks ran than there are cores for them, by the placement in the record."""
    ranks: dict[str, int] = {}
    cores: dict[str, set[int]] = {}
    for place in record.placement:
        host = str(place["host"])
        ranks[host] = ranks.get(host, 0) + 1
        cores.setdefault(host, set()).update(_cores(str(place["cores"])))
    return any(cores[host] and ranks[host] > len(cores[host]) for host in ranks)


def table(scaling: Scaling) -> RenderableType:
    """Before and after by the number of ranks where variants are compared, else the benchmark's own figure."""
    title = Text(f"{scaling.cases[0].benchmark} by ranks", style="bold cyan").append(f"  {scaling.title}", style="dim")
    tables = _gain_tables(scaling) if scaling.compared else [_figure_table(scaling)]
    return Group(title, *(part for one in tables for part in (Text(), Padding(one, (0, 0, 0, 2)))))


def format_gain(gain: float | None) -> str:
    """`12.3%`"""
    return "-" if gain is None else f"{100 * gain:.1f}%"


def _gain_tables(scaling: Scaling) -> list[Table]:
    """A table for each variant beside the first."""
    found = [pair for case in scaling.cases for pair in pairs(case)]
    before, *others = dict.fromkeys(value for case in scaling.cases for value in case.compared_values)
    tables = []
    for after in others:
        own = [pair for pair in found if pair.after.variant_value == after]
        label = figure_label(own[0].figure if own else "time")
        heads = [f"{value}\n{which} {label}" for which in ("best", "median") for value in (before, after)]
        heads = [*heads[:2], "\nspeed-up", *heads[2:], "\nspeed-up"]
        rows = [_Row(pair.case, pair.after, _gain_cells(pair)) for pair in own]
        tables.append(_table(scaling, heads, rows))
    return tables


def _gain_cells(pair: Pair) -> list[str]:
    before, after = pair.statistics
    best = ["-" if time is None else format_figure(pair.figure, time) for time in (before.minimum, after.minimum)]
    medians = [format_figure(pair.figure, statistic.median) for statistic in (before, after)]
    return [*best, format_gain(pair.gain_of_best), *medians, format_gain(pair.gain)]


def _figure_table(scaling: Scaling) -> Table:
    """How many times better each is than on the fewest ranks, and that times fewest/ranks: the efficiency."""
    measured = [(case, record) for case in scaling.cases for record in case.records if record.measured]
    figure = measured[0][1].figure or "" if measured else ""
    fewest: dict[_Place, Record] = {}
    for case, record in measured:
        fewest.setdefault(_place(case, record), record)
    rows = [_Row(case, record, _figure_cells(record, fewest[_place(case, record)])) for case, record in measured]
    return _table(scaling, [figure_label(figure), "95% CI", "speed-up", "efficiency"], rows)


def _figure_cells(record: Record, first: Record) -> list[str]:
    figure, better = record.figures[0]
    own, base = record.statistics[figure], first.statistics[figure]
    ends = [format_figure(figure, end) for end in (own.ci_low, own.ci_high) if end is not None]
    cells = [format_figure(figure, own.median), " to ".join(ends) or "too few samples"]
    worse, good = (base.median, own.median) if better == "lower" else (own.median, base.median)
    if good <= 0:
        return [*cells, "-", "-"]
    ratio = worse / good
    return [
        *cells,
        f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}",
        format_percent(ratio * first.ranks / record.ranks),
    ]


@dataclass(frozen=True)
class _Row:
    case: Case
    record: Record
    cells: Sequence[str]


def _table(scaling: Scaling, columns: Sequence[str], rows: Sequence[_Row]) -> Table:
    """The rows by what was measured and then by ranks, and with them what failed."""
    is_sweep, has_runs = scaling.cases[0].is_sweep, any(case.variants for case in scaling.cases)
    grown = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    if is_sweep:
        grown.add_column(scaling.cases[0].size_name, justify="right", no_wrap=True)
    for name in ["transport", "memory", *(["run"] if has_runs else [])]:
        grown.add_column(name, no_wrap=True)
    for name in ["ranks", *scaling.arrangements, *columns]:
        grown.add_column(name, justify="right")
    grown.add_column("", style="yellow", no_wrap=True)
    before: _Place | None = None
    for row in sorted([*rows, *_failed(scaling, rows, len(columns))], key=_order):
        place = size, _, memory, run = _place(row.case, row.record)
        words = [row.case.format_size(size) if size >= 0 else "-"] if is_sweep else []
        words += [row.record.transport, memory_name(memory), *([run] if has_runs else [])]
        ranks = [str(row.record.ranks), *([row.case.settings.get(name, "-") for name in scaling.arrangements])]
        grown.add_row(
            *map(Text, [*([""] * len(words) if place == before else words), *ranks, *row.cells, _note(row.record)])
        )
        before = place
    return grown


def _failed(scaling: Scaling, rows: Sequence[_Row], columns: int) -> list[_Row]:
    """A row for what failed and is in no row of its own."""
    there = {(id(row.case), _place(row.case, row.record)) for row in rows}
    missing = {
        (id(case), _place(case, record)): _Row(case, record, ["-"] * columns)
        for case in scaling.cases
        for record in case.records
        if record.status == "failed"
    }
    return [row for key, row in missing.items() if key not in there]


def _note(record: Record) -> str:
    return ", ".join(
        [*(["failed"] if record.status == "failed" else []), *(["oversubscribed"] if is_oversubscribed(record) else [])]
    )


def _order(row: _Row) -> tuple[object, ...]:
    return *_place(row.case, row.record), row.record.ranks


def _place(case: Case, record: Record) -> _Place:
    size = case.size(record)
    run = case.variants.get(record.run, "")
    return (-1 if size is None else size), transport_order(record.transport), record.memory, run


def _by_place(case: Case, records: Iterable[Record]) -> list[list[Record]]:
    groups: dict[_Place, list[Record]] = {}
    for record in records:
        groups.setdefault(_place(case, record), []).append(record)
    return list(groups.values())


def _time_figure(record: Record) -> str:
    """The benchmark's own figure if it is a time."""
    name, better = record.figures[0]
    return name if better == "lower" else "time_us"


def _gain(before: float, after: float) -> float:
    return before / after - 1 if after > 0 else math.inf


def _cores(text: str) -> set[int]:
    """Of a list as in /proc: `0-3,8`."""
    found: set[int] = set()
    for piece in filter(None, text.split(",")):
        first, _, last = piece.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return found
