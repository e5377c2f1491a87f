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
    times = [
        {_WHOLE: times_by_kind(one.record), **times_by_level(one.record)} for one in operations
    ]
    names = dict.fromkeys(part.name for one in operations for part in one.record.parts)
    colors = {place_of(name).kind: content.theme.part_colors[name] for name in names}
    bars = []
    for level in dict.fromkeys(level for own in times for level in own):
        having = [(one, own[level]) for one, own in zip(operations, times) if level in own]
        for number, (operation, of_level) in enumerate(having):
            name = operation.series.label
            label = name if number else f"{level}   {name}"
            bar = _bar(content, level, operation, of_level, colors)
            bars.append(bar._replace(name=label if len(operations) > 1 else level))
    return bars


def _bar(
    content: Content,
    level: str,
    operation: Operation,
    times: Mapping[str, float],
    colors: Mapping[str, str],
) -> BarOfShares:
    """Its kinds are in the order in which all bars have them."""
    record = operation.record
    shown, whole_s = share_shown(record), record.together_s or 0.0
    parts = {own.part for own in record.ceilings if own.part}
    segments = []
    for kind, color in colors.items():
        own_parts = [part for part in parts if place_of(part) == (level, kind)]
        marks = marks_of(content, record, own_parts)
        if kind in times or marks:
            segments.append(Segment(color, times.get(kind, 0.0) * shown, marks))
    is_whole = level == _WHOLE
    seconds = (communication_s(times) if is_whole else sum(times.values())) * shown
    note = format_percent(seconds / whole_s) if whole_s else ""
    if not is_whole:
        time = Interval(seconds, None, None)
        return BarOfShares(level, whole_s, segments, time, note, level=level)
    lines = [
        (line, 1e-6 * own.time_us)
        for own in record.ceilings
        for line in ceilings_of(content, operation.group)
        if own.name == line.ceiling.name and own.part is None
    ]
    note = f"communication {note}" if record.ranks > 1 else ""
    segments.append(Segment(OTHER_COLOR, record.other_s or 0))
    return BarOfShares(level, whole_s, segments, operation.time, note, lines, level)
