"""All pairs of ranks as a heat map: a slow link is a dark cell, a slow rank a dark cross."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_value, labelled, memory_name
from commlens.model.pairs import PairMatrix, matrices
from commlens.render.plots.content import Content
from commlens.render.plots.panel import Panel, joined
from commlens.render.plots.style import PANEL_INCHES
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 7
_COLORS = "viridis"  # dark is slow, also in gray and to the color-blind
_MOST_NUMBERS = 8  # ranks whose values are written into the cells
_BOUNDARY_COLOR = "white"
_LEAST_RANGE = 2.0  # of the colors
_HEIGHT_INCHES = PANEL_INCHES[0] * 0.85  # cells are squares


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each transport and memory for the smallest and the largest size."""
    group_of = {id(record): group for group in content.groups for record in group.records}
    for record, matrix in matrices(content.records):
        group, metric, slowest = group_of.get(id(record)), matrix.metric, matrix.pairs[0]
        details = joined(
            group.describe_size(record.size) if group and record.size is not None else "",
            record.transport,
            memory_name(record.memory),
            f"slowest: {matrix.describe(slowest)}, {format_value(slowest.value, metric.unit)}"
            f" {metric.unit}",
            f"median {format_value(matrix.median, metric.unit)} {metric.unit}",
            "lines separate nodes" if matrix.first_ranks else "",
            separator=", ",
        )
        title = f"{record.benchmark}: pairs of ranks"
        yield Panel(title, partial(_draw, matrix), details, height=_HEIGHT_INCHES)


def _draw(matrix: PairMatrix, axes: Axes, width: float) -> None:
    """With numbers where there are few ranks."""
    metric, norm = matrix.metric, _norm(matrix)
    values = numpy.array(matrix.rows, dtype=float)  # None becomes nan
    image = axes.imshow(
        numpy.where(values > 0, values, math.nan),
        cmap=_COLORS if metric.better == "higher" else f"{_COLORS}_r",
        norm=norm,
        aspect="equal",
    )
    for rank in matrix.first_ranks:
        axes.axhline(rank - 0.5, color=_BOUNDARY_COLOR, linewidth=2)
        axes.axvline(rank - 0.5, color=_BOUNDARY_COLOR, linewidth=2)
    if len(matrix.rows) <= _MOST_NUMBERS:
        for (first, second), value in numpy.ndenumerate(values):
            if value > 0:
                is_dark = (float(norm(value)) < 0.5) == (metric.better == "higher")
                text = axes.text(second, first, format_value(value, metric.unit), fontsize=8)
                text.set(ha="center", va="center", color="white" if is_dark else "black")
    for axis, role in ((axes.xaxis, "receives"), (axes.yaxis, "sends")):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        axis.set_label_text("rank" if matrix.is_symmetric else f"rank that {role}")
    bar = axes.figure.colorbar(image, cax=axes.inset_axes((1.03, 0, 0.04, 1)))
    set_ticks(bar.ax.yaxis, powers(1, 2, 5), lambda value: f"{value:g}")
    bar.set_label(labelled(metric.label, metric.unit))


def _norm(matrix: PairMatrix) -> LogNorm:
    """From the fastest to the slowest, which is not drawn as slow where it is almost as fast."""
    values = [pair.value for pair in matrix.pairs if pair.value > 0] or [1.0]
    low, high = min(values), max(values)
    if matrix.metric.better == "lower":
        return LogNorm(low, max(high, _LEAST_RANGE * low))
    return LogNorm(min(low, high / _LEAST_RANGE), high)
