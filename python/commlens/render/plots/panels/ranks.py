"""What the ranks of a replay did over its time: a row per rank, filled as far as they computed,
transferred and waited in each interval, and the critical path across the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_percent, format_time, labelled, readable_time
from commlens.model import Record
from commlens.render.plots.content import Content, Operation
from commlens.render.plots.panel import MARKS, LegendEntry, Panel, joined, part_entries
from commlens.render.plots.ticks import set_ticks

ORDER = 10
_PARTS = ("computation", "transfer", "waiting")
_SHARES = "{}_over_time"  # series: for each row and interval
_PATH = "critical_path_over_time"
_TIME, _PATH_TIME, _SAVED = "observed_s", "critical_path_s", "free_communication_saves"  # facts
_HEAD_INCHES, _ROWS_INCHES = 0.8, (1.6, 6.5)
_INCHES_PER_ROW = 0.3
_FILLED = 0.9  # of the height of a row
_PATH_STYLE: dict[str, Any] = {"color": "black", "linewidth": 1.4}


def panels(content: Content) -> Iterator[Panel]:
    """One for each replay of which the calls of all ranks were kept."""
    for operation in content.operations:
        if operation.record.series.get(_PATH):
            yield _panel(content, operation)


def _panel(content: Content, operation: Operation) -> Panel:
    record = operation.record
    least, most = _ROWS_INCHES
    height = min(max(least, _INCHES_PER_ROW * _rows(record)), most)
    path_s, saved = (float(record.facts[name]) for name in (_PATH_TIME, _SAVED))
    path = Line2D([], [], label="critical path", **_PATH_STYLE)
    return Panel(
        f"{operation.name}: ranks over time",
        partial(_draw, record, content.part_colors),
        joined(
            operation.difference,
            f"critical path {format_time(path_s)}",
            f"communication for free would save {format_percent(saved)}",
        ),
        [*part_entries(_PARTS, content.part_colors), LegendEntry(MARKS, (), path)],
        height=height + _HEAD_INCHES,
        is_wide=True,
        stretch_alone=1.6,
    )


def _rows(record: Record) -> int:
    """One per rank, or per several neighboring ones where there are many."""
    return len(record.series[_SHARES.format("waiting")]) // len(record.series[_PATH])


def _draw(record: Record, colors: Mapping[str, str], axes: Axes, width: float) -> None:
    time_s = float(record.facts[_TIME])
    unit, factor = readable_time("s", time_s)
    rows, intervals = _rows(record), len(record.series[_PATH])
    edges = np.linspace(0, factor * time_s, intervals + 1)
    computing = np.ones((rows, intervals))
    shares = {}
    for part in ("transfer", "waiting"):
        values = np.array(record.series[_SHARES.format(part)], dtype=float)
        shares[part] = values.reshape(rows, intervals)
        computing -= shares[part]
    shares = {_PARTS[0]: computing.clip(min=0), **shares}
    for row in range(rows):
        bottom = np.full(intervals, row + _FILLED / 2)  # rank 0 is at the top
        for part, values in shares.items():
            top = bottom - _FILLED * values[row]
            axes.stairs(top, edges, baseline=bottom, fill=True, color=colors[part], linewidth=0)
            bottom = top
    path = np.array(record.series[_PATH], dtype=float) * rows / record.ranks
    axes.plot((edges[:-1] + edges[1:]) / 2, np.floor(path), zorder=3, **_PATH_STYLE)
    axes.set_ylim(rows - 0.45, -0.55)
    axes.set_xlim(0, factor * time_s)
    per_row = record.ranks / rows
    set_ticks(
        axes.yaxis,
        MaxNLocator(nbins=min(rows, 16), integer=True),
        lambda row: f"{round(row * per_row)}" if 0 <= row < rows else "",
    )
    axes.grid(False)
    set_ticks(axes.xaxis, MaxNLocator(nbins=10), lambda value: f"{value:,g}")
    axes.set_xlabel(labelled("time", unit))
    axes.set_ylabel("rank")
