"""The history of cases as a picture: each launch, the baseline and the newest change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib import dates as matplotlib_dates
from matplotlib.axes import Axes

from commlens.base.errors import CommlensError
from commlens.base.text import labelled, plural, printable
from commlens.compare.history.series import LaunchPoint
from commlens.compare.history.trends import Trend
from commlens.model.comparison import Verdict
from commlens.render.history import sentence, summary
from commlens.render.plots import Drawn, check_picture, saved, styled
from commlens.render.plots.colors import QUIET_COLOR, TEXT_COLOR
from commlens.render.plots.comparison import COLORS
from commlens.render.plots.head import Head
from commlens.render.plots.layout import Layout, arranged
from commlens.render.plots.panel import Panel
from commlens.render.plots.style import shortened

_PANEL_INCHES = 5.0
_MOST_PANELS = 12
_HEIGHT = 2.6
_MARKER = 3.5
_DATES: Any = matplotlib_dates  # parts of it have no types


def plot_history(trends: Sequence[Trend], out: Path) -> Drawn:
    """Draws the cases: of many the first of those that have changed, then of the others.

    Raises CommlensError if there is nothing to draw or the file cannot be written.
    """
    check_picture(out)
    drawable = [trend for trend in trends if any(_times(trend.series.measured))]
    if not drawable:
        raise CommlensError("nothing to draw: no launch has a median above 0 and a time")
    order = (Verdict.SLOWER, Verdict.FASTER)
    drawable.sort(key=lambda trend: order.index(trend.verdict) if trend.verdict in order else 2)
    shown, left_out = drawable[:_MOST_PANELS], []
    if len(shown) < len(drawable):
        left_out.append(
            f"drawn: {len(shown)} of {plural(len(drawable), 'case')}, those that have changed first"
        )
    panels = [_panel(trend) for trend in shown]
    columns = 2 if len(panels) > 1 else 1
    machines = list(dict.fromkeys(trend.series.machine for trend in shown))
    head = Head.of_texts([printable(name) for name in machines[:3]], [summary(trends)], 10)
    with styled():
        saved(Layout(arranged(panels, columns), columns, _PANEL_INCHES, head).draw(), out)
    return Drawn([out], left_out)


def _panel(trend: Trend) -> Panel:
    name = shortened(printable(trend.series.name))
    about = sentence(trend) if trend.since else trend.word
    return Panel(name, partial(_draw, trend), printable(about), height=_HEIGHT)


def _times(points: Sequence[LaunchPoint]) -> list[float]:
    """As matplotlib counts them; of a text that is no time, what the one before has."""
    times: list[float] = []
    for point in points:
        try:
            moment = datetime.fromisoformat(point.time.replace("Z", "+00:00"))
        except ValueError:
            times.append(times[-1] if times else 0.0)
        else:
            utc = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
            times.append(float(_DATES.date2num(utc)))
    return times


def _draw(trend: Trend, axes: Axes, width: float) -> None:
    series = trend.series
    for points, filled in (
        ([point for point in series.measured if not point.busy], True),
        ([point for point in series.measured if point.busy], False),
    ):
        axes.plot(
            _times(points),
            [point.median or 0 for point in points],
            "o",
            color=COLORS[Verdict.SAME] if filled else QUIET_COLOR,
            fillstyle="full" if filled else "none",
            markersize=_MARKER,
        )
    if trend.baseline and trend.middle is not None:
        times = _times(trend.baseline)
        ends = times[0], times[-1]
        axes.plot(ends, [trend.middle] * 2, color=TEXT_COLOR, linewidth=1)
        if trend.interval:
            axes.fill_between(ends, *trend.interval, color=TEXT_COLOR, alpha=0.15, linewidth=0)
    if trend.since:
        before, after = _times([trend.baseline[-1], trend.newest[0]])
        axes.axvline((before + after) / 2, color=COLORS[trend.verdict], linewidth=1.2)
    locator = _DATES.AutoDateLocator(maxticks=5)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator))
    axes.set_ylabel(labelled(printable(series.metric.label), series.metric.unit))
    axes.margins(y=0.15)
