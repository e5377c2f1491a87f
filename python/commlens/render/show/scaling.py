"""What variants are worth, and what becomes of the same problem on more ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from commlens.base.text import format_percent, format_value, memory_name
from commlens.model import TIME_METRIC, Group, Metric, Record, difference, option_text
from commlens.model.comparison import decide
from commlens.model.scaling import Position, Scaling, VariantPair, pairs, position
from commlens.render.show.columns import metric_columns
from commlens.render.show.details import where
from commlens.render.show.published import published_by_ranks
from commlens.render.table import NOTHING, Column, Line, Lines, Table, Thing


def gain_lines(group: Group) -> list[Line]:
    """`cached over per-transpose (mpi, host): speed-up 12.3% by the medians ...`, one per pair, or
    that it is a tie."""
    if any(record.candidate for record in group.records):
        return []  # the fastest alone is used: what others gain on each other is no matter
    return [_gain_line(group, pair) for pair in pairs(group)]


def _gain_line(group: Group, pair: VariantPair) -> Line:
    after = pair.after
    place = where(group, after, group.start_label(after))
    best = format_gain(pair.gain_of_best)
    gain = f"{format_gain(pair.gain)} by the medians, {best} by the best times"
    return [
        (f"  {after.variant_value} over {pair.before.variant_value} ({place}): ", ""),
        (pair.decision.tie or "speed-up", "bold"),
        (f" ({pair.decision.why_tie})" if pair.decision.tie else f" {gain}", ""),
    ]


def format_gain(gain: float) -> str:
    """`12.3%`; from 11 times as fast on `5,633x`: nobody reads percentages of thousands."""
    if gain == math.inf:
        return NOTHING
    return f"{1 + gain:,.0f}x" if gain >= 10 else f"{100 * gain:.1f}%"


def scaling_tables(scaling: Scaling) -> Iterator[Thing]:
    """By the number of ranks: before and after where variants are compared; strong or weak scaling
    where the ranks divide the work; else the metrics alone."""
    kind = f"{'weak' if scaling.is_weak else 'strong'} scaling" if scaling.divides_work else ""
    details = " · ".join(filter(None, (kind, scaling.title)))
    first = scaling.groups[0]
    yield Lines([[(f"{first.benchmark} by ranks", "bold cyan"), (f"  {details}", "dim")]])
    if first.variant:
        yield from _gain_tables(scaling)
        yield from published_by_ranks(scaling.groups[0].benchmark)
    else:
        yield _efficiency_table(scaling) if scaling.divides_work else _metrics_table(scaling)


@dataclass(frozen=True)
class _Row:
    group: Group
    record: Record
    pair: VariantPair | None = None  # of a row that compares two

    @cached_property
    def position(self) -> Position:
        return position(self.group, self.record)


def _gain_tables(scaling: Scaling) -> Iterator[Table[_Row]]:
    """A table for each variant beside the first."""
    all_pairs = [pair for group in scaling.groups for pair in pairs(group)]
    before, *others = dict.fromkeys(
        value for group in scaling.groups for value in group.variant_values
    )
    for after in others:
        chosen = [pair for pair in all_pairs if pair.after.variant_value == after]
        columns = _gain_columns((before, after), chosen[0].metric if chosen else None)
        rows = [_Row(pair.group, pair.after, pair) for pair in chosen]
        yield _table(scaling, [column.of(lambda row: row.pair) for column in columns], rows)


def _gain_columns(variants: Sequence[str], metric: Metric | None) -> list[Column[VariantPair]]:
    label, unit = (metric.label, metric.unit) if metric else ("time", "")

    def result(statistic: str, side: int, pair: VariantPair) -> str:
        return format_value(getattr(pair.statistics[side], statistic), unit)

    best = Column[VariantPair](
        "speed-up", lambda pair: pair.decision.tie or format_gain(pair.gain_of_best)
    )
    median = replace(best, value=lambda pair: pair.decision.tie or format_gain(pair.gain))
    columns: list[Column[VariantPair]] = []
    for kind, statistic, gain in (("best", "min", best), ("median", "median", median)):
        for side, name in enumerate(variants):
            columns.append(
                Column(f"{name}\n{kind} {label}", partial(result, statistic, side), unit)
            )
        columns.append(gain)
    return columns


def _metrics_table(scaling: Scaling) -> Table[_Row]:
    """The metrics: where each rank adds work of its own, a speed-up would mean nothing."""
    rows = _measured(scaling)
    main, *others = (
        metric
        for metric in dict.fromkeys(metric for group in scaling.groups for metric in group.metrics)
        if metric.name != TIME_METRIC or metric == scaling.groups[0].main
    )
    columns = [*_metric_columns(main, rows), *(_metric_columns(other, rows)[0] for other in others)]
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
    fewest = {row.position: row.record for row in reversed(rows)}

    def gain(row: _Row) -> float | None:
        time = row.record.statistics[TIME_METRIC].median
        return fewest[row.position].statistics[TIME_METRIC].median / time if time > 0 else None

    def efficiency(row: _Row) -> float | None:
        more = 1 if scaling.is_weak else row.record.ranks / fewest[row.position].ranks
        return None if (ratio := gain(row)) is None else ratio / more

    others = [row for row in rows if row.record is not fewest[row.position]]
    compared = [
        difference(fewest[row.position], row.record, row.record.start.metrics[TIME_METRIC])
        for row in others
    ]
    ties = {row.record: decision.tie for row, decision in zip(others, decide(compared))}

    def with_verdict(text: str, row: _Row) -> str:
        tie = ties.get(row.record)
        return f"{text} ({tie})" if tie else text

    def speed_up(row: _Row) -> str | None:
        ratio = gain(row)
        if ratio is None:
            return None
        return with_verdict(f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}", row)

    def efficiency_text(row: _Row) -> str | None:
        if (share := efficiency(row)) is None:
            return None
        text = format_percent(share)
        return with_verdict(text, row) if scaling.is_weak else text  # else the speed-up has it

    columns = _metric_columns(main, rows)
    if not scaling.is_weak:
        columns.append(Column("speed-up", speed_up))
    columns.append(Column("efficiency", efficiency_text))
    return _table(scaling, columns, rows)


def _measured(scaling: Scaling) -> list[_Row]:
    records = ((group, record) for group in scaling.groups for record in group.records)
    return [_Row(group, record) for group, record in records if record.measured]


def _table(scaling: Scaling, columns: Sequence[Column[Any]], rows: Sequence[_Row]) -> Table[_Row]:
    """The rows by what was measured and then by ranks, and with them what failed and is in no row
    of its own, without metrics."""
    there = {(row.group, row.position) for row in rows}
    missing: dict[tuple[Group, Position], _Row] = {}
    for group in scaling.groups:
        for row in (_Row(group, record) for record in group.records if record.status == "failed"):
            if (group, row.position) not in there:
                missing[group, row.position] = row

    def order(row: _Row) -> tuple[int, int, str, str, int]:
        place = row.position
        number = scaling.transports.index(place.transport)
        return place.size, number, place.memory, place.start_label, row.record.ranks

    shown = [column.of(lambda row: row if row.record.measured else None) for column in columns]

    def note(row: _Row) -> str:
        over = row.record.start.is_oversubscribed
        notes = {"failed": row.record.status == "failed", "oversubscribed": over}
        return ", ".join(note for note, applies in notes.items() if applies)

    notes = Column[_Row]("", note, left=True, style="yellow")
    every = sorted([*rows, *missing.values()], key=order)
    return Table([*_place_columns(scaling), *shown, notes], every)


def _place_columns(scaling: Scaling) -> list[Column[_Row]]:
    """What was measured, at the first row of its kind alone; and the ranks."""
    group = scaling.groups[0]
    places: list[Column[Position]] = []
    if group.is_sweep:
        text = group.format_size
        places.append(
            Column(group.size_name, lambda row: None if row.size < 0 else row.size, format=text)
        )
    places.append(Column("transport", lambda place: place.transport, left=True))
    places.append(Column("memory", lambda place: memory_name(place.memory), left=True))
    if any(group.start_labels for group in scaling.groups):
        places.append(Column("launch", lambda place: place.start_label, left=True))
    columns: list[Column[_Row]] = [
        replace(column.of(lambda row: row.position), once=lambda row: row.position)
        for column in places
    ]
    columns.append(Column("ranks", lambda row: row.record.ranks))
    for parameter in scaling.arrangements:

        def value(row: _Row, name: str = parameter.name) -> Any:
            return row.record.parameters.get(name)

        columns.append(Column(parameter.title, value, format=option_text))
    return columns
