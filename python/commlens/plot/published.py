"""What others have published of a case (published.yaml), beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import msgspec
import yaml
from matplotlib.axes import Axes

from commlens.plot.colors import QUIET_COLOR
from commlens.records import Record, Value
from commlens.text import format_scientific

_TABLE = Path(__file__).with_name("published.yaml")
_POINTS = 7.0
_LINE_POINTS = 8.5  # from one note to the next


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    benchmark: str
    parameters: dict[str, Value]
    dof_per_rank: float
    unit: str
    source: str
    values: dict[str, float]


class Published(NamedTuple):
    name: str  # of a machine
    dof_per_rank: float
    throughput: float

    @property
    def note(self) -> str:
        return f"{self.name} {format_scientific(self.throughput)}"


@cache
def _table() -> list[_Entry]:
    return msgspec.convert(yaml.safe_load(_TABLE.read_text(encoding="utf-8")), list[_Entry])


def published(records: Sequence[Record], unit: str) -> list[Published]:
    """Of the case of these records, the lowest first. They are of GPUs: beside others, none."""
    found = [
        Published(name, entry.dof_per_rank, value)
        for entry in _table()
        if entry.unit == unit and any(_is_of(entry, record) for record in records)
        for name, value in entry.values.items()
    ]
    return sorted(found, key=lambda own: own.throughput)


def _is_of(entry: _Entry, record: Record) -> bool:
    return (
        record.benchmark == entry.benchmark
        and record.memory != "host"
        and bool(record.start.gpu)
        and all(record.parameters.get(name) == value for name, value in entry.parameters.items())
    )


def draw(axes: Axes, found: Sequence[Published], points_per_unit: float) -> None:
    """A dash each, and right of it its name, one above the other where they would overlap."""
    style: dict[str, Any] = {"color": QUIET_COLOR, "markersize": 9, "markeredgewidth": 1.6}
    heights = [points_per_unit * one.throughput for one in found]
    for one, height, place in zip(found, heights, _spread(heights)):
        axes.plot([one.dof_per_rank], [one.throughput], "_", zorder=3.5, **style)
        axes.annotate(
            one.note,
            (one.dof_per_rank, one.throughput),
            (8, place - height),
            textcoords="offset points",
            va="center",
            fontsize=_POINTS,
            color=QUIET_COLOR,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8},
            zorder=3.4,
        )


def _spread(heights: Sequence[float]) -> list[float]:
    """Rising heights, moved as little as possible so that there is room for a line at each."""
    groups: list[list[float]] = []  # of lines that touch: each less those below it
    for number, height in enumerate(heights):
        groups.append([height - number * _LINE_POINTS])
        while len(groups) > 1 and fmean(groups[-2]) >= fmean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    lowest = [fmean(group) for group in groups for _ in group]
    return [height + number * _LINE_POINTS for number, height in enumerate(lowest)]
