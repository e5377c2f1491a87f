"""What panels of a group's main metric have in common, as curves and as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from commlens.base.text import memory_name
from commlens.model import Group, Metric, Record
from commlens.render.plots.content import CeilingLine, Content
from commlens.render.plots.heading import Heading
from commlens.render.plots.panel import Panel
from commlens.render.plots.style import Series
from commlens.render.plots.ticks import is_in_bytes


@dataclass(frozen=True)
class MetricPanel(Panel):
    """The main metric of a group, in one kind of memory or in all."""

    content: Content
    group: Group
    memory: str = ""  # the only one that it shows; empty: all
    is_needed = False

    @property
    def only_group(self) -> Group:
        """The group."""
        return self.group

    @cached_property
    def records(self) -> list[Record]:
        """What it shows."""
        return [record for record in self.group.records if self.memory in ("", record.memory)]

    @property
    def metric(self) -> Metric:
        """The main metric."""
        main = self.group.main
        assert main is not None, "only what was measured is drawn"
        return main

    @cached_property
    def lines(self) -> dict[Series, list[Record]]:
        """The records of each line or bar, in order."""
        found: dict[Series, list[Record]] = {}
        for record in self.records:
            found.setdefault(self.series_of(record), []).append(record)
        return {series: found[series] for series in sorted(found, key=lambda own: own.order)}

    def series_of(self, record: Record) -> Series:
        """The line or bar of a record, whose memory is not named where the title has it."""
        return self.content.series_of(self.group, record, "" if self.memory else None)

    @property
    def ceilings(self) -> Sequence[CeilingLine]:
        """The ceilings that are drawn."""
        return self.content.ceilings(self.records, self.metric)

    @property
    def heading(self) -> Heading:
        """The benchmark with its size and memory; what sets the group apart from others."""
        group, size = self.group, ""
        if group.sizes and not group.is_sweep:
            size = (" of " if is_in_bytes(group) else ", ") + group.describe_size(group.sizes[0])
        memory = f", {memory_name(self.memory)}" if self.memory else ""
        is_first = self.memory in ("", group.memories[0])
        title = f"{group.benchmark}{size}{memory}"
        return Heading(title, self.content.difference(group) if is_first else "")
