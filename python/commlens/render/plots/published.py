"""What others have published (commlens.compare.references), beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from commlens.base.text import format_scientific
from commlens.compare.references import Beside, Figure, beside, lines_of
from commlens.model import Record
from commlens.render.plots.colors import PUBLISHED_COLOR, QUIET_COLOR
from commlens.render.plots.panel import Panel
from commlens.render.plots.style import shortened

_POINTS = 7.0
_LINE_POINTS = 8.5  # from one note to the next
_MARKERS = ("X", "v", "P", "d", "*", "h", "p", "8")
LINE_STYLE: dict[str, Any] = {"color": PUBLISHED_COLOR, "linewidth": 1.1, "linestyle": (0, (4, 2))}
_DASHES = ((4, 2), (1.5, 1.5), (6, 2, 1.5, 2))


class PublishedStyles:
    """The dashes and markers of each published line of a picture."""

    def __init__(self, panels: Iterable[Panel]) -> None:
        self._found = {id(panel): beside(panel.records, panel.metric.name) for panel in panels}
        names = (one.figure.name for own in self._found.values() for one in own)
        self._numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}

    def beside(self, panel: Panel) -> list[Beside]:
        return self._found[id(panel)]

    def curves(self, panel: Panel) -> list[tuple[Figure, list[tuple[float, float]]]]:
        """Of each line its first result, and its points: place on the axis of sizes, value."""
        return [
            (own[0].figure, sorted({_place(panel, one): one.figure.value for one in own}.items()))
            for own in lines_of(self.beside(panel)).values()
        ]

    def style(self, figure: Figure) -> dict[str, Any]:
        return self._style(self._numbers[figure.name])

    def handles(self) -> list[Line2D]:
        return [
            Line2D([], [], label=shortened(f"published: {name}"), **self._style(number))
            for name, number in self._numbers.items()
        ]

    def _style(self, number: int) -> dict[str, Any]:
        return {
            **LINE_STYLE,
            "linestyle": (0, _DASHES[number % len(_DASHES)]),
            "marker": _MARKERS[number % len(_MARKERS)],
            "markersize": 4.5,
            "markerfacecolor": "white",
        }


def _place(panel: Panel, one: Beside) -> float:
    """Its size, or that of the record where the axis has another quantity."""
    axis = panel.group.size_parameter
    is_of_axis = axis is not None and axis.name == one.figure.size_name
    return (one.figure.size if is_of_axis else one.record.size) or 0


class Published(NamedTuple):
    """A result as a note names it."""

    name: str  # of a GPU or a machine
    size: float
    value: float

    @property
    def note(self) -> str:
        return f"{self.name} {format_scientific(self.value)}"


def published(records: Sequence[Record], metric: str) -> list[Published]:
    """Results beside these records, the lowest first, each once."""
    figures = {id(one.figure): one.figure for one in beside(records, metric)}
    found = [Published(one.hardware, one.size or 0, one.value) for one in figures.values()]
    return sorted(found, key=lambda own: own.value)


def draw(axes: Axes, found: Sequence[Published], points_per_unit: float) -> None:
    """A dash each, and right of it its name, one above the other where they would overlap."""
    style: dict[str, Any] = {"color": QUIET_COLOR, "markersize": 9, "markeredgewidth": 1.6}
    heights = [points_per_unit * one.value for one in found]
    for one, height, place in zip(found, heights, _spread(heights)):
        axes.plot([one.size], [one.value], "_", zorder=3.5, **style)
        axes.annotate(
            one.note,
            (one.size, one.value),
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
