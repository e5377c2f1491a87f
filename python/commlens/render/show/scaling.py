"""What variants are worth, and what becomes of the same problem on more ranks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from commlens.base.text import format_percent, format_value, memory_name
from commlens.model import (
    TIME_METRIC,
    Group,
    Metric,
    Record,
    Value,
    difference,
    no_difference,
    option_text,
    why_tie,
)
from commlens.model.scaling import (
    Position,
    Scaling,
    VariantPair,
    is_oversubscribed,
    pairs,
    position,
)
from commlens.render.show.columns import metric_columns
from commlens.render.show.published import published_by_ranks
from commlens.render.table import NOTHING, Column, Lines, Table, Thing


def gain_lines(group: Group) -> Lines:
    """`cached over per-transpose (mpi, host): speed-up 12.3% by the medians ...`, one per pair, or
    that it is a tie."""
    if any(record.candidate for record in group.records):
        return Lines([])  # the fastest alone is used: what others gain on each other is no matter
    return Lines(_gain_line(group, pair) for pair in pairs(group))


def _gain_line(group: Group, pair: VariantPair) -> list[tuple[str, str]]:
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


def scaling_tables(scaling: Scaling) -> Iterator[Thing]:
    """By the number of ranks: before and after where variants are compared; strong or weak scaling
    where the ranks divide the work; else the metrics alone."""
    kind = f"{'weak' if scaling.is_weak else 'strong'} scaling" if scaling.divides_work else ""
    details = " · ".join(filter(None, (kind, scaling.title)))
    yield Lines([[(f"{scaling.benchmark} by ranks", "bold cyan"), (f"  {details}", "dim")]])
    if scaling.variant:
        yield from _gain_tables(scaling)
        yield from published_by_ranks(scaling.benchmark)
    else:
        yield _efficiency_table(scaling) if scaling.divides_work else _metrics_table(scaling)


@dataclass(frozen=True)
class _Row:
    group: Group
    record: Record
    pair: VariantPair | None = None

    @property
    def variants(self) -> VariantPair:
        """Of a row that compares two."""
        assert self.pair is not None
        return self.pair

    @cached_property
    def position(self) -> Position:
        return position(self.group, self.record)


def _gain_tables(scaling: Scaling) -> Iterator[Table[_Row]]:
    """A table for each variant beside the first."""
    found = [(group, pair) for group in scaling.groups for pair in pairs(group)]
    values = dict.fromkeys(value for group in scaling.groups for value in group.variant_values)
    before, *others = values
    for after in others:
        rows = [
            _Row(group, pair.after, pair)
            for group, pair in found
            if pair.after.variant_value == after
        ]
        metric = rows[0].variants.metric if rows else None
        columns = []
        for kind in ("best", "median"):
            for side, name in enumerate((before, after)):
                columns.append(_side_column(f"{name}\n{kind}", kind, side, metric))
            columns.append(Column("speed-up", partial(_gain, kind)))
        yield _table(scaling, columns, rows)


def _side_column(head: str, kind: str, side: int, metric: Metric | None) -> Column[_Row]:
    def value(row: _Row) -> str:
        own = row.variants.statistics[side]
        return format_value(own.min if kind == "best" else own.median, row.variants.metric.unit)

    return Column(
        f"{head} {metric.label if metric else 'time'}", value, metric.unit if metric else ""
    )


def _gain(kind: str, row: _Row) -> str:
    pair = row.variants
    if kind == "best":
        return format_gain(pair.gain_of_best)
    return pair.tie or format_gain(pair.gain)


def _metrics_table(scaling: Scaling) -> Table[_Row]:
    """The metrics: where each rank adds work of its own, a speed-up would mean nothing."""
    rows = _measured(scaling)
    main, *others = (
        metric
        for metric in dict.fromkeys(one for group in scaling.groups for one in group.metrics)
        if metric.name != TIME_METRIC or metric == scaling.groups[0].main
    )
    columns = [*_metric_columns(main, rows), *(_metric_columns(one, rows)[0] for one in others)]
    return _table(scaling, columns, rows)


def _metric_columns(metric: Metric, rows: Sequence[_Row]) -> list[Column[_Row]]:
    """The medians and their intervals."""
    columns = metric_columns(metric, [row.record for row in rows])[:2]
    return [column.of(lambda row: row.record) for column in columns]


def _efficiency_table(scaling: Scaling) -> Table[_Row]:
    """Beside the main metric the time, and what it is worth against that on the fewest ranks.

    Strong scaling: speed-up t0/t and efficiency t0 n0 / (t n). Weak scaling: efficiency t0/t.
    """
    rows = _measured(scaling)
    main = next((row.record.main for row in rows if row.record.main), None)
    if main is None:
        return _table(scaling, [], [])
    fewest: dict[Position, Record] = {}
    for row in rows:
        fewest.setdefault(row.position, row.record)

    def gain(row: _Row) -> float | None:
        time = row.record.statistics[TIME_METRIC].median
        first = fewest[row.position].statistics[TIME_METRIC].median
        return first / time if time > 0 else None

    def efficiency(row: _Row) -> float | None:
        own, first = gain(row), fewest[row.position].ranks
        ranks = 1 if scaling.is_weak else row.record.ranks / first
        return None if own is None else own / ranks

    def speed_up(row: _Row) -> str | None:
        own, first = gain(row), fewest[row.position]
        if own is None:
            return None
        text = f"{own:.2f}" if own >= 0.1 else f"{own:.2g}"
        metric = row.record.start.metrics[TIME_METRIC]
        tie = row.record is not first and no_difference(difference(first, row.record, metric))
        return f"{text} ({tie})" if tie else text

    columns = _metric_columns(main, rows)
    if not scaling.is_weak:
        columns.append(Column("speed-up", speed_up))
    columns.append(Column("efficiency", efficiency, format=format_percent))
    return _table(scaling, columns, rows)


def _measured(scaling: Scaling) -> list[_Row]:
    return [_Row(group, one) for group in scaling.groups for one in group.records if one.measured]


def _table(scaling: Scaling, columns: Sequence[Column[_Row]], rows: Sequence[_Row]) -> Table[_Row]:
    """The rows by what was measured and then by ranks, and with them what failed."""
    ranking = {name: rank for rank, name in enumerate(scaling.transports)}

    def order(row: _Row) -> tuple[int, int, str, str, int]:
        place = row.position
        number = ranking[place.transport]
        return place.size, number, place.memory, place.start_label, row.record.ranks

    missing = _failed(scaling, rows)
    ordered = sorted([*rows, *missing], key=order)
    shown = [_measured_only(column, missing) for column in columns]
    note = Column[_Row]("", lambda row: _note(row.record), left=True, style="yellow")
    return Table([*_place_columns(scaling), *shown, note], ordered)


def _measured_only(column: Column[_Row], missing: Sequence[_Row]) -> Column[_Row]:
    """What failed has no metrics."""
    failed = set(map(id, missing))
    return replace(column, value=lambda row: None if id(row) in failed else column.value(row))


def _place_columns(scaling: Scaling) -> list[Column[_Row]]:
    """What was measured, at the first row of its kind alone; and the ranks."""
    group = scaling.groups[0]

    def column(head: str, value: Callable[[_Row], str | None], left: bool = True) -> Column[_Row]:
        return Column(head, value, left=left, once=lambda row: row.position)

    def size(row: _Row) -> str | None:
        return None if row.position.size < 0 else group.format_size(row.position.size)

    columns = [column(group.size_name, size, left=False)] if group.is_sweep else []
    columns.append(column("transport", lambda row: row.position.transport))
    columns.append(column("memory", lambda row: memory_name(row.position.memory)))
    if any(one.start_labels for one in scaling.groups):
        columns.append(column("launch", lambda row: row.position.start_label))
    columns.append(Column("ranks", lambda row: row.record.ranks))
    for parameter in scaling.arrangements:
        value = partial(_parameter, parameter.name)
        columns.append(Column(parameter.title, value, format=option_text))
    return columns


def _parameter(name: str, row: _Row) -> Value | None:
    return row.record.parameters.get(name)


def _failed(scaling: Scaling, rows: Sequence[_Row]) -> list[_Row]:
    """A row for what failed and is in no row of its own."""
    there = {(id(row.group), row.position) for row in rows}
    missing = {
        (id(group), position(group, record)): _Row(group, record)
        for group in scaling.groups
        for record in group.records
        if record.status == "failed"
    }
    return [row for key, row in missing.items() if key not in there]


def _note(record: Record) -> str:
    failed = "failed" if record.status == "failed" else ""
    shared = "oversubscribed" if is_oversubscribed(record) else ""
    return ", ".join(filter(None, (failed, shared)))
