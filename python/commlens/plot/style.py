"""What everything looks like: a transport has one colour and one marker in every picture, a part of an operation one
colour, and a ceiling is a dashed grey line. Memory shows in the marker's filling.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from commlens.records import Record, transport_order
from commlens.text import memory_name

TEXT_COLOUR = "#222222"
QUIET_COLOUR = "#666666"
CEILING_COLOUR = "#4D4D4D"
CEILING_DASHES = ((0, (5, 2.5)), (0, (2, 2)), (0, (7, 2, 1.5, 2)), (0, (9, 3)))

PANEL_INCHES = (5.4, 3.5)
NARROW_PANEL_INCHES = 4.1
BAR_INCHES = 0.34
LETTER_INCHES = 0.072
SMALL_LETTER_INCHES = 0.061
_TITLE_LETTER_INCHES = 0.092

# Okabe and Ito's palette, which people with any of the common colour blindnesses can tell apart.
_COLOURS = {"mpi": "#0072B2", "staged": "#D55E00", "ccl": "#009E73"}
_MARKERS = {"mpi": "o", "staged": "s", "ccl": "^"}
_OTHER_STYLES = (("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))
_FILLINGS = {"": "full", "device": "full", "host": "none", "pinned": "top", "managed": "left"}
Dashes = tuple[int, tuple[float, ...]] | str
_SHADES = 4
_VARIANT_DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)))
# Of Tol's muted palette, as safe: dark, light and middle in turns, so that neighbours differ without any colour.
_PART_COLOURS = ("#332288", "#DDCC77", "#CC6677", "#88CCEE", "#882255", "#999933", "#AA4499", "#44AA99")

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.labelsize": 9.5,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": TEXT_COLOUR,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": TEXT_COLOUR,
    "ytick.labelcolor": TEXT_COLOUR,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "text.color": TEXT_COLOUR,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "pdf.fonttype": 42,  # text stays text, which journals ask for
}


@dataclass(frozen=True)
class Series:
    """What one line, or one bar, shows."""

    transport: str
    memory: str  # empty where the panel has only one
    variant: str = ""
    variant_number: int = 0

    @property
    def label(self) -> str:
        return ", ".join(part for part in (self.transport, memory_name(self.memory), self.variant) if part)

    @property
    def colour(self) -> tuple[float, float, float]:
        """The transport's; each further variant is paler, until the dashes of its line say more."""
        red, green, blue = to_rgb(_COLOURS.get(self.transport) or _other_style(self.transport)[0])
        white = 1 - 0.62 ** (self.variant_number % _SHADES)
        return (red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white)

    @property
    def dark_colour(self) -> tuple[float, float, float]:
        """Of the same hue, for text on white."""
        red, green, blue = to_rgb(_COLOURS.get(self.transport) or _other_style(self.transport)[0])
        return 0.8 * red, 0.8 * green, 0.8 * blue

    @property
    def dashes(self) -> Dashes:
        return _VARIANT_DASHES[self.variant_number // _SHADES % len(_VARIANT_DASHES)]

    @property
    def marker(self) -> str:
        return _MARKERS.get(self.transport) or _other_style(self.transport)[1]

    @property
    def filling(self) -> str:
        return _FILLINGS.get(self.memory, "right")


def _other_style(transport: str) -> tuple[str, str]:
    return _OTHER_STYLES[sum(map(ord, transport)) % len(_OTHER_STYLES)]


def series_order(series: Series) -> tuple[object, ...]:
    return transport_order(series.transport), series.memory, series.variant_number


def line_style(series: Series) -> dict[str, Any]:
    style: dict[str, Any] = {
        "color": series.colour,
        "linestyle": series.dashes,
        "linewidth": 1.7,
        "marker": series.marker,
        "markersize": 4.6,
        "markeredgewidth": 1.2,
        "fillstyle": series.filling,
        "markerfacecoloralt": "white",
    }
    # Without a face of its own, the line would be seen through an open marker.
    return {**style, "fillstyle": "full", "markerfacecolor": "white"} if series.filling == "none" else style


def line_handle(series: Series) -> Line2D:
    return Line2D([], [], label=series.label, **line_style(series))


def part_colours(records: Iterable[Record]) -> Mapping[str, str]:
    """A colour for each part of the records, in the order in which the parts are first met."""
    names: dict[str, None] = {}
    for record in records:
        names |= dict.fromkeys(part.name for part in record.parts)
        names |= dict.fromkeys(span.part for span in (record.timeline.spans if record.timeline else []))
    return dict(zip(names, cycle(_PART_COLOURS), strict=False))


def colour_of_text_on(colour: str) -> str:
    """What can be read on the colour."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else TEXT_COLOUR


@dataclass(frozen=True)
class Heading:
    """A bold title and quiet lines under it."""

    title: str
    details: str

    def lines(self, width: float) -> list[str]:
        """The details, cut after two lines of `width` inches."""
        return _wrapped(self.details, int(width / SMALL_LETTER_INCHES), max_lines=2, placeholder=" …")

    def write(self, axes: Axes, width: float, most_lines: int) -> None:
        """`most_lines` of details are in the row, where all titles stand at the same height."""
        lines = self.lines(width)
        title = _wrapped(self.title, int(width / _TITLE_LETTER_INCHES))
        axes.set_title("\n".join(title), loc="left", fontweight="bold", pad=9 + 11 * most_lines)
        text = axes.annotate(
            "\n".join(lines),
            (0, 1),
            (0, 7 + 11 * (most_lines - len(lines))),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8,
            color=QUIET_COLOUR,
        )
        text.set_in_layout(False)  # the title has reserved the height, and the width is not to move the axes


def _wrapped(text: str, letters: int, **options: Any) -> list[str]:
    """The text in lines that end at commas, if they can, else at spaces."""
    space = "\N{NO-BREAK SPACE}"
    at_commas = all(len(piece) <= letters for piece in re.split(r"(?<=[,;]) ", text))
    breakable = re.sub(r"(?<![,;]) ", space, text) if at_commas else text
    lines = textwrap.wrap(breakable, letters, break_on_hyphens=False, **options)
    return [line.replace(space, " ") for line in lines]
