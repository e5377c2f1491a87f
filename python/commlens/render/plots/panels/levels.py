"""A multigrid solve by level: a bar per level, the kinds of its parts in a row; and all levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from commlens.base.text import format_percent
from commlens.model import Interval
from commlens.model.levels import communication_s, place_of, times_by_kind, times_by_level
from commlens.render.plots.colors import OTHER_COLOR
from commlens.render.plots.content import Content, Operation
from commlens.render.plots.panel import Panel, joined
from commlens.render.plots.panels.shares import (
    BarOfShares,
    Segment,
    ceilings_of,
    grouped,
    marks_of,
    note_of_scale,
    share_shown,
    shares_panel,
)

ORDER = 1
_WHOLE = "all"


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each group whose operations all have parts that name levels."""
    for over, operations in grouped(content, by_level=True):
        group = operations[0].group
        details = joined(
            operations[0].difference,
            "communication without that of the coarse solve" if group.ranks > 1 else "",
            note_of_scale(operations),
        )
        title = f"{group.benchmark} by level{over}"
        yield shares_panel(content, operations, title, details, _bars(content, operations))


def _bars(content: Content, operations: Sequence[Operation]) -> list[BarOfShares]:
    """All levels together, then each; the transports of a level next to each other."""
    found: dict[str, list[tuple[Operation, Mapping[str, float]]]] = {_WHOLE: []}
    for operation in operations:
        found[_WHOLE].append((operation, times_by_kind(operation.record)))
        for level, own in times_by_level(operation.record).items():
            found.setdefault(level, []).append((operation, own))
    names = dict.fromkeys(part.name for one in operations for part in one.record.parts)
    colors = {place_of(name).kind: content.theme.part_colors[name] for name in names}
    bars = []
    for level, of_level in found.items():
        for number, (operation, times) in enumerate(of_level):
            name = operation.series.label
            label = name if number else f"{level}   {name}"
            label = label if len(operations) > 1 else level
            segments = list(_kinds(content, colors, level, operation, times))
            bars.append(_bar(content, label, level, operation, times, segments))
    return bars


def _kinds(
    content: Content,
    colors: Mapping[str, str],
    level: str,
    operation: Operation,
    times: Mapping[str, float],
) -> Iterator[Segment]:
    """In the order in which all bars have them."""
    record = operation.record
    parts = {own.part for own in record.ceilings if own.part}
    for kind, color in colors.items():
        own = [part for part in parts if place_of(part) == (level, kind)]
        marks = marks_of(content, record, own)
        if kind in times or marks:
            yield Segment(color, times.get(kind, 0.0) * share_shown(record), marks)


def _bar(
    content: Content,
    label: str,
    level: str,
    operation: Operation,
    times: Mapping[str, float],
    segments: list[Segment],
) -> BarOfShares:
    record = operation.record
    shown, whole_s = share_shown(record), record.together_s or 0.0
    if level != _WHOLE:
        seconds = sum(times.values()) * shown
        note = format_percent(seconds / whole_s) if whole_s else ""
        time = Interval(seconds, None, None)
        return BarOfShares(label, whole_s, segments, time, note, level=level)
    communication = communication_s(times) * shown / whole_s if whole_s else 0.0
    note = f"communication {format_percent(communication)}" if record.ranks > 1 else ""
    lines = [
        (line, 1e-6 * own.time_us)
        for own in record.ceilings
        for line in ceilings_of(content, operation.group)
        if own.name == line.ceiling.name and own.part is None
    ]
    segments = [*segments, Segment(OTHER_COLOR, record.other_s or 0)]
    return BarOfShares(label, whole_s, segments, operation.time, note, lines, level)
