"""Throughput of a solve against the size of the problem: the peak, and the size at 80% of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_scientific, format_short, labelled
from commlens.model import Group, Metric, Record
from commlens.render.plots import published
from commlens.render.plots.content import Content
from commlens.render.plots.heading import Heading
from commlens.render.plots.lines import Lines, LinesPanel, by_benchmark, first_of
from commlens.render.plots.style import line_style
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 4
_FEWEST_SIZES = 3
_SHARE = 0.8
_SIZE = "dof_per_rank"
_UNIT = "DOF*iter/s"
_NOTE_POINTS = 8
_FRAME_INCHES = 1.1  # of a panel's height, for titles and ticks
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
        enough = (
            f"= {format_short(self.enough)}"
            if self.enough
            else f"≤ {format_short(self.points[0][0])}"
        )
        return (
            f"peak {format_scientific(self.peak[1])} at {format_short(self.peak[0])}, n₀.₈ {enough}"
        )


@dataclass(frozen=True)
class ThroughputPanel(LinesPanel):
    """The solves of a benchmark by size."""

    note_inches: ClassVar[float] = 0.16
    curves: Lines
    growths: Sequence[Growth]  # of each of them
    published: Sequence[published.Published] = ()

    def shows(self, group: Group) -> bool:
        """Whether the group's curves of its main metric are among its own."""
        own = {record for records in self.curves.values() for record in records}
        return all(record in own and record.main == _metric(record) for record in group.records)

    @property
    def heading(self) -> Heading:
        """What the marks are."""
        name = first_of(self.curves).benchmark
        details = f"star: peak; dotted: n₀.₈, {_SHARE:.0%} of the peak"
        if self.published:
            details += "; gray dashes: published"
        return Heading(f"{name}: throughput by size", details)

    def draw(self, axes: Axes, width: float) -> None:
        """Curves with their peaks; notes in a band above them."""
        for series, growth in zip(self.curves, self.growths):
            axes.plot(*zip(*growth.points), zorder=3, **line_style(series))
            star: dict[str, Any] = {
                "color": series.color,
                "markersize": 13,
                "markeredgecolor": "white",
            }
            axes.plot(*growth.peak, "*", zorder=4, **star)
            if growth.enough:
                dots: dict[str, Any] = {
                    "color": series.color,
                    "linestyle": (0, (1, 1.5)),
                    "linewidth": 1.3,
                }
                axes.plot([growth.enough] * 2, [0, _SHARE * growth.peak[1]], **dots)
        axes.set_xscale("log")
        band = self._notes_inches / (self.height - _FRAME_INCHES)
        highest = [growth.peak[1] for growth in self.growths]
        highest += [own.value for own in self.published]
        axes.set_ylim(0, 1.06 * max(highest) / (1 - band))
        self._write_notes(axes)
        self._draw_published(axes)
        sizes = [size for growth in self.growths for size, _ in growth.points]
        subs = (1, 2, 5) if max(sizes) < _FEW_TICKS_FROM * min(sizes) else (1,)
        set_ticks(axes.xaxis, powers(*subs, most=12), format_short)
        set_ticks(axes.yaxis, MaxNLocator(nbins=6), format_short)
        axes.grid(True, which="major")
        axes.set_xlabel("degrees of freedom per rank")
        metric = _metric(first_of(self.curves))
        axes.set_ylabel(f"{labelled(metric.label, metric.unit)} per rank" if metric else "")

    def _draw_published(self, axes: Axes) -> None:
        """With room for its notes, which stand right of it."""
        if not self.published:
            return
        place = max(own.size for own in self.published)
        left, right = axes.get_xlim()
        before = 1 - _SHARE_OF_NOTES
        axes.set_xlim(left, max(right, place * (place / left) ** (_SHARE_OF_NOTES / before)))
        points = 72 * (self.height - _FRAME_INCHES)
        published.draw(axes, self.published, points / axes.get_ylim()[1])

    @property
    def _notes_inches(self) -> float:
        return self.note_inches * len(self.curves) + 0.1

    def _write_notes(self, axes: Axes) -> None:
        """In a band above the curves, in the colors of the lines."""
        for row, (series, growth) in enumerate(zip(self.curves, self.growths)):
            axes.annotate(
                f"{series.label}: {growth.note}" if len(self.curves) > 1 else growth.note,
                (0, 1),
                (6, -4 - 72 * self.note_inches * row),
                xycoords="axes fraction",
                textcoords="offset points",
                va="top",
                fontsize=_NOTE_POINTS,
                color=series.dark_color,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                zorder=5,
            )


def panels(content: Content) -> list[ThroughputPanel]:
    """A panel for each benchmark with at least three sizes in a line."""
    found_panels = []
    with_sizes = [record for record in content.records if record.number(_SIZE) and _metric(record)]
    for found in by_benchmark(with_sizes, content.theme):
        growths = {series: _growth(own) for series, own in found.items()}
        chosen = {
            series: growth
            for series, growth in growths.items()
            if len(growth.points) >= _FEWEST_SIZES
        }
        if chosen:
            curves = {series: found[series] for series in chosen}
            own_records = [record for own in curves.values() for record in own]
            metric = _metric(own_records[0])
            others = published.published(own_records, metric.name) if metric else []
            found_panels.append(ThroughputPanel(curves, list(chosen.values()), others))
    return found_panels


def _metric(record: Record) -> Metric | None:
    return record.metric_in(_UNIT)


def _growth(own: Sequence[Record]) -> Growth:
    """The best of each size."""
    best: dict[float, float] = {}
    for record in own:
        metric = _metric(record)
        if metric:
            size = record.number(_SIZE) or 0
            best[size] = max(record.statistics[metric.name].median, best.get(size, 0))
    return Growth(sorted(best.items()))
