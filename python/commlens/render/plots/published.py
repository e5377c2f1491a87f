"""Notes of what others have published, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from commlens.base.text import format_scientific
from commlens.compare.references import Figure, beside
from commlens.model import Record
from commlens.render.plots.colors import QUIET_COLOR

_POINTS = 7.0
_LINE_POINTS = 8.5  # from one note to the next


def published(records: Sequence[Record], metric: str) -> list[Figure]:
    """Results beside these records, the lowest first, each once."""
    figures = {id(one.figure): one.figure for one in beside(records, metric)}
    return sorted(figures.values(), key=lambda figure: figure.value)


def note_of(figure: Figure) -> str:
    """Of a GPU or a machine: `H200 2.83e9`"""
    return f"{figure.hardware} {format_scientific(figure.value)}"


def draw(axes: Axes, found: Sequence[Figure], points_per_unit: float) -> None:
    """A dash each, and right of it its name, one above the other where they would overlap."""
    style: dict[str, Any] = {"color": QUIET_COLOR, "markersize": 9, "markeredgewidth": 1.6}
    heights = [points_per_unit * one.value for one in found]
    for one, height, place in zip(found, heights, _spread(heights)):
        axes.plot([one.size or 0], [one.value], "_", zorder=3.5, **style)
        axes.annotate(
            note_of(one),
            (one.size or 0, one.value),
            (8, place - height),
            textcoords="offset points",
            va="center",
            fontsize=_POINTS,
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
