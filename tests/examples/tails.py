"""How much longer than the median the slowest 1% of samples take: a point per record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes

from commlens.model import TIME_METRIC
from commlens.render.plots.content import Content
from commlens.render.plots.heading import Heading
from commlens.render.plots.lines import Lines, LinesPanel, by_benchmark, first_of
from commlens.render.plots.style import line_style

ORDER = 9  # after those with lower numbers


@dataclass(frozen=True)
class TailsPanel(LinesPanel):
    curves: Lines

    @property
    def heading(self) -> Heading:
        return Heading(f"{first_of(self.curves).benchmark}: tails", "99th percentile to median")

    def draw(self, axes: Axes, width: float) -> None:
        for series, records in self.curves.items():
            times = [record.statistics[TIME_METRIC] for record in records]
            ratios = [time.p99 / time.median for time in times]
            axes.plot([record.size or 0 for record in records], ratios, **line_style(series))
        axes.set_ylabel("p99 / median")


def panels(content: Content) -> Iterator[TailsPanel]:
    measured = [record for record in content.records if record.size is not None]
    yield from map(TailsPanel, by_benchmark(measured, content.theme))
