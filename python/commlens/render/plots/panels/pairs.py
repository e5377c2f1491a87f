"""All pairs of ranks as a heat map: a slow link is a dark cell, a slow rank a dark cross."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_value, labelled, memory_name
from commlens.model import Record
from commlens.model.pairs import PairMatrix, matrices
from commlens.render.plots.content import Content
from commlens.render.plots.heading import Heading
from commlens.render.plots.panel import Panel
from commlens.render.plots.style import PANEL_INCHES
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 7
_COLORS = "viridis"  # dark is slow, also in gray and to the color-blind
_MOST_NUMBERS = 8  # ranks whose values are written into the cells
_BOUNDARY_COLOR = "white"
_LEAST_RANGE = 2.0  # of the colors


@dataclass(frozen=True)
class PairsPanel(Panel):
    """A record of all pairs."""

    record: Record
    matrix: PairMatrix
    size: str

    @property
    def height(self) -> float:
        """Cells are squares."""
        return PANEL_INCHES[0] * 0.85

    @property
    def heading(self) -> Heading:
        """The slowest pair and the median."""
        matrix, metric = self.matrix, self.matrix.metric
        slowest = matrix.pairs[0]
        words = [
            self.size,
            self.record.transport,
            memory_name(self.record.memory),
            f"slowest: {matrix.describe(slowest)}, {format_value(slowest.value, metric.unit)}"
            f" {metric.unit}",
            f"median {format_value(matrix.median, metric.unit)} {metric.unit}",
        ]
        if matrix.first_ranks:
            words.append("lines separate nodes")
        return Heading(f"{self.record.benchmark}: pairs of ranks", ", ".join(filter(None, words)))

    def draw(self, axes: Axes, width: float) -> None:
        """With numbers where there are few ranks."""
        matrix, metric = self.matrix, self.matrix.metric
        values = numpy.array(
            [[math.nan if one is None else one for one in row] for row in matrix.rows]
        )
        norm = _norm(matrix)
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
            self._write_numbers(axes, norm)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        axes.set_xlabel("rank" if matrix.is_symmetric else "rank that receives")
        axes.set_ylabel("rank" if matrix.is_symmetric else "rank that sends")
        bar = axes.figure.colorbar(image, cax=axes.inset_axes((1.03, 0, 0.04, 1)))
        set_ticks(bar.ax.yaxis, powers(1, 2, 5), lambda value: f"{value:g}")
        bar.set_label(labelled(metric.label, metric.unit))

    def _write_numbers(self, axes: Axes, norm: LogNorm) -> None:
        metric = self.matrix.metric
        for first, row in enumerate(self.matrix.rows):
            for second, value in enumerate(row):
                if value is None or value <= 0:
                    continue
                is_dark = (float(norm(value)) < 0.5) == (metric.better == "higher")
                axes.text(
                    second,
                    first,
                    format_value(value, metric.unit),
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if is_dark else "black",
                )


def _norm(matrix: PairMatrix) -> LogNorm:
    """From the fastest to the slowest, which is not drawn as slow where it is almost as fast."""
    values = [one.value for one in matrix.pairs if one.value > 0] or [1.0]
    low, high = min(values), max(values)
    if matrix.metric.better == "lower":
        return LogNorm(low, max(high, _LEAST_RANGE * low))
    return LogNorm(min(low, high / _LEAST_RANGE), high)


def panels(content: Content) -> list[PairsPanel]:
    """A panel for each transport and memory for the smallest and the largest size."""
    group_of = {id(record): group for group in content.groups for record in group.records}
    found = []
    for record, matrix in matrices(content.records):
        group = group_of.get(id(record))
        size = group.describe_size(record.size) if group and record.size is not None else ""
        found.append(PairsPanel(record, matrix, size))
    return found
