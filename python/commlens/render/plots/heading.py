"""Titles: bold lines, and small gray ones under them. They wrap, and nothing is cut."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from matplotlib.axes import Axes

from commlens.render.plots.colors import QUIET_COLOR
from commlens.render.plots.style import SMALL_LETTER_INCHES

_TITLE_LETTER_INCHES = 0.092
_TITLE_POINTS, _DETAIL_POINTS = 14, 11  # the height of a line


@dataclass(frozen=True)
class Heading:
    """The title of a panel and the details under it."""

    title: str
    details: str

    def title_lines(self, width: float) -> list[str]:
        """Of `width` inches."""
        return wrapped(self.title, int(width / _TITLE_LETTER_INCHES))

    def lines(self, width: float) -> list[str]:
        """The details."""
        return wrapped(self.details, int(width / SMALL_LETTER_INCHES))

    def extra_inches(self, width: float, usual: int) -> float:
        """The height of the lines beyond a line of the title and `usual` lines of details."""
        titles = max(0, len(self.title_lines(width)) - 1)
        details = max(0, len(self.lines(width)) - usual)
        return (_TITLE_POINTS * titles + _DETAIL_POINTS * details) / 72

    def write(self, axes: Axes, width: float, max_lines: int) -> None:
        """All titles of a row are at one height: above `max_lines` lines of details."""
        lines, title = self.lines(width), "\n".join(self.title_lines(width))
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


def wrapped(text: str, characters: int) -> list[str]:
    """The text in lines that end at commas if possible, else at spaces."""
    characters, space = max(8, characters), "\N{NO-BREAK SPACE}"
    at_commas = all(len(piece) <= characters for piece in re.split(r"(?<=[,;]) ", text))
    breakable = re.sub(r"(?<![,;]) ", space, text) if at_commas else text
    lines = textwrap.wrap(breakable, characters, break_on_hyphens=False)
    return [line.replace(space, " ") for line in lines]
