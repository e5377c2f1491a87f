"""Legends below a grid of panels or timelines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.figure import FigureBase

from commlens.render.plots.style import LETTER_INCHES, MARGIN_INCHES

_ROW_INCHES = 0.2
_LINE_INCHES = 0.65  # the piece of line before a label and the gap after it


def add_legend(figure: FigureBase, handles: Sequence[Artist], width: float) -> None:
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=_handles_per_row(handles, width),
            handlelength=2.6,
            columnspacing=1.6,
        )


def legend_height(handles: Sequence[Artist], width: float) -> float:
    """In inches."""
    if not handles:
        return 0
    rows = math.ceil(len(handles) / _handles_per_row(handles, width))
    return _ROW_INCHES * rows + 1.5 * MARGIN_INCHES


def _handles_per_row(handles: Sequence[Artist], width: float) -> int:
    """As many as fit, in rows of about the same length."""
    widths = [_LINE_INCHES + LETTER_INCHES * len(str(handle.get_label())) for handle in handles]
    room = width - 2 * MARGIN_INCHES
    if sum(widths) <= room:
        return max(1, len(handles))
    rows = math.ceil(len(handles) / max(1, int(room / max(widths))))
    return math.ceil(len(handles) / rows)
