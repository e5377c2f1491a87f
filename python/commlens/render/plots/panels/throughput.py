"""Throughput of a solve against the size of the problem: the peak, and the size at 80% of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_scientific, format_short, labelled
from commlens.compare.references import PublishedValue
from commlens.model import Metric, Record
from commlens.render.plots.colors import QUIET_COLOR
from commlens.render.plots.content import Content
from commlens.render.plots.lines import (
    FRAME_INCHES,
    by_benchmark,
    height_with_notes,
    lines_panel,
    note_of,
    note_style,
    published,
)
from commlens.render.plots.panel import Panel
from commlens.render.plots.style import Series
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 4
_FEWEST_SIZES = 3
_SHARE = 0.8
_SIZE = "dof_per_rank"
_UNIT = "DOF*iter/s"
_NOTE_INCHES = 0.16
_PUBLISHED_POINTS = 7.0
_LINE_POINTS = 8.5  # from one note of a published result to the next
_SHARE_OF_NOTES = 0.36  # of the width, right of what was published
_FEW_TICKS_FROM = 50  # ratio of the largest size to the smallest


@dataclass(frozen=True)
class Growth:
    """The points of one line by size: (DOF per rank, throughput), each size once."""

    points: Sequence[tuple[float, float]]

    @property
    def peak(self) -> tuple[float, float]:
        """The point with the highest throughput."""
        return max(self.points, key=lambda point: point[1])

    @property
    def enough(self) -> float | None:
        """The size at which 80% of the peak is reached, interpolated on a logarithmic axis.

        None if the smallest size reaches it.
        """
        wanted = _SHARE * self.peak[1]
        for (small, low), (large, high) in zip(self.points, self.points[1:]):
            if low < wanted <= high:
                share = (wanted - low) / (high - low)
                return small * math.exp(share * math.log(large / small))
        return None

    @property
    def note(self) -> str:
        """`peak 2.83e9 at 2.74M, n₀.₈ = 412k`"""
        size, value = self.peak
        sign, enough = ("=", self.enough) if self.enough else ("≤", self.points[0][0])
        peak = f"peak {format_scientific(value)} at {format_short(size)}"
        return f"{peak}, n₀.₈ {sign} {format_short(enough)}"


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each benchmark with at least three sizes in a line."""
    with_sizes = [record for record in content.records if record.number(_SIZE) and _metric(record)]
    for lines in by_benchmark(with_sizes, content):
        rows = ((series, _growth(line)) for series, line in lines.items())
        growths = {series: growth for series, growth in rows if len(growth.points) >= _FEWEST_SIZES}
        records = [record for series in growths for record in lines[series]]
        if not records or (metric := _metric(records[0])) is None:
            continue
        shown = {record for record in records if record.main == _metric(record)}
        others = published(records, metric.name)
        details = f"star: peak; dotted: n₀.₈, {_SHARE:.0%} of the peak"
        yield lines_panel(
            {series: lines[series] for series in growths},
            "throughput by size",
            partial(_draw, metric, growths, others),
            details + ("; gray dashes: published" if others else ""),
            height=height_with_notes(len(growths), _NOTE_INCHES),
            replaces=[group for group in content.groups if shown.issuperset(group.records)],
        )


_Growths = Mapping[Series, Growth]


def _draw(
    metric: Metric,
    growths: _Growths,
    others: Sequence[PublishedValue],
    axes: Axes,
    width: float,
) -> None:
    """Curves with their peaks; notes in a band above them."""
    for series, growth in growths.items():
        axes.plot(*zip(*growth.points), zorder=3, **series.style)
        star: dict[str, Any] = {"markersize": 13, "markeredgecolor": "white"}
        axes.plot(*growth.peak, "*", zorder=4, color=series.color, **star)
        if growth.enough:
            dots: dict[str, Any] = {"linestyle": (0, (1, 1.5)), "linewidth": 1.3}
            ends = [0, _SHARE * growth.peak[1]]
            axes.plot([growth.enough] * 2, ends, color=series.color, **dots)
    axes.set_xscale("log")
    height = height_with_notes(len(growths), _NOTE_INCHES) - FRAME_INCHES
    band = (_NOTE_INCHES * len(growths) + 0.1) / height
    peaks = [growth.peak[1] for growth in growths.values()]
    highest = max(*peaks, *(figure.value for figure in others), 0)
    axes.set_ylim(0, 1.06 * highest / (1 - band))
    _write_notes(axes, growths)
    if others:  # with room for its notes, which stand right of it
        place = max(figure.size or 0 for figure in others)
        left, right = axes.get_xlim()
        room = _SHARE_OF_NOTES / (1 - _SHARE_OF_NOTES)
        axes.set_xlim(left, max(right, place * (place / left) ** room))
        _draw_published(axes, others, 72 * height / axes.get_ylim()[1])
    sizes = [size for growth in growths.values() for size, _ in growth.points]
    subs = (1, 2, 5) if max(sizes) < _FEW_TICKS_FROM * min(sizes) else (1,)
    set_ticks(axes.xaxis, powers(*subs, most=12), format_short)
    set_ticks(axes.yaxis, MaxNLocator(nbins=6), format_short)
    axes.grid(True, which="major")
    axes.set_xlabel("degrees of freedom per rank")
    axes.set_ylabel(f"{labelled(metric.label, metric.unit)} per rank")


def _write_notes(axes: Axes, growths: _Growths) -> None:
    """In a band above the curves, in the colors of the lines."""
    for row, (series, growth) in enumerate(growths.items()):
        axes.annotate(
            f"{series.label}: {growth.note}" if len(growths) > 1 else growth.note,
            (0, 1),
            (6, -4 - 72 * _NOTE_INCHES * row),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            **note_style(series),
        )


def _metric(record: Record) -> Metric | None:
    return next((metric for metric in record.metrics if metric.unit == _UNIT), None)


def _growth(records: Sequence[Record]) -> Growth:
    """The best of each size."""
    best: dict[float, float] = {}
    for record in records:
        if metric := _metric(record):
            size = record.number(_SIZE) or 0
            best[size] = max(record.statistics[metric.name].median, best.get(size, 0))
    return Growth(sorted(best.items()))


def _draw_published(axes: Axes, values: Sequence[PublishedValue], points_per_unit: float) -> None:
    """A dash each, and right of it its name, one above the other where they would overlap."""
    style: dict[str, Any] = {"color": QUIET_COLOR, "markersize": 9, "markeredgewidth": 1.6}
    heights = [points_per_unit * value.value for value in values]
    for value, height, place in zip(values, heights, _spread(heights)):
        axes.plot([value.size or 0], [value.value], "_", zorder=3.5, **style)
        axes.annotate(
            note_of(value),
            (value.size or 0, value.value),
            (8, place - height),
            textcoords="offset points",
            va="center",
            fontsize=_PUBLISHED_POINTS,
            color=QUIET_COLOR,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8},
            zorder=3.4,
        )


def _spread(heights: Sequence[float]) -> list[float]:
    """Rising heights, moved as little as possible so that there is room for a line at each."""
    groups: list[list[float]] = []  # of lines that touch: each less those below it
    for number, height in enumerate(heights):
        groups.append([height - number * _LINE_POINTS])
        while len(groups) > 1 and fmean(groups[-2]) >= fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    lowest = [fmean(group) for group in groups for _ in group]
    return [height + number * _LINE_POINTS for number, height in enumerate(lowest)]
