"""What a solve gets done in a second against the size of the problem, the peak, and from which size on 80% of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from commlens.plot.lines import Lines, by_benchmark, first_of
from commlens.plot.style import PANEL_INCHES, Heading, line_style
from commlens.records import Case, Record
from commlens.text import figure_label, format_short

_FEWEST_SIZES = 3
_SHARE = 0.8
_SIZE = "dof_per_rank"
_UNIT = "DOF_iter_per_s"
_NOTE_POINTS = 8
_NOTE_INCHES = 0.16
_FRAME_INCHES = 1.1  # of a panel's height, what titles and ticks take
_FEW_TICKS_FROM = 50  # how many times the smallest size the largest is


@dataclass(frozen=True)
class Growth:
    """The points of one line by size: (DOF a rank, throughput), each size once."""

    points: Sequence[tuple[float, float]]

    @property
    def peak(self) -> tuple[float, float]:
        return max(self.points, key=lambda point: point[1])

    @property
    def enough(self) -> float | None:
        """The size from which on 80% of the peak is reached, along straight lines on a logarithmic axis of sizes.

        None where the smallest size reaches it already.
        """
        wanted = _SHARE * self.peak[1]
        for (small, low), (large, high) in zip(self.points, self.points[1:], strict=False):
            if low < wanted <= high:
                share = (wanted - low) / (high - low)
                return math.exp(math.log(small) + share * (math.log(large) - math.log(small)))
        return None

    @property
    def note(self) -> str:
        """`peak 2.83e9 at 2.74M, n₀.₈ = 412k`"""
        enough = f"= {format_short(self.enough)}" if self.enough else f"≤ {format_short(self.points[0][0])}"
        peak = f"{self.peak[1]:.2e}".replace("e+0", "e").replace("e+", "e")
        return f"peak {peak} at {format_short(self.peak[0])}, $n_{{0.8}}$ {enough}"


@dataclass(frozen=True)
class ThroughputPanel:
    curves: Lines
    growths: Sequence[Growth]  # of each of them

    @property
    def height(self) -> float:
        return PANEL_INCHES[1] + _NOTE_INCHES * max(0, len(self.curves) - 3)

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.75

    def shows(self, case: Case) -> bool:
        """Whether the case's own curves are among its own."""
        own = {id(record) for records in self.curves.values() for record in records}
        return all(id(record) in own and record.figure == record.figure_in(_UNIT) for record in case.records)

    @property
    def heading(self) -> Heading:
        name = first_of(self.curves).benchmark
        return Heading(f"{name}: throughput by size", f"star: peak; dotted: $n_{{0.8}}$, {_SHARE:.0%} of the peak")

    def draw(self, axes: Axes) -> None:
        for series, growth in zip(self.curves, self.growths, strict=True):
            axes.plot(*zip(*growth.points, strict=True), zorder=3, **line_style(series))
            axes.plot(*growth.peak, "*", color=series.colour, markersize=13, markeredgecolor="white", zorder=4)
            if growth.enough:
                end = _SHARE * growth.peak[1]
                axes.plot([growth.enough] * 2, [0, end], color=series.colour, linestyle=(0, (1, 1.5)), linewidth=1.3)
        axes.set_xscale("log")
        band = self._notes_inches / (self.height - _FRAME_INCHES)
        axes.set_ylim(0, 1.06 * max(growth.peak[1] for growth in self.growths) / (1 - band))
        self._write_notes(axes)
        sizes = [size for growth in self.growths for size, _ in growth.points]
        subs = (1, 2, 5) if max(sizes) < _FEW_TICKS_FROM * min(sizes) else (1,)
        axes.xaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_short(size)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_short(value)))
        axes.grid(True, which="major")
        axes.set_xlabel("degrees of freedom a rank")
        figure = first_of(self.curves).figure_in(_UNIT) or ""
        axes.set_ylabel(f"{figure_label(figure)} a rank")

    @property
    def _notes_inches(self) -> float:
        return _NOTE_INCHES * len(self.curves) + 0.1

    def _write_notes(self, axes: Axes) -> None:
        """In a band above the curves, in the colours of their lines."""
        for row, (series, growth) in enumerate(zip(self.curves, self.growths, strict=True)):
            axes.annotate(
                f"{series.label}: {growth.note}" if len(self.curves) > 1 else growth.note,
                (0, 1),
                (6, -4 - 72 * _NOTE_INCHES * row),
                xycoords="axes fraction",
                textcoords="offset points",
                va="top",
                fontsize=_NOTE_POINTS,
                color=series.dark_colour,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )


def throughput_panels(records: Sequence[Record]) -> list[ThroughputPanel]:
    """One for each benchmark of which some line has at least three sizes."""
    panels = []
    for found in by_benchmark([record for record in records if record.number(_SIZE) and record.figure_in(_UNIT)]):
        growths = {series: _growth(own) for series, own in found.items()}
        chosen = {series: growth for series, growth in growths.items() if len(growth.points) >= _FEWEST_SIZES}
        if chosen:
            panels.append(ThroughputPanel({series: found[series] for series in chosen}, list(chosen.values())))
    return panels


def _growth(own: Sequence[Record]) -> Growth:
    """Of a size that was measured several times, the best counts."""
    best: dict[float, float] = {}
    for record in own:
        size, value = record.number(_SIZE) or 0, record.statistics[record.figure_in(_UNIT) or ""].median
        best[size] = max(value, best.get(size, 0))
    return Growth(sorted(best.items()))
