"""What variants are worth, and what becomes of the same problem on more ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commlens.records import Group, Metric, Record, option_text
from commlens.records.scaling import Pair, Position, Scaling, is_oversubscribed, pairs, position
from commlens.show.columns import NOTHING
from commlens.show.grid import Column, Grid, Lines
from commlens.text import format_percent, format_value, labelled, memory_name


def gain_lines(group: Group) -> Lines:
    """`cached over per-transpose (mpi, host): speed-up 12.3% by the medians ...`, one per pair."""
    if any(record.candidate for record in group.records):
        return Lines([])  # the fastest alone is used: what others gain on each other is no matter
    return Lines(_gain_line(group, pair) for pair in pairs(group))


def _gain_line(group: Group, pair: Pair) -> list[tuple[str, str]]:
    after = pair.after
    words = []
    if group.is_sweep and after.size is not None:
        words.append(group.format_size(after.size))
    words += [after.transport, memory_name(after.memory), group.start_label(after)]
    where = ", ".join(filter(None, words))
    return [
        (f"  {after.variant_value} over {pair.before.variant_value} ({where}): speed-up ", ""),
        (format_gain(pair.gain), "bold"),
        (f" by the medians, {format_gain(pair.gain_of_best)} by the best times", ""),
    ]


def format_gain(gain: float) -> str:
    """`12.3%`"""
    return f"{100 * gain:.1f}%"


def scaling_tables(scaling: Scaling) -> Iterator[Grid | Lines]:
    """Before and after by the number of ranks where variants are compared, else the main metric."""
    title = [(f"{scaling.benchmark} by ranks", "bold cyan"), (f"  {scaling.title}", "dim")]
    yield Lines([title])
    yield from _gain_grids(scaling) if scaling.variant else [_metric_grid(scaling)]


@dataclass(frozen=True)
class _Row:
    group: Group
    record: Record
    cells: Sequence[str]

    @property
    def position(self) -> Position:
        return position(self.group, self.record)


def _gain_grids(scaling: Scaling) -> Iterator[Grid]:
    """A table for each variant beside the first."""
    found = [pair for group in scaling.groups for pair in pairs(group)]
    values = dict.fromkeys(value for group in scaling.groups for value in group.variant_values)
    before, *others = values
    for after in others:
        own = [pair for pair in found if pair.after.variant_value == after]
        label = labelled(own[0].metric.label, own[0].metric.unit) if own else "time"
        best, median = (
            [f"{value}\n{which} {label}" for value in (before, after)]
            for which in ("best", "median")
        )
        heads = [*best, "speed-up", *median, "speed-up"]
        yield _grid(scaling, heads, [_Row(one.group, one.after, _gain_cells(one)) for one in own])


def _gain_cells(pair: Pair) -> list[str]:
    unit = pair.metric.unit
    best = [format_value(one.min, unit) for one in pair.statistics]
    medians = [format_value(one.median, unit) for one in pair.statistics]
    return [*best, format_gain(pair.gain_of_best), *medians, format_gain(pair.gain)]


def _metric_grid(scaling: Scaling) -> Grid:
    """How many times better each is than on the fewest ranks; times fewest/ranks: efficiency."""
    measured = [
        (group, record) for group in scaling.groups for record in group.records if record.measured
    ]
    metric = next((record.main for _, record in measured), None)
    if metric is None:
        return _grid(scaling, [], [])
    fewest: dict[Position, Record] = {}
    rows = []
    for group, record in measured:
        if metric.name in record.statistics:
            first = fewest.setdefault(position(group, record), record)
            rows.append(_Row(group, record, _metric_cells(metric, record, first)))
    head = labelled(metric.label, metric.unit)
    return _grid(scaling, [head, "95% CI", "speed-up", "efficiency"], rows)


def _metric_cells(metric: Metric, record: Record, first: Record) -> list[str]:
    own, base = record.statistics[metric.name], first.statistics[metric.name]
    ends = [format_value(end, metric.unit) for end in (own.ci_low, own.ci_high) if end is not None]
    cells = [format_value(own.median, metric.unit), " to ".join(ends) or "too few samples"]
    worse, good = (
        (base.median, own.median) if metric.better == "lower" else (own.median, base.median)
    )
    if good <= 0:
        return [*cells, NOTHING, NOTHING]
    ratio = worse / good
    speed_up = f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
    return [*cells, speed_up, format_percent(ratio * first.ranks / record.ranks)]


def _grid(scaling: Scaling, heads: Sequence[str], rows: Sequence[_Row]) -> Grid:
    """The rows by what was measured and then by ranks, and with them what failed."""
    ranking = {name: rank for rank, name in enumerate(scaling.transports)}

    def order(row: _Row) -> tuple[int, int, str, str, int]:
        place = row.position
        number = ranking[place.transport]
        return place.size, number, place.memory, place.start_label, row.record.ranks

    ordered = sorted([*rows, *_failed(scaling, rows, len(heads))], key=order)
    columns = [*_place_columns(scaling, ordered)]
    columns.append(Column("ranks", [str(row.record.ranks) for row in ordered]))
    for parameter in scaling.arrangements:
        values = (row.record.parameters.get(parameter.name) for row in ordered)
        texts = [NOTHING if value is None else option_text(value) for value in values]
        columns.append(Column(parameter.title, texts))
    columns += [
        Column(head, [row.cells[number] for row in ordered]) for number, head in enumerate(heads)
    ]
    notes = [_note(row.record) for row in ordered]
    return Grid([*columns, Column("", notes, left=True, style="yellow")])


def _place_columns(scaling: Scaling, rows: Sequence[_Row]) -> list[Column]:
    """What was measured, at the first row of its kind alone."""
    group = scaling.groups[0]
    places = [row.position for row in rows]
    is_first = [number == 0 or places[number - 1] != own for number, own in enumerate(places)]

    def column(head: str, texts: Sequence[str], left: bool = True) -> Column:
        return Column(head, [t if new else "" for t, new in zip(texts, is_first)], left=left)

    columns = []
    if group.is_sweep:
        sizes = [NOTHING if own.size < 0 else group.format_size(own.size) for own in places]
        columns.append(column(group.size_name, sizes, left=False))
    columns.append(column("transport", [own.transport for own in places]))
    columns.append(column("memory", [memory_name(own.memory) for own in places]))
    if any(one.start_labels for one in scaling.groups):
        columns.append(column("start", [own.start_label for own in places]))
    return columns


def _failed(scaling: Scaling, rows: Sequence[_Row], cells: int) -> list[_Row]:
    """A row for what failed and is in no row of its own."""
    there = {(id(row.group), row.position) for row in rows}
    missing = {
        (id(group), position(group, record)): _Row(group, record, [NOTHING] * cells)
        for group in scaling.groups
        for record in group.records
        if record.status == "failed"
    }
    return [row for key, row in missing.items() if key not in there]


def _note(record: Record) -> str:
    failed = "failed" if record.status == "failed" else ""
    shared = "oversubscribed" if is_oversubscribed(record) else ""
    return ", ".join(filter(None, (failed, shared)))
