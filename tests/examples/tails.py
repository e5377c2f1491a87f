"""How much longer than the median the slowest 1% of samples take: a point per record."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from matplotlib.axes import Axes

from commlens.model import TIME_METRIC
from commlens.render.plots.content import Content
from commlens.render.plots.lines import Lines, by_benchmark, lines_panel
from commlens.render.plots.panel import Panel

ORDER = 9  # after those with lower numbers


def panels(content: Content) -> Iterator[Panel]:
    measured = [record for record in content.records if record.size is not None]
    for curves in by_benchmark(measured, content):
        yield lines_panel(curves, "tails", partial(_draw, curves), "99th percentile to median")


def _draw(curves: Lines, axes: Axes, width: float) -> None:
    for series, records in curves.items():
        times = [record.statistics[TIME_METRIC] for record in records]
        ratios = [time.p99 / time.median for time in times]
        axes.plot([record.size or 0 for record in records], ratios, **series.style)
    axes.set_ylabel("p99 / median")
