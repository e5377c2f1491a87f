"""A roofline: FLOP/s of a solve against its FLOP/byte, under the rates of memory and of a GEMM.

After S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model"
(CACM 52, 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from commlens.base.text import format_number, format_percent
from commlens.model import Record
from commlens.render.plots.colors import QUIET_COLOR, looks
from commlens.render.plots.content import Content, ceiling_style
from commlens.render.plots.heading import Heading
from commlens.render.plots.lines import Lines, LinesPanel, by_benchmark, first_of
from commlens.render.plots.style import WIDEST, Series
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 6
_COPIES = ("memory copy", "device copy")  # within the memory of the vectors
_GEMM = "square GEMM"
_TRAFFIC_OF_A_COPY = 2  # the rate of a copy counts each byte once; memory reads and writes it
_UNIT = "GFLOP/s"
_GIGA_PER_TERA = 1e3
_NOTE_POINTS = 8
_FRAME_INCHES = 1.1  # of a panel's height, for titles and ticks


@dataclass(frozen=True)
class Roofline:
    """Rates of one rank."""

    copy: str  # the name of its ceiling
    copy_rate: float  # GB/s
    gemm_rate: float | None  # GFLOP/s; None: not measured

    @property
    def styles(self) -> list[dict[str, Any]]:
        """How its two lines look."""
        return [ceiling_style(one) for one in looks("dashes", (self.copy, _GEMM)).values()]

    @property
    def traffic(self) -> float:
        """GB/s of memory, read and written."""
        return _TRAFFIC_OF_A_COPY * self.copy_rate

    def at(self, intensity: float) -> float:
        """The roof in GFLOP/s at so many FLOP/byte."""
        slope = self.traffic * intensity
        return slope if self.gemm_rate is None else min(slope, self.gemm_rate)


@dataclass(frozen=True)
class RooflinePanel(LinesPanel):
    """The solves of a benchmark on one machine."""

    note_inches: ClassVar[float] = 0.17
    curves: Lines  # the fastest record of each line
    roofline: Roofline
    machine: str = ""  # where there are panels of others

    @property
    def heading(self) -> Heading:
        """The machine, if there are several."""
        name = first_of(self.curves).benchmark
        details = filter(None, [self.machine, "per rank, in percent of the roof"])
        return Heading(f"{name}: roofline", "; ".join(details))

    @property
    def points(self) -> dict[Series, tuple[float, float]]:
        """FLOP/byte and GFLOP/s of each line."""
        return {series: _point(own[0]) for series, own in self.curves.items()}

    def draw(self, axes: Axes, width: float) -> None:
        """Points of the fastest records, with a note each."""
        intensities, rates = zip(*self.points.values())
        roof = self.roofline.gemm_rate
        ridge = roof / self.roofline.traffic if roof else max(intensities)
        left, right = min(*intensities, ridge) / 1.6, 6 * max(*intensities, ridge)
        ends = [left, *([ridge] if roof else []), right]
        for start, end, look in zip(ends, ends[1:], self.roofline.styles):
            roofs = [self.roofline.at(start), self.roofline.at(end)]
            axes.plot([start, end], roofs, zorder=1.5, **look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(left, right)
        self._set_height(axes, min(rates), max(self.roofline.at(right), *rates))
        for series, point in self.points.items():
            face = "white" if series.filling == "none" else series.color
            style: dict[str, Any] = {
                "color": series.color,
                "markersize": 7,
                "markerfacecolor": face,
            }
            axes.plot(*point, series.marker, zorder=4, **style)
        self._write_notes(axes)
        legend: dict[str, Any] = {
            "fontsize": _NOTE_POINTS,
            "borderaxespad": 0.2,
            "handlelength": 1.6,
        }
        axes.legend(handles=self._handles, loc="upper left", **legend)
        for axis in (axes.xaxis, axes.yaxis):
            set_ticks(axis, powers(), lambda value: f"{value:,g}")
        axes.grid(True, which="major")
        axes.set_xlabel("arithmetic intensity (FLOP/byte)")
        axes.set_ylabel("GFLOP/s per rank")

    def _set_height(self, axes: Axes, lowest: float, highest: float) -> None:
        """With room for the notes below the lowest point and for the legend above the roof."""
        band = (self.note_inches * len(self.curves) + 0.15) / (self.height - _FRAME_INCHES)
        bottom, top = lowest / 1.5, 5 * highest
        axes.set_ylim(top / (top / bottom) ** (1 / (1 - band)), top)

    def _write_notes(self, axes: Axes) -> None:
        """In the lower right corner, where no roof is, with a line from each to its point."""
        by_height = sorted(self.points.items(), key=lambda entry: entry[1][1])
        arrow = {
            "arrowstyle": "-",
            "color": QUIET_COLOR,
            "linewidth": 0.6,
            "shrinkB": 4,
            "relpos": (0, 0.5),
        }
        for row, (series, point) in enumerate(by_height):
            up = ScaledTranslation(0, row * self.note_inches, axes.figure.dpi_scale_trans)
            share = format_percent(point[1] / self.roofline.at(point[0]))
            axes.annotate(
                f"{series.label}: {format_number(point[1])} GFLOP/s, {share}",
                point,
                (0.985, 0.02),
                textcoords=axes.transAxes + up,
                ha="right",
                va="bottom",
                fontsize=_NOTE_POINTS,
                color=series.dark_color,
                arrowprops=arrow,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )

    @property
    def _handles(self) -> list[Line2D]:
        rates = self.roofline.copy_rate, self.roofline.traffic
        copy, memory = map(format_number, rates)
        labels = [
            f"memory: {memory} GB/s ({_TRAFFIC_OF_A_COPY} x a copy's {copy}: read and written)"
        ]
        if self.roofline.gemm_rate:
            labels.append(f"{_GEMM}: {format_number(self.roofline.gemm_rate)} GFLOP/s")
        pairs = zip(labels, self.roofline.styles)
        return [Line2D([], [], label=label, **look) for label, look in pairs]


def panels(content: Content) -> list[RooflinePanel]:
    """A panel for each benchmark and machine whose records give FLOPs and bytes per iteration."""
    machines: dict[tuple[str, ...], list[Record]] = {}
    for record in content.records:
        if _has_point(record):
            machines.setdefault(_machine(record), []).append(record)
    found_panels = []
    for machine, own in machines.items():
        name = ", ".join(machine[:2]) if len(machines) > 1 else ""
        for found in by_benchmark(own, content.theme):
            roofline = _roofline([record for line in found.values() for record in line])
            if roofline:
                fastest = {
                    series: [max(line, key=lambda record: _point(record)[1])]
                    for series, line in found.items()
                }
                found_panels.append(RooflinePanel(fastest, roofline, name))
    return found_panels


def _machine(record: Record) -> tuple[str, ...]:
    """What records with the same ceilings have in common."""
    start = record.start
    return (
        start.gpu or start.host,
        f"{record.memory} memory",
        start.host,
        str(record.ranks),
        start.backend,
    )


def _roofline(records: Sequence[Record]) -> Roofline | None:
    """The highest rates that any of the records measured; None without a copy."""
    rates: dict[str, list[float]] = {}
    for record in records:
        for ceiling in record.ceilings:
            if ceiling.rate:
                rates.setdefault(ceiling.name, []).append(ceiling.rate)
    found = {name: max(rates[name]) for name in _COPIES if name in rates}
    if not found:
        return None
    copy = max(found, key=lambda name: found[name])
    return Roofline(
        copy, found[copy], _GIGA_PER_TERA * max(rates[_GEMM]) if _GEMM in rates else None
    )


def _has_point(record: Record) -> bool:
    facts = record.number("flops_per_iteration"), record.number("bytes_per_iteration")
    return all(facts) and all(1 / WIDEST < number < WIDEST for number in _point(record))


def _point(record: Record) -> tuple[float, float]:
    """FLOP/byte and GFLOP/s."""
    flops, moved = (record.number(f"{name}_per_iteration") or 0 for name in ("flops", "bytes"))
    metric = record.metric_in(_UNIT)
    return flops / moved, record.statistics[metric.name].median if metric else 0.0
