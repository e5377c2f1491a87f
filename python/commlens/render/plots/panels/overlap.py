"""How far an operation overlaps its parts: each alone, all together, and perfect overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from commlens.base.text import format_percent, labelled, readable_time
from commlens.model import Group, Interval
from commlens.render.plots.colors import IDEAL_EDGE, IDEAL_FACE
from commlens.render.plots.content import Content, Operation, end_of_scale
from commlens.render.plots.heading import Heading
from commlens.render.plots.panel import Panel
from commlens.render.plots.rows import Rows, end_of, limit_of, rows_height, rows_label_width, scaled
from commlens.render.plots.style import Theme
from commlens.render.show.parts import hidden_text

ORDER = 1
_ROOM_FOR_LABELS = 1.3  # length of the axis over that of the longest bar


@dataclass(frozen=True)
class OverlapPanel(Panel):
    """An operation whose parts were timed alone."""

    operation: Operation
    theme: Theme
    end_s: float  # of the time axis

    @property
    def only_group(self) -> Group:
        """The group of the operation."""
        return self.operation.group

    @property
    def height(self) -> float:
        """A bar for each part, the whole and the ideal."""
        return rows_height(len(self._names))

    @property
    def label_width(self) -> float:
        """Of the longest name."""
        return rows_label_width(self._names)

    @property
    def _names(self) -> list[str]:
        parts = self.operation.record.parts
        return [*(f"{part.name} alone" for part in parts), "together", "ideal"]

    @property
    def heading(self) -> Heading:
        """How much is hidden."""
        record = self.operation.record
        longest = max(record.alone_s, key=lambda stream: record.alone_s[stream])
        words = [
            self.operation.difference,
            f"hidden communication {hidden_text(record.hidden)}" if record.hidden else "",
            f"overlap efficiency {format_percent(record.efficiency or 0)}",
            f"ideal: {longest} alone",
        ]
        return Heading(self.operation.name, "; ".join(filter(None, words)))

    def draw(self, axes: Axes, width: float) -> None:
        """On the scale of the group, if its operations are near each other."""
        record, own_color = self.operation.record, self.operation.series.color
        unit, factor = readable_time("s", self.end_s)
        bars = [scaled(bar, factor) for bar in _bars(self.operation)]
        ideal, limit = bars[-1].median, factor * self.end_s
        colors = [self.theme.part_colors[part.name] for part in record.parts] + [own_color]
        looks = [*((color, color) for color in colors), (IDEAL_FACE, IDEAL_EDGE)]
        rows = Rows(self._names, bars, labelled("time", unit), unit, limit=limit)
        rows.set_axis(axes, width, _ROOM_FOR_LABELS * limit)
        for position, look in enumerate(looks):
            rows.draw_bar(axes, position, *look)
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


def panels(content: Content) -> Iterator[OverlapPanel]:
    """A panel for each operation whose parts were timed alone."""
    apart = [one for one in content.operations if not one.record.has_parts_within]
    for operation in apart:
        ends: Sequence[float] = [_end(one) for one in apart if one.group is operation.group]
        yield OverlapPanel(operation, content.theme, end_of_scale(_end(operation), ends))
