"""How far an operation overlaps its parts: each alone, all together, and perfect overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_percent, labelled, readable_time
from commlens.model import TIME_METRIC, Group, Interval, Record
from commlens.render.plots.bars import draw_bar, name_bars
from commlens.render.plots.colors import IDEAL_EDGE, IDEAL_FACE
from commlens.render.plots.differences import difference
from commlens.render.plots.heading import Heading
from commlens.render.plots.intervals import end_of, label_axis, limit_of
from commlens.render.plots.panel import series_of
from commlens.render.plots.style import BAR_INCHES, Series, Theme, label_inches
from commlens.render.show.parts import hidden_text

# With a larger ratio of the slowest to the fastest, one scale would make the fast one invisible.
_ONE_SCALE_UP_TO = 4
_ROOM_FOR_LABELS = 1.3  # length of the axis over that of the longest bar


@dataclass(frozen=True)
class Operation:
    """A record with parts, the best of its transport, memory and variant."""

    group: Group
    record: Record
    series: Series
    difference: str = ""  # of its group from others of the benchmark

    @property
    def name(self) -> str:
        """`pipeline over ccl, best block 732`"""
        size, group = self.record.size, self.group
        best = "best " if group.is_sweep else ""
        words = "" if size is None else f"{best}{group.size_name} {group.format_size(size)}"
        return ", ".join(filter(None, (f"{group.benchmark} over {self.series.label}", words)))

    @property
    def time(self) -> Interval:
        """In seconds."""
        return self.record.statistics[TIME_METRIC].scaled(1e-6)


def operations(groups: Sequence[Group], theme: Theme) -> list[Operation]:
    """Those to draw, in order."""
    with_parts = [group for group in groups if any(record.parts for record in group.records)]
    found = []
    for group in with_parts:
        differing = difference(group, with_parts)
        for record in group.at_best_size():
            if record.parts and record.together_s:
                series = series_of(theme, group, record, theme.memory(record))
                found.append(Operation(group, record, series, differing))
    return found


def end_of_scale(own: float, ends: Sequence[float]) -> float:
    """The end of the time axis: the largest of all where one scale suits all, else its own."""
    return max(ends) if max(ends) <= _ONE_SCALE_UP_TO * min(ends) else own


@dataclass(frozen=True)
class OverlapPanel:
    operation: Operation
    theme: Theme
    end_s: float  # of the time axis

    @property
    def group(self) -> Group:
        return self.operation.group

    @property
    def height(self) -> float:
        return 1.3 + BAR_INCHES * (len(self.operation.record.parts) + 2)

    @property
    def label_width(self) -> float:
        """Of what stands left of the axes, in inches."""
        return 0.35 + label_inches(self._names)

    @property
    def _names(self) -> list[str]:
        parts = self.operation.record.parts
        return [*(f"{part.name} alone" for part in parts), "together", "ideal"]

    @property
    def heading(self) -> Heading:
        record = self.operation.record
        longest = max(record.alone_s, key=lambda stream: record.alone_s[stream])
        words = [
            self.operation.difference,
            f"hidden communication {hidden_text(record.hidden)}" if record.hidden else "",
            f"overlap efficiency {format_percent(record.efficiency or 0)}",
            f"ideal: {longest} alone",
        ]
        return Heading(self.operation.name, "; ".join(filter(None, words)))

    def draw(self, axes: Axes) -> None:
        record, own_color = self.operation.record, self.operation.series.color
        unit, factor = readable_time("s", self.end_s)
        ideal, limit = factor * (record.ideal_s or 0), factor * self.end_s
        times = [*(part.time for part in record.parts), self.operation.time]
        bars = [*(_scaled(time, factor) for time in times), Interval(ideal, None, None)]
        colors = [self.theme.part_colors[part.name] for part in record.parts] + [own_color]
        looks = [*((color, color) for color in colors), (IDEAL_FACE, IDEAL_EDGE)]
        axes.set_xlim(0, _ROOM_FOR_LABELS * limit)
        for position, (bar, look) in enumerate(zip(bars, looks)):
            draw_bar(axes, position, bar, limit, unit, *look)
        axes.axvline(ideal, color=IDEAL_EDGE, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1.5)
        name_bars(axes, self._names)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        label_axis(axes, labelled("time", unit), bars, limit)


def _scaled(bar: Interval, factor: float) -> Interval:
    low, high = (None if end is None else factor * end for end in (bar.ci_low, bar.ci_high))
    return Interval(factor * bar.median, low, high)


def overlap_panels(
    all_operations: Sequence[Operation], theme: Theme
) -> dict[int, list[OverlapPanel]]:
    """By the identity of their group."""
    panels: dict[int, list[OverlapPanel]] = {}
    for operation in all_operations:
        if operation.record.has_parts_within:
            continue
        group = operation.group
        ends = [_end(other) for other in all_operations if other.group is group]
        panel = OverlapPanel(operation, theme, end_of_scale(_end(operation), ends))
        panels.setdefault(id(group), []).append(panel)
    return panels


def _end(operation: Operation) -> float:
    """Of the longest bar, with what is drawn of its interval."""
    record = operation.record
    bars = [*(part.time for part in record.parts), operation.time]
    values = [record.ideal_s or 0, *(bar.median for bar in bars)]
    limit = limit_of(values)
    return max(*values, *(end_of(bar, limit) for bar in bars))
