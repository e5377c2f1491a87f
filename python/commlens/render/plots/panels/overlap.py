"""How far an operation overlaps its parts: each alone, all together, and perfect overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from commlens.model import Interval
from commlens.render.plots.bars import Bar, BarLine, Bars, Segment, ends_of
from commlens.render.plots.colors import IDEAL_EDGE, IDEAL_FACE
from commlens.render.plots.content import Content, Operation, end_of_scale
from commlens.render.plots.panel import Panel, joined
from commlens.render.show.parts import efficiency_text, hidden_text

ORDER = 1
_IDEAL_LINE = {"color": IDEAL_EDGE, "linewidth": 1.2, "linestyle": (0, (2, 2))}


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each operation whose parts were timed alone."""
    apart = [operation for operation in content.operations if not operation.record.has_parts_within]
    for operation in apart:
        record, times = operation.record, _times(operation)
        longest = max(record.alone_s, key=lambda stream: record.alone_s[stream])
        details = joined(
            operation.difference,
            f"hidden communication {hidden_text(record.hidden)}" if record.hidden else "",
            f"overlap efficiency {efficiency_text(record.efficiency or 0)}",
            f"ideal: {longest} alone",
        )
        names = [*(f"{part.name} alone" for part in record.parts), "together", "ideal"]
        looks: list[tuple[Any, Any]] = [
            *((content.part_colors[part.name],) * 2 for part in record.parts),
            (operation.series.color, operation.series.color),
            (IDEAL_FACE, IDEAL_EDGE),
        ]
        bars = [
            Bar(name, time, [Segment(face, time.median, edge=edge)])
            for name, time, (face, edge) in zip(names, times, looks)
        ]
        # On the scale of the group, if its operations are near each other.
        ends = [max(ends_of(_times(other))) for other in apart if other.group is operation.group]
        scale = end_of_scale(max(ends_of(times)), ends)
        ideal = BarLine(_IDEAL_LINE, times[-1].median)
        yield Bars("time", "s", bars, [ideal], scale).panel(
            operation.name, details, group=operation.group
        )


def _times(operation: Operation) -> list[Interval]:
    """In seconds, the ideal last."""
    record = operation.record
    ideal = Interval(record.ideal_s or 0, None, None)
    return [*(part.time for part in record.parts), operation.time, ideal]
