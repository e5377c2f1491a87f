"""Ticks of axes: few, at round values, and in few characters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from commlens.base.text import format_short
from commlens.model import Group
from commlens.model.record import BYTES
from commlens.render.plots.style import WIDEST

_MAX_TICKS = 8
_CHARACTERS_OF_TICKS = 26  # of all labels
# Ticks within each power of ten, by the ratio of the axis' end to its beginning.
_TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (2, ()),  # can contain none of them
    (5, (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)),
    (30, (1, 2, 5)),
    (math.inf, (1,)),
)


def set_ticks(axis: Any, locator: Locator | None, text: Callable[[float], str]) -> None:
    """Puts ticks on the x axis or the y axis; only major ones have a text."""
    if locator is not None:
        axis.set_major_locator(locator)
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_formatter(NullFormatter())


def powers(*subs: float, most: int = 9) -> LogLocator:
    """At these multiples of powers of ten."""
    return LogLocator(base=10, subs=subs or (1,), numticks=most)


def is_in_bytes(group: Group) -> bool:
    """Whether the sizes of the group are bytes."""
    return group.size_parameter is not None and group.size_parameter.unit == BYTES


def set_size_axis(
    axes: Axes, sizes: Sequence[int], title: str, in_bytes: bool, text: Callable[[float], str]
) -> None:
    """The x axis of a sweep: powers of two for bytes, else some of the sizes."""
    axes.set_xlabel(title)
    locator: Locator = MaxNLocator(integer=True)
    if min(sizes) > 0:
        axes.set_xscale("log", base=2)
        locator = FixedLocator(_ticks_in_bytes(sizes) if in_bytes else _some_sizes(sizes, text))
    set_ticks(axes.xaxis, locator, lambda size: text(round(size)))
    axes.xaxis.set_minor_locator(NullLocator())


def set_metric_axis(axes: Axes) -> None:
    """A logarithmic y axis."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high > WIDEST * low:  # of a few odd values; the others would be a line
        low = high / WIDEST
        axes.set_ylim(low, high)
    span = high / low
    subs = next(subs for limit, subs in _TICKS if span < limit)
    set_ticks(axes.yaxis, powers(*subs, most=12) if subs else MaxNLocator(nbins=6), format_short)
    if span < 5:
        axes.yaxis.set_minor_locator(NullLocator())


def _ticks_in_bytes(sizes: Sequence[int]) -> list[float]:
    """Powers of two over the sizes, a whole power of two apart: at most eight."""
    first, last = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = next(step for step in (1, 2, 5, 10, 20) if (last - first) / step < _MAX_TICKS)
    start = math.ceil(first / step) * step if step in (5, 10, 20) else first
    return [2.0**power for power in range(start, last + 1, step)]


def _some_sizes(sizes: Sequence[int], text: Callable[[float], str]) -> list[float]:
    """Those sizes whose labels do not overlap on a logarithmic axis."""
    longest = max(len(text(size)) for size in sizes)
    room = (sizes[-1] / sizes[0]) ** (1 / max(1, _CHARACTERS_OF_TICKS // longest))
    chosen: list[float] = []
    for size in sizes:
        if not chosen or size / chosen[-1] >= room:
            chosen.append(size)
    return chosen
