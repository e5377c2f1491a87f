"""How near a solve is to what memory and arithmetic allow: its operations a second against those that a byte gets.

After S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model" (CACM 52, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from commlens.plot.lines import Lines, by_benchmark, first_of
from commlens.plot.style import CEILING_COLOUR, CEILING_DASHES, PANEL_INCHES, QUIET_COLOUR, Heading, Series
from commlens.records import Record
from commlens.text import format_number, format_percent

_COPIES = ("memory copy", "device copy")  # in the memory in which the vectors lie
_TRAFFIC_OF_A_COPY = 2  # a ceiling's rate counts each byte once; memory reads it and writes it
_UNIT = "GFLOPs"
_NOTE_POINTS = 8
_NOTE_INCHES = 0.17
_FRAME_INCHES = 1.1  # of a panel's height, what titles and ticks take


@dataclass(frozen=True)
class Roofline:
    """Of one rank, each in 1e9 a second: bytes copied, and operations."""

    copy_rate: float
    product_rate: float | None  # None where no product was measured

    @property
    def traffic(self) -> float:
        return _TRAFFIC_OF_A_COPY * self.copy_rate

    def at(self, intensity: float) -> float:
        slope = self.traffic * intensity
        return slope if self.product_rate is None else min(slope, self.product_rate)


@dataclass(frozen=True)
class RooflinePanel:
    curves: Lines  # of each line the fastest record alone
    roofline: Roofline
    apart: str = ""  # what sets the machine apart from those of other panels

    @property
    def height(self) -> float:
        return PANEL_INCHES[1] + _NOTE_INCHES * max(0, len(self.curves) - 3)

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.75

    @property
    def heading(self) -> Heading:
        name = first_of(self.curves).benchmark
        return Heading(f"{name}: roofline", "; ".join(filter(None, [self.apart, "of a rank, in percent of the roof"])))

    @property
    def points(self) -> dict[Series, tuple[float, float]]:
        """Of each line: operations a byte, and 1e9 operations a second."""
        return {series: _point(own[0]) for series, own in self.curves.items()}

    def draw(self, axes: Axes) -> None:
        intensities, rates = zip(*self.points.values(), strict=True)
        roof = self.roofline.product_rate
        ridge = roof / self.roofline.traffic if roof else max(intensities)
        left, right = min(*intensities, ridge) / 3, 6 * max(*intensities, ridge)
        ends = [left, *([ridge] if roof else []), right]
        for (start, end), dashes in zip(pairwise(ends), CEILING_DASHES, strict=False):
            rise = [self.roofline.at(start), self.roofline.at(end)]
            axes.plot([start, end], rise, color=CEILING_COLOUR, linestyle=dashes, linewidth=1.3, zorder=1.5)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(left, right)
        self._set_height(axes, min(rates), max(self.roofline.at(right), *rates))
        for series, point in self.points.items():
            face = "white" if series.filling == "none" else series.colour
            axes.plot(*point, series.marker, color=series.colour, markersize=7, markerfacecolor=face, zorder=4)
        self._write_notes(axes)
        axes.legend(handles=self._handles, loc="upper left", fontsize=_NOTE_POINTS, borderaxespad=0.2, handlelength=1.6)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(base=10, numticks=9))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.grid(True, which="major")
        axes.set_xlabel("arithmetic intensity (operations a byte)")
        axes.set_ylabel("GFLOP/s a rank")

    def _set_height(self, axes: Axes, lowest: float, highest: float) -> None:
        """With a band for the notes under the lowest point, and room for the legend over the roof."""
        band = (_NOTE_INCHES * len(self.curves) + 0.15) / (self.height - _FRAME_INCHES)
        bottom, top = lowest / 1.5, 5 * highest
        axes.set_ylim(top / (top / bottom) ** (1 / (1 - band)), top)

    def _write_notes(self, axes: Axes) -> None:
        """Under each other in the lower right corner, where no roof is, with a line from each to its point."""
        by_height = sorted(self.points.items(), key=lambda entry: entry[1][1])
        for row, (series, point) in enumerate(by_height):
            share = format_percent(point[1] / self.roofline.at(point[0]))
            axes.annotate(
                f"{series.label}: {format_number(point[1])} GFLOP/s, {share}",
                point,
                (0.985, 0.02),
                textcoords=axes.transAxes + ScaledTranslation(0, row * _NOTE_INCHES, axes.figure.dpi_scale_trans),
                ha="right",
                va="bottom",
                fontsize=_NOTE_POINTS,
                color=series.dark_colour,
                arrowprops={
                    "arrowstyle": "-",
                    "color": QUIET_COLOUR,
                    "linewidth": 0.6,
                    "shrinkB": 4,
                    "relpos": (0, 0.5),
                },
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )

    @property
    def _handles(self) -> list[Line2D]:
        copy, memory = (format_number(rate) for rate in (self.roofline.copy_rate, self.roofline.traffic))
        labels = [f"memory: {memory} GB/s ({_TRAFFIC_OF_A_COPY} x a copy's {copy}: read and written)"]
        if self.roofline.product_rate:
            labels.append(f"square GEMM: {format_number(self.roofline.product_rate)} GFLOP/s")
        return [
            Line2D([], [], color=CEILING_COLOUR, linestyle=dashes, linewidth=1.3, label=label)
            for label, dashes in zip(labels, CEILING_DASHES, strict=False)
        ]


def roofline_panels(records: Sequence[Record]) -> list[RooflinePanel]:
    """One for each benchmark and machine whose records say how many operations and bytes they take."""
    placed = [record for record in records if _has_point(record)]
    machines = dict.fromkeys(map(_machine, placed))
    panels = []
    for machine in machines:
        for found in by_benchmark([record for record in placed if _machine(record) == machine]):
            roofline = _roofline([record for own in found.values() for record in own])
            if roofline:
                fastest = {series: [max(own, key=lambda record: _point(record)[1])] for series, own in found.items()}
                panels.append(RooflinePanel(fastest, roofline, ", ".join(machine[:2]) if len(machines) > 1 else ""))
    return panels


def _machine(record: Record) -> tuple[str, ...]:
    """What records must have in common for the same ceilings."""
    return record.gpu or record.host, f"{record.memory} memory", record.host, str(record.ranks), record.backend


def _roofline(records: Sequence[Record]) -> Roofline | None:
    """The highest rates that any of the records measured; None without a copy."""
    copied = [
        ceiling.rate[1] for record in records for ceiling in record.ceilings if ceiling.name in _COPIES and ceiling.rate
    ]
    products = [
        1e3 * ceiling.rate[1]
        for record in records
        for ceiling in record.ceilings
        if ceiling.name == "square GEMM" and ceiling.rate
    ]
    return Roofline(max(copied), max(products, default=None)) if copied else None


def _has_point(record: Record) -> bool:
    facts = record.number("flops_per_iteration"), record.number("bytes_per_iteration"), record.figure_in(_UNIT)
    return all(facts) and _point(record)[1] > 0


def _point(record: Record) -> tuple[float, float]:
    flops, bytes_moved = (record.number(f"{name}_per_iteration") or 0 for name in ("flops", "bytes"))
    return flops / bytes_moved, record.statistics[record.figure_in(_UNIT) or ""].median
