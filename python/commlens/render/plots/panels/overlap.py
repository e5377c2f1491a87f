"""How far an operation overlaps its parts: each alone, all together, and perfect overlap."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from matplotlib.axes import Axes

from commlens.base.text import format_percent, labelled, readable_time
from commlens.model import Interval
from commlens.render.plots.colors import IDEAL_EDGE, IDEAL_FACE
from commlens.render.plots.content import Content, Operation, end_of_scale
from commlens.render.plots.panel import Panel, joined
from commlens.render.plots.rows import Rows, end_of, limit_of, rows_size, scaled
from commlens.render.show.parts import hidden_text

ORDER = 1
_ROOM_FOR_LABELS = 1.3  # length of the axis over that of the longest bar


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each operation whose parts were timed alone."""
    apart = [one for one in content.operations if not one.record.has_parts_within]
    for operation in apart:
        ends = [_end(one) for one in apart if one.group is operation.group]
        record = operation.record
        longest = max(record.alone_s, key=lambda stream: record.alone_s[stream])
        details = joined(
            operation.difference,
            f"hidden communication {hidden_text(record.hidden)}" if record.hidden else "",
            f"overlap efficiency {format_percent(record.efficiency or 0)}",
            f"ideal: {longest} alone",
        )
        names = [*(f"{part.name} alone" for part in record.parts), "together", "ideal"]
        colors = [content.theme.part_colors[part.name] for part in record.parts]
        # On the scale of the group, if its operations are near each other.
        end_s = end_of_scale(_end(operation), ends)
        draw = partial(_draw, operation, names, colors, end_s)
        yield Panel(operation.name, draw, details, group=operation.group, **rows_size(names))


def _draw(
    operation: Operation,
    names: list[str],
    part_colors: list[str],
    end_s: float,
    axes: Axes,
    width: float,
) -> None:
    unit, factor = readable_time("s", end_s)
    bars = [scaled(bar, factor) for bar in _bars(operation)]
    limit = factor * end_s
    rows = Rows(names, bars, labelled("time", unit), unit, given_limit=limit)
    rows.set_axis(axes, width, _ROOM_FOR_LABELS * limit)
    for position, color in enumerate([*part_colors, operation.series.color]):
        rows.draw_bar(axes, position, color, color)
    rows.draw_bar(axes, len(bars) - 1, IDEAL_FACE, IDEAL_EDGE)
    ideal = bars[-1].median
    axes.axvline(ideal, color=IDEAL_EDGE, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1.5)
    rows.finish(axes)


def _bars(operation: Operation) -> list[Interval]:
    """In seconds."""
    record = operation.record
    ideal = Interval(record.ideal_s or 0, None, None)
    return [*(part.time for part in record.parts), operation.time, ideal]


def _end(operation: Operation) -> float:
    """Of the longest bar, with what is drawn of its interval."""
    bars = _bars(operation)
    limit = limit_of([bar.median for bar in bars])
    return max(end_of(bar, limit) for bar in bars)
