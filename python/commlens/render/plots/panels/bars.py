"""The main metric at a single size: a bar per series, a dashed line per ceiling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes

from commlens.render.plots.content import Content
from commlens.render.plots.metric import MetricPanel
from commlens.render.plots.panel import LegendEntry
from commlens.render.plots.rows import rows_height, rows_label_width
from commlens.render.plots.values import BarLine, Values

ORDER = 0


@dataclass(frozen=True)
class BarsPanel(MetricPanel):
    """A group without a sweep: bars are named where they are."""

    @property
    def height(self) -> float:
        """As many bars."""
        return rows_height(len(self.lines))

    @property
    def label_width(self) -> float:
        """Of the longest name."""
        return rows_label_width([series.label for series in self.lines])

    @property
    def legend(self) -> Iterator[LegendEntry]:
        """The ceilings and what was published."""
        yield from self.content.ceiling_entries(self.ceilings)
        yield from self.content.published_entries(self.content.published(self.group))

    def draw(self, axes: Axes, width: float) -> None:
        """What was published stands at the bar of its record."""
        firsts = [line[0] for line in self.lines.values()]
        places = {id(record): position for position, record in enumerate(firsts)}
        marks = [
            BarLine(self.content.published_style(one.figure), one.figure.value, place)
            for one in self.content.published(self.group)
            if (place := places.get(id(one.record))) is not None
        ]
        ceilings = [
            BarLine(self.content.ceiling_style(own), own.points[0][1]) for own in self.ceilings
        ]
        values = [record.statistics[self.metric.name] for record in firsts]
        used = [place for place, record in enumerate(firsts) if self.group.is_used(record)]
        Values(self.metric, list(self.lines), values, [*ceilings, *marks], used).draw(axes, width)


def panels(content: Content) -> Iterator[BarsPanel]:
    """A panel for each group at a single size."""
    return (BarsPanel(content, group) for group in content.groups if not group.is_sweep)
