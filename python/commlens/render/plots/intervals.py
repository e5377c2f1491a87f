"""The intervals of bars. Axes follow the bars: an interval much longer than they are is cut, with
an arrow head where it is, and a line below the axis says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes

from commlens.model import Interval
from commlens.render.plots.colors import TEXT_COLOR

_MOST = 2.0  # times the longest bar or ceiling
_NOTE = "▶ interval is longer than drawn"
_ARROW: dict[str, Any] = {
    "linestyle": "none",
    "color": TEXT_COLOR,
    "markersize": 7,
    "clip_on": False,
}


def limit_of(values: Iterable[float]) -> float:
    """Where intervals are cut, on an axis that shows these bars, ceilings and the like."""
    return _MOST * max(values)


def end_of(bar: Interval, limit: float) -> float:
    """Of the bar and what is drawn of its interval."""
    return bar.median if bar.ci_high is None else min(bar.ci_high, limit)


def draw_interval(
    axes: Axes, position: int, bar: Interval, limit: float, has_halo: bool = False
) -> None:
    """From the left end of the axis, which must be set, to `limit`.

    A halo is a white edge, which makes it visible on a dark part.
    """
    if bar.ci_low is None or bar.ci_high is None:
        return
    left, right = _cuts(axes, bar, limit)
    ends = [max(bar.ci_low, axes.get_xlim()[0]), min(bar.ci_high, limit)]
    style: dict[str, Any] = {
        "marker": "|",
        "markevery": [end for end, is_cut in enumerate((left, right)) if not is_cut],
    }
    if has_halo:
        edge: dict[str, Any] = {"linewidth": 2.8, "markersize": 8, "markeredgewidth": 2.8}
        axes.plot(ends, [position] * 2, color="white", **edge, **style)
    axes.plot(ends, [position] * 2, color=TEXT_COLOR, linewidth=1.2, markersize=6, **style)
    for end, is_cut, arrow in zip(ends, (left, right), "<>"):
        if is_cut:
            axes.plot([end], [position], marker=arrow, **_ARROW)


def label_axis(axes: Axes, label: str, bars: Iterable[Interval], limit: float) -> None:
    """With a note where an interval of the bars is cut."""
    is_cut = any(any(_cuts(axes, bar, limit)) for bar in bars)
    axes.set_xlabel(f"{label}\n{_NOTE}" if is_cut else label)


def _cuts(axes: Axes, bar: Interval, limit: float) -> tuple[bool, bool]:
    """Whether its lower and its upper end are beyond what is drawn."""
    if bar.ci_low is None or bar.ci_high is None:
        return False, False
    return bar.ci_low < axes.get_xlim()[0], bar.ci_high > limit
