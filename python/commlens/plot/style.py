"""Colors, markers and titles.

A transport has one color and one marker in a picture, by its position among the transports that
its start declares. A part of an operation has one color, a ceiling is a dashed gray line, and the
memory kind shows in the filling of markers.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Union

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from commlens.records import Record, merged_transports
from commlens.text import memory_name

TEXT_COLOR = "#222222"
QUIET_COLOR = "#666666"
CEILING_COLOR = "#4D4D4D"
CEILING_DASHES = ((0, (5, 2.5)), (0, (2, 2)), (0, (7, 2, 1.5, 2)), (0, (9, 3)))

WIDEST = 1e15  # end over beginning of a logarithmic axis

PANEL_INCHES = (5.4, 3.5)
MARGIN_INCHES = 0.14
NARROW_PANEL_INCHES = 4.1
_MOST_LABEL_INCHES = 0.62 * PANEL_INCHES[0]
_MOST_LETTERS = 72  # of a label
BAR_INCHES = 0.34
LETTER_INCHES = 0.072
SMALL_LETTER_INCHES = 0.061
_TITLE_LETTER_INCHES = 0.092

# Okabe and Ito's palette is safe for all common color blindnesses.
_TRANSPORT_STYLES = (
    ("#0072B2", "o"),
    ("#D55E00", "s"),
    ("#009E73", "^"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)
_FILLINGS = {"": "full", "device": "full", "host": "none", "pinned": "top", "managed": "left"}
Dashes = Union[tuple[int, tuple[float, ...]], str]
_SHADES = 4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_VARIANT_DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)))
# Tol's muted palette, as safe, with dark, light and medium in turn: neighbors differ in gray too.
_PART_COLORS = (
    "#332288",
    "#DDCC77",
    "#CC6677",
    "#88CCEE",
    "#882255",
    "#999933",
    "#AA4499",
    "#44AA99",
)

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.labelsize": 9.5,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": TEXT_COLOR,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": TEXT_COLOR,
    "ytick.labelcolor": TEXT_COLOR,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "text.color": TEXT_COLOR,
    "text.parse_math": False,  # no name in a record is markup
    "text.usetex": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "pdf.fonttype": 42,  # text stays text, which journals require
}


def shortened(label: str) -> str:
    """Without the middle of a label that leaves no room for what it names."""
    half = _MOST_LETTERS // 2
    return label if len(label) <= _MOST_LETTERS else f"{label[: half - 1]} … {label[2 - half :]}"


def label_inches(labels: Iterable[str], letter_inches: float = LETTER_INCHES) -> float:
    """Room for the longest of the labels left of axes."""
    return min(_MOST_LABEL_INCHES, letter_inches * max(map(len, labels), default=0))


def power_of_ten(value: float) -> str:
    """`10⁻³`, of an axis whose ticks are such powers."""
    return "10" + str(round(math.log10(value))).translate(_SUPERSCRIPTS) if value > 0 else "0"


@dataclass(frozen=True)
class Series:
    """What one line, or one bar, shows."""

    transport: str
    position: int  # of the transport among all of the picture
    memory: str = ""  # empty where the panel has only one
    variant: str = ""
    variant_number: int = 0

    @property
    def label(self) -> str:
        words = (self.transport, memory_name(self.memory), self.variant)
        return shortened(", ".join(filter(None, words)))

    @property
    def order(self) -> tuple[object, ...]:
        return self.position, self.memory, self.variant_number

    @property
    def color(self) -> tuple[float, float, float]:
        """The transport's; each further variant is paler, until the dashes of its line differ."""
        red, green, blue = to_rgb(self._style[0])
        white = 1 - 0.62 ** (self.variant_number % _SHADES)
        return (red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white)

    @property
    def dark_color(self) -> tuple[float, float, float]:
        """Of the same hue, for text on white."""
        red, green, blue = to_rgb(self._style[0])
        return 0.8 * red, 0.8 * green, 0.8 * blue

    @property
    def dashes(self) -> Dashes:
        return _VARIANT_DASHES[self.variant_number // _SHADES % len(_VARIANT_DASHES)]

    @property
    def marker(self) -> str:
        return self._style[1]

    @property
    def filling(self) -> str:
        return _FILLINGS.get(self.memory, "right")

    @property
    def _style(self) -> tuple[str, str]:
        return _TRANSPORT_STYLES[self.position % len(_TRANSPORT_STYLES)]


@dataclass(frozen=True)
class Theme:
    """What looks the same in all panels of a picture."""

    transports: Sequence[str]
    part_colors: Mapping[str, str]

    @classmethod
    def of(cls, records: Sequence[Record]) -> Theme:
        return cls(merged_transports(records), _part_colors(records))

    def series(
        self, record: Record, memory: str = "", variant: str = "", variant_number: int = 0
    ) -> Series:
        position = self.transports.index(record.transport)
        return Series(record.transport, position, memory, variant, variant_number)


def _part_colors(records: Iterable[Record]) -> dict[str, str]:
    """By part, in the order in which the parts are first met."""
    names: dict[str, None] = {}
    for record in records:
        names |= dict.fromkeys(part.name for part in record.parts)
        spans = record.timeline.spans if record.timeline else []
        names |= dict.fromkeys(span.part for span in spans)
    return dict(zip(names, cycle(_PART_COLORS)))


def line_style(series: Series) -> dict[str, Any]:
    style: dict[str, Any] = {
        "color": series.color,
        "linestyle": series.dashes,
        "linewidth": 1.7,
        "marker": series.marker,
        "markersize": 4.6,
        "markeredgewidth": 1.2,
        "fillstyle": series.filling,
        "markerfacecoloralt": "white",
    }
    if series.filling == "none":  # an open marker without a face would show the line
        style.update(fillstyle="full", markerfacecolor="white")
    return style


def line_handle(series: Series) -> Line2D:
    return Line2D([], [], label=series.label, **line_style(series))


def color_of_text_on(color: str) -> str:
    """A color of text that is readable on it."""
    red, green, blue = to_rgb(color)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else TEXT_COLOR


@dataclass(frozen=True)
class Heading:
    """A bold title and small gray lines under it."""

    title: str
    details: str

    def lines(self, width: float) -> list[str]:
        """The details, cut after two lines of `width` inches."""
        letters = max(8, int(width / SMALL_LETTER_INCHES))
        return _wrapped(self.details, letters, max_lines=2, placeholder=" …")

    def write(self, axes: Axes, width: float, max_lines: int) -> None:
        """All titles of a row are at one height: above `max_lines` lines of details."""
        lines = self.lines(width)
        letters = max(8, int(width / _TITLE_LETTER_INCHES))
        title = _wrapped(self.title, letters, max_lines=4, placeholder=" …")
        axes.set_title("\n".join(title), loc="left", fontweight="bold", pad=9 + 11 * max_lines)
        text = axes.annotate(
            "\n".join(lines),
            (0, 1),
            (0, 7 + 11 * (max_lines - len(lines))),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=8,
            color=QUIET_COLOR,
        )
        text.set_in_layout(False)  # the title reserves the height; the width must not move the axes


def _wrapped(text: str, letters: int, **options: Any) -> list[str]:
    """The text in lines that end at commas if possible, else at spaces."""
    space = "\N{NO-BREAK SPACE}"
    at_commas = all(len(piece) <= letters for piece in re.split(r"(?<=[,;]) ", text))
    breakable = re.sub(r"(?<![,;]) ", space, text) if at_commas else text
    lines = textwrap.wrap(breakable, letters, break_on_hyphens=False, **options)
    return [line.replace(space, " ") for line in lines]
