"""A panel: what one pair of axes of a picture shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commlens.model import Group
from commlens.model.levels import kind_of
from commlens.render.plots.heading import Heading
from commlens.render.plots.style import PANEL_INCHES, Series, Theme, line_style, shortened

LINES, CEILINGS, PUBLISHED, PARTS, REST, MARKS = range(6)  # the order of a legend


class LegendEntry(NamedTuple):
    """an entry of the legend below all panels: entries with the same label are one."""

    kind: int  # LINES to MARKS
    order: tuple[object, ...]  # within its kind; empty: as met
    handle: Artist

    @property
    def label(self) -> str:
        """The text beside the handle."""
        return str(self.handle.get_label())


class Panel(ABC):
    """Data goes in, axes are drawn. The layout asks for sizes in inches before it draws."""

    is_needed = True  # False: it is left out where another panel shows all of its group
    is_wide = False  # it takes a whole row
    column: int | None = None  # its place in a row of panels of its group
    usual_lines = 2  # lines of details for which its height has room
    stretch_alone = 1.0  # times the usual width, where it is the only one of a picture

    @property
    def only_group(self) -> Group | None:
        """The group that it shows; None: it shows several at once."""
        return None

    @property
    def shared(self) -> Hashable:
        """Panels with the same value have the same axes; None: axes of its own."""
        return None

    @property
    @abstractmethod
    def heading(self) -> Heading:
        """The title above it, and the small lines under the title."""

    @property
    def height(self) -> float:
        """The height with everything but lines of the heading beyond the usual."""
        return PANEL_INCHES[1]

    @property
    def axes_height(self) -> float | None:
        """The height of the axes in proportion to those of other rows; None: as the heights."""
        return None

    @property
    def label_width(self) -> float:
        """The width of what stands left of the axes."""
        return 0.75

    @property
    def legend(self) -> Iterable[LegendEntry]:
        """What the legend below all panels names."""
        return ()

    @abstractmethod
    def draw(self, axes: Axes, width: float) -> None:
        """Draws into axes of about this width."""

    def shows(self, group: Group) -> bool:
        """Whether it shows all that the group's curves or bars would, which are then left out."""
        return False


def line_entries(series: Iterable[Series]) -> Iterable[LegendEntry]:
    """The entries of lines."""
    for own in series:
        yield LegendEntry(LINES, own.order, Line2D([], [], label=own.label, **line_style(own)))


def part_entries(names: Iterable[str], theme: Theme) -> Iterable[LegendEntry]:
    """The entries of parts, in the order of their colors: one for all levels that have a kind."""
    places = {name: place for place, name in enumerate(theme.part_colors)}
    for name in names:
        patch = Patch(color=theme.part_colors[name], label=shortened(kind_of(name)))
        yield LegendEntry(PARTS, (places[name],), patch)
