"""What a picture shows: records in groups, and what looks the same in all of its panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from matplotlib.lines import Line2D

from commlens.base.text import memory_name
from commlens.compare.references import Beside, Figure, beside
from commlens.model import TIME_METRIC, Ceiling, Group, Interval, Metric, Record
from commlens.render.plots.colors import CEILING_COLOR, PUBLISHED_COLOR, looks
from commlens.render.plots.lines import difference
from commlens.render.plots.panel import CEILINGS, PUBLISHED, LegendEntry, joined
from commlens.render.plots.style import Series, Theme, shortened

_MAX_MEMORIES_PER_PANEL = 2
# With a larger ratio of the slowest to the fastest, one scale would make the fast one invisible.
_ONE_SCALE_UP_TO = 4
PUBLISHED_LINE: dict[str, Any] = {
    "color": PUBLISHED_COLOR,
    "linewidth": 1.1,
    "linestyle": (0, (4, 2)),
}


class CeilingLine(NamedTuple):
    """A ceiling over the sizes of a group."""

    memory: str  # empty where it needs no name
    ceiling: Ceiling
    points: list[tuple[int, float]]  # size, the metric at the ceiling


@dataclass(frozen=True)
class Operation:
    """A record with parts, the best of its transport, memory and variant."""

    group: Group
    record: Record
    series: Series
    difference: str = ""  # of its group from others of the benchmark

    @property
    def name(self) -> str:
        """`pipeline over ccl, best block 732`"""
        size, group = self.record.size, self.group
        best = "best " if group.is_sweep else ""
        words = "" if size is None else f"{best}{group.size_name} {group.format_size(size)}"
        return ", ".join(filter(None, (f"{group.benchmark} over {self.series.label}", words)))

    @property
    def time(self) -> Interval:
        """In seconds."""
        return self.record.statistics[TIME_METRIC].scaled(1e-6)


@dataclass(frozen=True)
class Content:
    """Groups of records, and the looks that their panels share."""

    records: Sequence[Record]
    groups: Sequence[Group]

    @cached_property
    def theme(self) -> Theme:
        """The looks of transports, memories, variants and parts."""
        return Theme.of(self.records)

    @cached_property
    def memories(self) -> list[str]:
        """The kinds of memory that have a column of panels each; empty if one panel holds all."""
        sweeps = [group for group in self.groups if group.is_sweep]
        found = sorted({memory for group in sweeps for memory in group.memories})
        return found if len(found) > _MAX_MEMORIES_PER_PANEL else []

    def series_of(self, group: Group, record: Record, memory: str | None = None) -> Series:
        """The line or bar of a record; `memory` is named where it is not that of the theme."""
        label, number = group.label(record, dated=True), group.series_number(record)
        return self.theme.series(record, memory, label, number)

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations with parts, in order."""
        with_parts = [group for group in self.groups if any(one.parts for one in group.records)]
        return [
            Operation(group, record, self.series_of(group, record), difference(group, with_parts))
            for group in with_parts
            for record in group.at_best_size()
            if record.parts and record.together_s
        ]

    @cached_property
    def marks(self) -> dict[tuple[str, str], str]:
        """A marker for each ceiling of a part: by part and name."""
        within = [one.record for one in self.operations if one.record.has_parts_within]
        found = [ceiling for record in within for ceiling in record.ceilings]
        keys = [(own.part, own.name) for own in found if own.part]
        return looks("marks", keys, lambda key: key[1])

    # ---- ceilings ----

    def ceilings(self, records: Sequence[Record], metric: Metric) -> list[CeilingLine]:
        """By memory, the ceilings that are the tightest of any of the records."""
        tightest = {(one.memory, one.ceiling.name) for one in records if one.ceiling}
        found: dict[tuple[str, str], tuple[Ceiling, dict[int, float]]] = {}
        for record in records:
            for ceiling in record.ceilings:
                key = record.memory, ceiling.name
                if key in tightest and metric.name in ceiling.metrics:
                    _, points = found.setdefault(key, (ceiling, {}))
                    points.setdefault(record.size or 0, ceiling.metrics[metric.name])
        names_memories = self.theme.has_memories and not self.memories
        return [
            CeilingLine(memory if names_memories else "", ceiling, sorted(points.items()))
            for (memory, _), (ceiling, points) in found.items()
        ]

    @cached_property
    def _dashes(self) -> dict[tuple[str, str], tuple[float, ...]]:
        keys = [
            (own.memory, own.ceiling.name)
            for group in self.groups
            if group.main
            for own in self.ceilings(group.records, group.main)
        ]
        return looks("dashes", keys, lambda key: key[1])

    def ceiling_style(self, own: CeilingLine) -> dict[str, Any]:
        """How the line of a ceiling looks."""
        return ceiling_style(self._dashes[own.memory, own.ceiling.name])

    def ceiling_entries(self, found: Sequence[CeilingLine]) -> list[LegendEntry]:
        """The ceilings in the legend."""
        entries = []
        for own in found:
            label = joined(f"ceiling: {own.ceiling.name}", memory_name(own.memory), separator=", ")
            entries.append(_entry(CEILINGS, label, self.ceiling_style(own)))
        return entries

    # ---- what others have published ----

    @cached_property
    def _published(self) -> dict[int, list[Beside]]:
        return {
            id(group): beside(group.records, group.main.name) for group in self.groups if group.main
        }

    @cached_property
    def _published_looks(self) -> dict[str, Any]:
        names = [one.figure.name for found in self._published.values() for one in found]
        return looks("published", names)

    def published(self, group: Group, memory: str = "") -> list[Beside]:
        """What stands beside the records of a group, or of one memory of it."""
        return [one for one in self._published[id(group)] if memory in ("", one.record.memory)]

    def published_style(self, figure: Figure) -> dict[str, Any]:
        """How a published line looks."""
        marker, dashes = self._published_looks[figure.name]
        style = {"marker": marker, "markersize": 4.5, "markerfacecolor": "white"}
        return {**PUBLISHED_LINE, "linestyle": (0, dashes), **style}

    def published_entries(self, found: Sequence[Beside]) -> list[LegendEntry]:
        """The published lines in the legend."""
        return [
            _entry(PUBLISHED, f"published: {name}", self.published_style(one))
            for name, one in {one.figure.name: one.figure for one in found}.items()
        ]


def _entry(kind: int, label: str, style: dict[str, Any]) -> LegendEntry:
    return LegendEntry(kind, (), Line2D([], [], label=shortened(label), **style))


def end_of_scale(own: float, ends: Sequence[float]) -> float:
    """The end of a time axis: the largest of all where one scale suits all, else its own."""
    return max(ends) if max(ends) <= _ONE_SCALE_UP_TO * min(ends) else own


def ceiling_style(dashes: tuple[float, ...]) -> dict[str, Any]:
    """A dashed gray line."""
    return {"color": CEILING_COLOR, "linestyle": (0, dashes), "linewidth": 1.3}
