"""What a picture shows: records in groups, and what looks the same in all of its panels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from commlens.base.text import memory_name, plural
from commlens.compare.references import Beside, PublishedValue, beside
from commlens.model import (
    TIME_METRIC,
    Ceiling,
    Group,
    Interval,
    Metric,
    Record,
    groups,
    merged_transports,
)
from commlens.model.levels import place_of
from commlens.render.plots.colors import CEILING_COLOR, PUBLISHED_COLOR, looks
from commlens.render.plots.panel import CEILINGS, PUBLISHED, LegendEntry, joined
from commlens.render.plots.style import Series, shortened

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

    @classmethod
    def of(cls, records: Sequence[Record]) -> Content:
        """Of all records, in their groups."""
        return cls(records, groups(records))

    @cached_property
    def transports(self) -> dict[str, tuple[str, str]]:
        """The color and the marker of each."""
        return looks("transports", merged_transports(self.records))

    @cached_property
    def part_colors(self) -> dict[str, str]:
        """By name; a kind of part has one color on all levels of a solve."""
        names: dict[str, None] = {}  # in the order in which parts are first met
        for record in self.records:
            spans = record.timeline.spans if record.timeline else []
            names |= dict.fromkeys(part.name for part in record.parts)
            names |= dict.fromkeys(span.part for span in spans)
        colors = looks("parts", (place_of(name).kind for name in names))
        return {name: colors[place_of(name).kind] for name in names}

    @cached_property
    def _has_memories(self) -> bool:
        """Several kinds of memory, which labels have to name."""
        return len({record.memory for record in self.records}) > 1

    @cached_property
    def _shades(self) -> dict[str, int]:
        return {}

    def number_shades(self, groups: Iterable[Group], handles: Iterable[Artist | Series]) -> None:
        """The variants of these groups come before those of lines over several groups, whichever
        are drawn first."""
        lines: list[Series] = []
        for group in groups:
            of_group = {self.series_of(group, record) for record in group.records}
            lines += sorted(of_group, key=lambda line: line.order)
        for line in [*lines, *handles]:
            if isinstance(line, Series):
                self._shades.setdefault(line.variant, len(self._shades))

    @cached_property
    def memories(self) -> list[str]:
        """The kinds of memory that have a column of panels each; empty if one panel holds all."""
        sweeps = [group for group in self.groups if group.is_sweep]
        memories = sorted({memory for group in sweeps for memory in group.memories})
        return memories if len(memories) > _MAX_MEMORIES_PER_PANEL else []

    def series(
        self, record: Record, memory: str | None = None, variant: str = "", number: int = 0
    ) -> Series:
        """The line or bar of a record; without `memory`, its own is named where there are several;
        `number` is that of the variant in its panel."""
        if memory is None:
            memory = record.memory if self._has_memories else ""
        name, place = record.transport, list(self.transports).index(record.transport)
        return Series(name, self.transports[name], place, self._shades, memory, variant, number)

    def series_of(self, group: Group, record: Record, memory: str | None = None) -> Series:
        """The line or bar of a record of a group, among others of the group."""
        label, number = group.label(record, dated=True), group.series_number(record)
        return self.series(record, memory, label, number)

    @cached_property
    def operations(self) -> list[Operation]:
        """The operations with parts, in order."""
        with_parts = [group for group in self.groups if any(row.parts for row in group.records)]
        return [
            Operation(group, record, self.series_of(group, record), difference(group, with_parts))
            for group in with_parts
            for record in group.at_best_size()
            if record.parts and record.together_s
        ]

    @cached_property
    def marks(self) -> dict[tuple[str, str], str]:
        """A marker for each ceiling of a part: by part and name."""
        records = [operation.record for operation in self.operations]
        within = [record for record in records if record.has_parts_within]
        ceilings = [ceiling for record in within for ceiling in record.valid_ceilings]
        keys = [(ceiling.part, ceiling.name) for ceiling in ceilings if ceiling.part]
        return looks("marks", keys, lambda key: key[1])

    # ---- ceilings ----

    def ceilings(self, records: Sequence[Record], metric: Metric) -> list[CeilingLine]:
        """By memory, the ceilings that are the tightest of any of the records."""
        used = ((record.memory, record.valid_ceiling) for record in records)
        tightest = {(memory, ceiling.name) for memory, ceiling in used if ceiling}
        lines: dict[tuple[str, str], tuple[Ceiling, dict[int, float]]] = {}
        for record in records:
            for ceiling in record.valid_ceilings:
                key = record.memory, ceiling.name
                if key in tightest and metric.name in ceiling.metrics:
                    _, points = lines.setdefault(key, (ceiling, {}))
                    points.setdefault(record.size or 0, ceiling.metrics[metric.name])
        names_memories = self._has_memories and not self.memories
        return [
            CeilingLine(memory if names_memories else "", ceiling, sorted(points.items()))
            for (memory, _), (ceiling, points) in lines.items()
        ]

    @cached_property
    def _dashes(self) -> dict[tuple[str, str], tuple[float, ...]]:
        keys = [
            (line.memory, line.ceiling.name)
            for group in self.groups
            if group.main
            for line in self.ceilings(group.records, group.main)
        ]
        return looks("dashes", keys, lambda key: key[1])

    def ceiling_style(self, line: CeilingLine) -> dict[str, Any]:
        """How the line of a ceiling looks."""
        return ceiling_style(self._dashes[line.memory, line.ceiling.name])

    def ceiling_entries(self, lines: Sequence[CeilingLine]) -> list[LegendEntry]:
        """The ceilings in the legend."""
        entries = []
        for line in lines:
            name, memory = line.ceiling.name, memory_name(line.memory)
            label = joined(f"ceiling: {name}", memory, separator=", ")
            entries.append(_entry(CEILINGS, label, self.ceiling_style(line)))
        return entries

    # ---- what others have published ----

    @cached_property
    def _published(self) -> dict[int, list[Beside]]:
        return {
            id(group): beside(group.records, group.main.name) for group in self.groups if group.main
        }

    @cached_property
    def _published_looks(self) -> dict[str, Any]:
        names = [pair.published.name for pairs in self._published.values() for pair in pairs]
        return looks("published", names)

    def published(self, group: Group, memory: str = "") -> list[Beside]:
        """What stands beside the records of a group, or of one memory of it."""
        return [pair for pair in self._published[id(group)] if memory in ("", pair.record.memory)]

    def published_style(self, figure: PublishedValue) -> dict[str, Any]:
        """How a published line looks."""
        marker, dashes = self._published_looks[figure.name]
        style = {"marker": marker, "markersize": 4.5, "markerfacecolor": "white"}
        return {**PUBLISHED_LINE, "linestyle": (0, dashes), **style}

    def published_entries(self, pairs: Sequence[Beside]) -> list[LegendEntry]:
        """The published lines in the legend."""
        return [
            _entry(PUBLISHED, f"published: {name}", self.published_style(figure))
            for name, figure in {pair.published.name: pair.published for pair in pairs}.items()
        ]


def _entry(kind: int, label: str, style: dict[str, Any]) -> LegendEntry:
    return LegendEntry(kind, (), Line2D([], [], label=shortened(label), **style))


def end_of_scale(end: float, ends: Sequence[float]) -> float:
    """The end of a time axis: the largest of all where one scale suits all, else its own."""
    return max(ends) if max(ends) <= _ONE_SCALE_UP_TO * min(ends) else end


def ceiling_style(dashes: tuple[float, ...]) -> dict[str, Any]:
    """A dashed gray line."""
    return {"color": CEILING_COLOR, "linestyle": (0, dashes), "linewidth": 1.3}


def differing(settings: Mapping[str, str], others: Sequence[Mapping[str, str]]) -> list[str]:
    """The settings that any of the others does not have alike: `order 7`."""
    return [
        f"{name} {value}"
        for name, value in settings.items()
        if any(other.get(name) != value for other in others)
    ]


def difference(group: Group, groups: Sequence[Group]) -> str:
    """What sets the group apart from others of its benchmark: `order 7, 2 ranks`.

    Derived parameters follow from the ranks, too: they are compared on as many. What one group
    derives may have been given for another.
    """
    others = [other for other in groups if other.benchmark == group.benchmark]
    same_ranks = [other for other in others if other.ranks == group.ranks]
    words = differing(group.settings, [other.settings for other in others])
    # A parameter that another one does not have at all is no difference.
    elsewhere = [{**group.derived, **other.derived, **other.settings} for other in same_ranks]
    words += differing(group.derived, elsewhere)
    if len(same_ranks) < len(others):
        words.append(plural(group.ranks, "rank"))
    if any(other.nodes != group.nodes for other in same_ranks):
        words.append(plural(group.nodes, "node"))
    if any(other.timing != group.timing for other in others):
        words.append(f"timing {group.timing}")
    if any(other.backend != group.backend for other in others):
        words.append(f"backend {group.backend}")
    return ", ".join(words)
