"""Lines, markers and sizes.

A transport, a part and a ceiling look the same in all pictures (colors.yaml): a ceiling is a dashed
gray line. The shade of a transport's color is of a variant, the filling of markers of a memory.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from matplotlib.colors import to_rgb

from commlens.base.text import memory_name

WIDEST = 1e15  # end over beginning of a logarithmic axis

PANEL_INCHES = (5.4, 3.5)
MARGIN_INCHES = 0.14
NARROW_PANEL_INCHES = 4.1
_MOST_LABEL_INCHES = 0.62 * PANEL_INCHES[0]
_MOST_LETTERS = 72  # of a label
BAR_INCHES = 0.34
LETTER_INCHES = 0.072
SMALL_LETTER_INCHES = 0.061

_FILLINGS = {"": "full", "device": "full", "host": "full", "pinned": "top", "managed": "left"}
_SHADES = 4
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_VARIANT_DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 1.2)))


def shortened(label: str) -> str:
    """Without the middle of a label that leaves no room for what it names."""
    half = _MOST_LETTERS // 2
    return label if len(label) <= _MOST_LETTERS else f"{label[: half - 1]} … {label[2 - half :]}"


def wrapped(text: str, characters: int) -> list[str]:
    """The text in lines that end at commas if possible, else at spaces."""
    characters, space = max(8, characters), "\N{NO-BREAK SPACE}"
    at_commas = all(len(piece) <= characters for piece in re.split(r"(?<=[,;]) ", text))
    breakable = re.sub(r"(?<![,;]) ", space, text) if at_commas else text
    lines = textwrap.wrap(breakable, characters, break_on_hyphens=False)
    return [line.replace(space, " ") for line in lines]


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
    look: tuple[str, str] = field(compare=False)  # color and marker of the transport
    place: int = field(compare=False)  # of the transport among those of the picture
    shades: dict[str, int] = field(compare=False, repr=False)  # numbers of variants
    memory: str = ""  # empty where the panel, or the picture, has only one
    variant: str = ""
    variant_number: int = field(default=0, compare=False)  # among those of its panel

    @property
    def label(self) -> str:
        """The name in legends and at bars."""
        words = (self.transport, memory_name(self.memory), self.variant)
        return shortened(", ".join(filter(None, words)))

    @property
    def order(self) -> tuple[object, ...]:
        """The place among the series of a picture."""
        return self.place, self.memory, self.variant_number

    @property
    def color(self) -> tuple[float, ...]:
        """The transport's; each further variant is paler, until the dashes of its line differ."""
        white = 1 - 0.62 ** (self._shade % _SHADES)
        return tuple(channel + (1 - channel) * white for channel in to_rgb(self.look[0]))

    @property
    def is_open(self) -> bool:
        """Whether markers and bars are not filled: those of host memory."""
        return self.memory == "host"

    @property
    def _shade(self) -> int:
        return self.shades.setdefault(self.variant, len(self.shades))

    @property
    def style(self) -> dict[str, Any]:
        """What Matplotlib draws the line with; markers are filled by memory."""
        dashes = self._shade // _SHADES % len(_VARIANT_DASHES)
        style: dict[str, Any] = {
            "color": self.color,
            "linestyle": _VARIANT_DASHES[dashes],
            "linewidth": 1.7,
            "marker": self.look[1],
            "markersize": 4.6,
            "markeredgewidth": 1.2,
            "fillstyle": _FILLINGS.get(self.memory, "right"),
            "markerfacecoloralt": "white",
        }
        if self.is_open:  # an open marker without a face would show the line
            style["markerfacecolor"] = "white"
        return style
