"""The main metric against size: a curve per series, a dashed line per ceiling."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from commlens.base.text import labelled
from commlens.compare.references import Beside, lines_of
from commlens.render.plots.content import Content
from commlens.render.plots.metric import MetricPanel
from commlens.render.plots.panel import LegendEntry, line_entries
from commlens.render.plots.style import line_style
from commlens.render.plots.ticks import set_metric_axis, set_size_axis

ORDER = 0


@dataclass(frozen=True)
class CurvesPanel(MetricPanel):
    """A sweep; where there are many kinds of memory, those of a group stand side by side."""

    column: int | None = None

    @property
    def shared(self) -> Hashable:
        """Panels of a group have the same axes."""
        return id(self.group)

    @property
    def legend(self) -> Iterator[LegendEntry]:
        """The curves, the ceilings and what was published."""
        yield from line_entries(self.lines)
        yield from self.content.ceiling_entries(self.ceilings)
        yield from self.content.published_entries(self._published)

    @property
    def _published(self) -> list[Beside]:
        return self.content.published(self.group, self.memory)

    def draw(self, axes: Axes, width: float) -> None:
        """With the interval or the range of launches around each curve."""
        self._draw_published(axes)
        for own in self.ceilings:
            axes.plot(*zip(*own.points), zorder=1.5, **self.content.ceiling_style(own))
        for series, line in self.lines.items():
            records = [record for record in line if record.size is not None]
            sizes = [record.size or 0 for record in records]
            found = [record.statistics[self.metric.name] for record in records]
            low, high = zip(*(entry.drawn for entry in found))
            shade: dict[str, Any] = {"color": series.color, "alpha": 0.3, "linewidth": 0}
            axes.fill_between(sizes, low, high, zorder=2, **shade)
            medians = [entry.median for entry in found]
            axes.plot(sizes, medians, zorder=3, label=series.label, **line_style(series))
        axes.grid(True, which="major")
        set_size_axis(axes, self.group)
        set_metric_axis(axes)
        axes.set_ylabel(labelled(self.metric.label, self.metric.unit))

    def _draw_published(self, axes: Axes) -> None:
        """Markers have the color of their transport."""
        transports = self.content.theme.transports
        for found in lines_of(self._published).values():
            figure = found[0].figure
            style = self.content.published_style(figure)
            if figure.transport in transports:
                color, _ = transports[figure.transport]
                style.update(markerfacecolor=color, markeredgecolor=color)
            points = {self._place(one): one.figure.value for one in found}
            axes.plot(*zip(*sorted(points.items())), zorder=1.6, **style)

    def _place(self, one: Beside) -> float:
        """Its size, or that of the record where the axis has another quantity."""
        axis = self.group.size_parameter
        is_of_axis = axis is not None and axis.name == one.figure.size_name
        return (one.figure.size if is_of_axis else one.record.size) or 0


def panels(content: Content) -> Iterator[CurvesPanel]:
    """A panel for each sweep, or for each memory of it."""
    for group in content.groups:
        if not group.is_sweep:
            continue
        if not content.memories:
            yield CurvesPanel(content, group)
        elif len(group.memories) == 1:
            yield CurvesPanel(content, group, group.memories[0])
        else:
            for column, memory in enumerate(content.memories):
                if memory in group.memories:
                    yield CurvesPanel(content, group, memory, column)
