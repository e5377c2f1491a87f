"""A roofline: FLOP/s of a solve against its FLOP/byte, under the rates of memory and arithmetic.

After S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model"
(CACM 52, 2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from commlens.base.text import format_fraction, format_number
from commlens.model import Record
from commlens.render.plots.colors import QUIET_COLOR, looks
from commlens.render.plots.content import Content, ceiling_style
from commlens.render.plots.lines import (
    FRAME_INCHES,
    NOTE_POINTS,
    by_benchmark,
    height_with_notes,
    lines_panel,
    note_style,
)
from commlens.render.plots.panel import Panel, joined
from commlens.render.plots.style import WIDEST, Series
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 6
# GB/s read and written, over the rate: a copy's, in old records, counts each byte once
_OF_MEMORY = {"memory bandwidth": 1, "memory copy": 2, "device copy": 2}
_OF_ARITHMETIC = ("multiply-adds", "square GEMM")
_UNIT = "GFLOP/s"
_GIGA_PER_TERA = 1e3
_NOTE_INCHES = 0.17


@dataclass(frozen=True)
class Roofline:
    """Rates of one rank."""

    traffic: float  # GB/s of memory, read and written
    flops: float | None  # GFLOP/s; None: not measured

    @property
    def lines(self) -> list[tuple[str, dict[str, Any]]]:
        """What its lines are, and how they look."""
        names = "memory bandwidth", "multiply-adds"
        labels = [f"{names[0]}: {format_number(self.traffic)} GB/s, read and written"]
        if self.flops:
            labels.append(f"{names[1]}: {format_number(self.flops)} GFLOP/s")
        return list(zip(labels, map(ceiling_style, looks("dashes", names).values())))

    def at(self, intensity: float) -> float:
        """The roof in GFLOP/s at so many FLOP/byte."""
        slope = self.traffic * intensity
        return slope if self.flops is None else min(slope, self.flops)


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each benchmark and machine whose records give FLOPs and bytes per iteration."""
    machines: dict[tuple[str, ...], list[Record]] = {}
    for record in content.records:
        if _has_point(record):
            machines.setdefault(_machine(record), []).append(record)
    for machine, records in machines.items():
        name = ", ".join(machine[:2]) if len(machines) > 1 else ""
        for lines in by_benchmark(records, content):
            roofline = _roofline([record for line in lines.values() for record in line])
            if roofline:
                points = {
                    series: max(map(_point, line), key=lambda point: point[1])
                    for series, line in lines.items()
                }
                details = joined(name, "per rank, in percent of the roof")
                draw = partial(_draw, roofline, points)
                height = height_with_notes(len(points), _NOTE_INCHES)
                yield lines_panel(lines, "roofline", draw, details, height=height)


_Points = Mapping[Series, tuple[float, float]]  # FLOP/byte and GFLOP/s of each line


def _draw(roofline: Roofline, points: _Points, axes: Axes, width: float) -> None:
    """Points of the fastest records, with a note each."""
    intensities, rates = zip(*points.values())
    roof = roofline.flops
    ridge = roof / roofline.traffic if roof else max(intensities)
    left, right = min(*intensities, ridge) / 1.6, 6 * max(*intensities, ridge)
    ends = [left, *([ridge] if roof else []), right]
    for start, end, (label, look) in zip(ends, ends[1:], roofline.lines):
        roofs = [roofline.at(start), roofline.at(end)]
        axes.plot([start, end], roofs, zorder=1.5, label=label, **look)
    axes.legend(loc="upper left", fontsize=NOTE_POINTS, borderaxespad=0.2, handlelength=1.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    _set_height(axes, len(points), min(rates), max(roofline.at(right), *rates))
    for series, point in points.items():
        face = "white" if series.is_open else series.color
        style: dict[str, Any] = {"color": series.color, "markersize": 7, "markerfacecolor": face}
        axes.plot(*point, series.style["marker"], zorder=4, **style)
    _write_notes(axes, roofline, points)
    for axis in (axes.xaxis, axes.yaxis):
        set_ticks(axis, powers(), lambda value: f"{value:,g}")
    axes.grid(True, which="major")
    axes.set_xlabel("arithmetic intensity (FLOP/byte)")
    axes.set_ylabel("GFLOP/s per rank")


def _set_height(axes: Axes, notes: int, lowest: float, highest: float) -> None:
    """With room for the notes below the lowest point and for the legend above the roof."""
    height = height_with_notes(notes, _NOTE_INCHES) - FRAME_INCHES
    band = (_NOTE_INCHES * notes + 0.15) / height
    bottom, top = lowest / 1.5, 5 * highest
    axes.set_ylim(top / (top / bottom) ** (1 / (1 - band)), top)


def _write_notes(axes: Axes, roofline: Roofline, points: _Points) -> None:
    """In the lower right corner, where no roof is, with a line from each to its point."""
    arrow = {
        "arrowstyle": "-",
        "color": QUIET_COLOR,
        "linewidth": 0.6,
        "shrinkB": 4,
        "relpos": (0, 0.5),
    }
    for row, (series, point) in enumerate(sorted(points.items(), key=lambda entry: entry[1][1])):
        up = ScaledTranslation(0, row * _NOTE_INCHES, axes.figure.dpi_scale_trans)
        share = format_fraction(point[1] / roofline.at(point[0]))
        axes.annotate(
            f"{series.label}: {format_number(point[1])} GFLOP/s, {share}",
            point,
            (0.985, 0.02),
            textcoords=axes.transAxes + up,
            ha="right",
            va="bottom",
            arrowprops=arrow,
            **note_style(series),
        )


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
    """The highest rates that any of the records measured; None without that of memory."""
    rates: dict[str, list[float]] = {}
    for record in records:
        for ceiling in record.valid_ceilings:
            if ceiling.rate:
                rates.setdefault(ceiling.name, []).append(ceiling.rate)
    traffic = [times * max(rates[name]) for name, times in _OF_MEMORY.items() if name in rates]
    flops = [_GIGA_PER_TERA * max(rates[name]) for name in _OF_ARITHMETIC if name in rates]
    return Roofline(max(traffic), max(flops, default=None)) if traffic else None


def _has_point(record: Record) -> bool:
    facts = record.number("flops_per_iteration"), record.number("bytes_per_iteration")
    return all(facts) and all(1 / WIDEST < number < WIDEST for number in _point(record))


def _point(record: Record) -> tuple[float, float]:
    """FLOP/byte and GFLOP/s."""
    flops, moved = (record.number(f"{name}_per_iteration") or 0 for name in ("flops", "bytes"))
    metric = next((metric for metric in record.metrics if metric.unit == _UNIT), None)
    return flops / moved, record.statistics[metric.name].median if metric else 0.0
