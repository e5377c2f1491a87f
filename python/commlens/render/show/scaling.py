"""What variants are worth, and what becomes of the same problem on more ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from commlens.base.text import format_percent, format_value, labelled, memory_name
from commlens.model import (
    TIME_METRIC,
    Group,
    Metric,
    Record,
    difference,
    no_difference,
    option_text,
    why_tie,
)
from commlens.model.scaling import Pair, Position, Scaling, is_oversubscribed, pairs, position
from commlens.render.show.columns import NOTHING
from commlens.render.show.grid import Column, Grid, Lines
from commlens.render.show.published import published_by_ranks


def gain_lines(group: Group) -> Lines:
    """`cached over per-transpose (mpi, host): speed-up 12.3% by the medians ...`, one per pair, or
    that it is a tie."""
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
    why = f" ({why_tie(pair.before, after, pair.metric)})" if pair.is_tie else ""
    verdict = pair.tie or "speed-up"
    return [
        (f"  {after.variant_value} over {pair.before.variant_value} ({where}): ", ""),
        (verdict, "bold"),
        (f"{why}: " if why else " ", ""),
        (format_gain(pair.gain), ""),
        (f" by the medians, {format_gain(pair.gain_of_best)} by the best times", ""),
    ]


def format_gain(gain: float) -> str:
    """`12.3%`"""
    return NOTHING if gain == math.inf else f"{100 * gain:.1f}%"


def scaling_tables(scaling: Scaling) -> Iterator[Grid | Lines]:
    """By the number of ranks: before and after where variants are compared; strong or weak scaling
    where the ranks divide the work; else the metrics alone."""
    kind = f"{'weak' if scaling.is_weak else 'strong'} scaling" if scaling.divides_work else ""
    details = " · ".join(filter(None, (kind, scaling.title)))
    yield Lines([[(f"{scaling.benchmark} by ranks", "bold cyan"), (f"  {details}", "dim")]])
    if scaling.variant:
        yield from _gain_grids(scaling)
        yield from published_by_ranks(scaling.benchmark)
    else:
        yield _efficiency_grid(scaling) if scaling.divides_work else _metrics_grid(scaling)


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
    gain = pair.tie or format_gain(pair.gain)
    return [*best, format_gain(pair.gain_of_best), *medians, gain]


def _metrics_grid(scaling: Scaling) -> Grid:
    """The metrics: where each rank adds work of its own, a speed-up would mean nothing."""
    metrics = [
        metric
        for metric in dict.fromkeys(one for group in scaling.groups for one in group.metrics)
        if metric.name != TIME_METRIC or metric == scaling.groups[0].main
    ]
    heads = [labelled(metric.label, metric.unit) for metric in metrics]
    rows = []
    for group, record in _measured(scaling):
        main, *others = (_median_cell(metric, record) for metric in metrics)
        rows.append(_Row(group, record, [main, _interval_cell(metrics[0], record), *others]))
    return _grid(scaling, [*heads[:1], "95% CI", *heads[1:]], rows)


def _efficiency_grid(scaling: Scaling) -> Grid:
    """Beside the main metric the time, and what it is worth against that on the fewest ranks.

    Strong scaling: speed-up t0/t and efficiency t0 n0 / (t n). Weak scaling: efficiency t0/t.
    """
    main = next((record.main for _, record in _measured(scaling)), None)
    if main is None:
        return _grid(scaling, [], [])
    fewest: dict[Position, Record] = {}
    rows = []
    for group, record in _measured(scaling):
        first = fewest.setdefault(position(group, record), record)
        cells = [_median_cell(main, record), _interval_cell(main, record)]
        cells += _efficiency_cells(scaling.is_weak, record, first)
        rows.append(_Row(group, record, cells))
    head = labelled(main.label, main.unit)
    worth = ["efficiency"] if scaling.is_weak else ["speed-up", "efficiency"]
    return _grid(scaling, [head, "95% CI", *worth], rows)


def _measured(scaling: Scaling) -> list[tuple[Group, Record]]:
    return [(group, one) for group in scaling.groups for one in group.records if one.measured]


def _median_cell(metric: Metric, record: Record) -> str:
    own = record.statistics.get(metric.name)
    return format_value(own.median, metric.unit) if own else NOTHING


def _interval_cell(metric: Metric, record: Record) -> str:
    own = record.statistics.get(metric.name)
    if own is None:
        return NOTHING
    ends = [format_value(end, metric.unit) for end in (own.ci_low, own.ci_high) if end is not None]
    return " to ".join(ends) or f"too few samples ({own.count})"


def _efficiency_cells(is_weak: bool, record: Record, first: Record) -> list[str]:
    time, base = record.statistics[TIME_METRIC], first.statistics[TIME_METRIC]
    if time.median <= 0:
        return [NOTHING] if is_weak else [NOTHING, NOTHING]
    ratio = base.median / time.median
    if is_weak:
        return [format_percent(ratio)]
    speed_up = f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
    metric = record.start.metrics[TIME_METRIC]
    tie = "" if record is first else no_difference(difference(first, record, metric))
    efficiency = format_percent(ratio * first.ranks / record.ranks)
    return [f"{speed_up} ({tie})" if tie else speed_up, efficiency]


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
        cells = [text if new else "" for text, new in zip(texts, is_first)]
        return Column(head, cells, left=left, repeats=True)

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
