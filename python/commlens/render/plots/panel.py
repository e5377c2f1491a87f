"""A panel: the part of a group that one pair of axes shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from matplotlib.lines import Line2D

from commlens.base.text import memory_name
from commlens.model import Ceiling, Group, Metric, Record
from commlens.model.record import BYTES
from commlens.render.plots.colors import CEILING_COLOR, looks
from commlens.render.plots.heading import Heading
from commlens.render.plots.style import (
    BAR_INCHES,
    PANEL_INCHES,
    Series,
    Theme,
    label_inches,
    shortened,
)


@dataclass(frozen=True)
class Panel:
    group: Group
    theme: Theme
    memory: str = ""  # the only one that it shows; empty: all
    is_first: bool = True  # of its group
    names_memories: bool = True  # of ceilings; panels of one memory each have it in their titles
    difference: str = ""  # of its group from others of the benchmark

    @property
    def records(self) -> list[Record]:
        return [record for record in self.group.records if self.memory in ("", record.memory)]

    @property
    def metric(self) -> Metric:
        main = self.group.main
        assert main is not None, "only what was measured is drawn"
        return main

    @property
    def series(self) -> list[Series]:
        found = {self.series_of(record) for record in self.records}
        return sorted(found, key=lambda series: series.order)

    @property
    def height(self) -> float:
        if self.group.is_sweep:
            return PANEL_INCHES[1]
        return max(1.9, 1.3 + BAR_INCHES * len(self.series))

    @property
    def label_width(self) -> float:
        """Of what stands left of the axes, in inches."""
        if self.group.is_sweep:
            return 0.75
        return 0.35 + label_inches(series.label for series in self.series)

    def series_of(self, record: Record) -> Series:
        return series_of(
            self.theme, self.group, record, "" if self.memory else self.theme.memory(record)
        )

    def records_of(self, series: Series) -> list[Record]:
        return self._by_series.get(series, [])

    @cached_property
    def _by_series(self) -> dict[Series, list[Record]]:
        """Each record is looked at once, however many there are of a series."""
        found: dict[Series, list[Record]] = {}
        for record in self.records:
            found.setdefault(self.series_of(record), []).append(record)
        return found

    def is_used(self, series: Series) -> bool:
        return self.group.is_used(self.records_of(series)[0])

    @property
    def heading(self) -> Heading:
        group = self.group
        size = ""
        if group.sizes and not group.is_sweep:
            size = (" of " if is_in_bytes(group) else ", ") + group.describe_size(group.sizes[0])
        memory = f", {memory_name(self.memory)}" if self.memory else ""
        title = f"{group.benchmark}{size}{memory}"
        return Heading(title, self.difference if self.is_first else "")


def is_in_bytes(group: Group) -> bool:
    return group.size_parameter is not None and group.size_parameter.unit == BYTES


def series_of(theme: Theme, group: Group, record: Record, memory: str) -> Series:
    return theme.series(record, memory, group.dated_label(record), group.series_number(record))


class CeilingStyles:
    """The dashes of each ceiling of a picture."""

    def __init__(self, panels: Iterable[Panel]) -> None:
        keys = [(own.memory, own.ceiling.name) for panel in panels for own in ceilings(panel)]
        self._dashes = looks("dashes", keys, lambda key: key[1])

    def line(self, memory: str, ceiling: Ceiling) -> tuple[int, tuple[float, ...]]:
        return 0, self._dashes[memory, ceiling.name]

    def handles(self) -> list[Line2D]:
        return [
            Line2D(
                [],
                [],
                color=CEILING_COLOR,
                linestyle=(0, dashes),
                linewidth=1.3,
                label=shortened(", ".join(filter(None, (f"ceiling: {name}", memory_name(memory))))),
            )
            for (memory, name), dashes in self._dashes.items()
        ]


class PanelCeiling(NamedTuple):
    memory: str  # empty where it needs no name
    ceiling: Ceiling
    points: list[tuple[int, float]]  # size, the metric at the ceiling


def ceilings(panel: Panel) -> list[PanelCeiling]:
    """By memory, those that are the tightest of any of the panel's records."""
    tightest = {(record.memory, record.ceiling.name) for record in panel.records if record.ceiling}
    found: dict[tuple[str, str], tuple[Ceiling, dict[int, float]]] = {}
    name = panel.metric.name
    names_memories = panel.names_memories and panel.theme.has_memories
    for record in panel.records:
        for ceiling in record.ceilings:
            if (record.memory, ceiling.name) in tightest and name in ceiling.metrics:
                _, points = found.setdefault((record.memory, ceiling.name), (ceiling, {}))
                points.setdefault(record.size or 0, ceiling.metrics[name])
    return [
        PanelCeiling(memory if names_memories else "", ceiling, sorted(points.items()))
        for (memory, _), (ceiling, points) in found.items()
    ]
