"""A panel: what one pair of axes of a picture shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commlens.model import Group
from commlens.model.levels import place_of
from commlens.render.plots.colors import QUIET_COLOR
from commlens.render.plots.style import (
    PANEL_INCHES,
    SMALL_LETTER_INCHES,
    Series,
    shortened,
    wrapped,
)

LINES, CEILINGS, PUBLISHED, PARTS, REST, MARKS = range(6)  # the order of a legend
_TITLE_LETTER_INCHES = 0.092
_TITLE_POINTS, _DETAIL_POINTS = 14, 11  # the height of a line


class LegendEntry(NamedTuple):
    """An entry of the legend below all panels: entries with the same label are one."""

    kind: int  # LINES to MARKS
    order: tuple[object, ...]  # within its kind; empty: as met
    handle: Artist | Series  # with its label; a series, as colors are numbered after all panels

    @property
    def label(self) -> str:
        """The name in the legend."""
        handle = self.handle
        return handle.label if isinstance(handle, Series) else str(handle.get_label())

    @property
    def artist(self) -> Artist:
        """What Matplotlib draws beside the name."""
        if isinstance(self.handle, Series):
            return Line2D([], [], label=self.label, **self.handle.style)
        return self.handle


@dataclass(frozen=True, eq=False)
class Panel:
    """Data goes in, axes are drawn. The layout needs sizes, in inches, before it draws."""

    title: str
    draw: Callable[[Axes, float], None]  # into axes of about this width
    details: str = ""  # the small lines under the title
    legend: Sequence[LegendEntry] = ()  # what the legend below all panels names
    height: float = PANEL_INCHES[1]  # with everything but lines of details beyond the usual
    label_width: float = 0.75  # of what stands left of the axes
    group: Group | None = None  # that it shows; None: it shows several at once
    replaces: Sequence[Group] = ()  # it shows all that their curves or bars would
    is_replaceable: bool = False  # it is left out where another one replaces it
    is_wide: bool = False  # it takes a whole row
    column: int | None = None  # its place in a row of panels of its group, which share their axes
    usual_lines: int = 2  # lines of details for which its height has room
    axes_height: float | None = None  # in proportion to those of other rows; None: as the heights
    stretch_alone: float = 1.0  # times the usual width, where it is the only one of a picture

    def detail_lines(self, width: float) -> list[str]:
        """The details in lines of `width` inches. They wrap, and nothing is cut."""
        return wrapped(self.details, int(width / SMALL_LETTER_INCHES))

    def _title_lines(self, width: float) -> list[str]:
        return wrapped(self.title, int(width / _TITLE_LETTER_INCHES))

    def extra_inches(self, width: float) -> float:
        """The height of the lines beyond a line of the title and the usual ones of details."""
        titles = max(0, len(self._title_lines(width)) - 1)
        details = max(0, len(self.detail_lines(width)) - self.usual_lines)
        return (_TITLE_POINTS * titles + _DETAIL_POINTS * details) / 72

    def write_heading(self, axes: Axes, width: float, max_lines: int) -> None:
        """All titles of a row are at one height: above `max_lines` lines of details."""
        lines, title = self.detail_lines(width), "\n".join(self._title_lines(width))
        pad = 9 + _DETAIL_POINTS * max_lines
        axes.set_title(title, loc="left", fontweight="bold", pad=pad)
        text = axes.annotate(
            "\n".join(lines),
            (0, 1),
            (0, 7 + _DETAIL_POINTS * (max_lines - len(lines))),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8,
            color=QUIET_COLOR,
        )
        text.set_in_layout(False)  # the title reserves the height; the width must not move the axes


def joined(*texts: str, separator: str = "; ") -> str:
    """Those that say anything, in one line."""
    return separator.join(filter(None, texts))


def line_entries(series: Iterable[Series]) -> list[LegendEntry]:
    """The entries of lines."""
    return [LegendEntry(LINES, line.order, line) for line in series]


def part_entries(names: Iterable[str], colors: Mapping[str, str]) -> Iterator[LegendEntry]:
    """The entries of parts, in the order of their colors: one for all levels that have a kind."""
    places = {name: place for place, name in enumerate(colors)}
    for name in names:
        patch = Patch(color=colors[name], label=shortened(place_of(name).kind))
        yield LegendEntry(PARTS, (places[name],), patch)
