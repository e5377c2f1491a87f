"""The main metric of a group: a curve per series over the sizes of a sweep, else a bar.

Ceilings are dashed. Where there are many kinds of memory, those of a group stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.axes import Axes

from commlens.base.text import labelled, memory_name
from commlens.compare.references import Beside, lines_of
from commlens.model import Group, Metric, Record
from commlens.render.plots.bars import BarLine, Bars, bars_of_records
from commlens.render.plots.content import CeilingLine, Content, difference
from commlens.render.plots.lines import in_order
from commlens.render.plots.panel import LegendEntry, Panel, line_entries
from commlens.render.plots.style import Series
from commlens.render.plots.ticks import is_in_bytes, set_metric_axis, set_size_axis

ORDER = 0


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each group, or for each memory of a sweep."""
    for group in content.groups:
        if not group.is_sweep:
            yield _Shown(content, group).bars()
        elif not content.memories:
            yield _Shown(content, group).curves()
        elif len(group.memories) == 1:
            yield _Shown(content, group, group.memories[0]).curves()
        else:
            for column, memory in enumerate(content.memories):
                if memory in group.memories:
                    yield _Shown(content, group, memory).curves(column)


@dataclass(frozen=True)
class _Shown:
    """What a panel shows of a group."""

    content: Content
    group: Group
    memory: str = ""  # the only one that it shows; empty: all

    @cached_property
    def metric(self) -> Metric:
        main = self.group.main
        assert main is not None, "only what was measured is drawn"
        return main

    @cached_property
    def lines(self) -> dict[Series, list[Record]]:
        """The records of each line or bar; a memory is not named where the title has it."""
        lines: dict[Series, list[Record]] = {}
        for record in self._records:
            series = self.content.series_of(self.group, record, "" if self.memory else None)
            lines.setdefault(series, []).append(record)
        return in_order(lines)

    @property
    def _records(self) -> list[Record]:
        return [record for record in self.group.records if self.memory in ("", record.memory)]

    @cached_property
    def ceilings(self) -> Sequence[CeilingLine]:
        return self.content.ceilings(self._records, self.metric)

    @cached_property
    def published(self) -> Sequence[Beside]:
        return self.content.published(self.group, self.memory)

    @property
    def legend(self) -> list[LegendEntry]:
        entries = self.content.ceiling_entries(self.ceilings)
        return entries + self.content.published_entries(self.published)

    @property
    def heading(self) -> tuple[str, str]:
        """The benchmark with its size and memory; what sets the group apart from others."""
        group, size = self.group, ""
        if group.sizes and not group.is_sweep:
            size = (" of " if is_in_bytes(group) else ", ") + group.describe_size(group.sizes[0])
        memory = f", {memory_name(self.memory)}" if self.memory else ""
        is_first = self.memory in ("", group.memories[0])
        return f"{group.benchmark}{size}{memory}", difference(group, self.content.groups) * is_first

    def bars(self) -> Panel:
        """What was published stands at the bar of its record."""
        title, details = self.heading
        bars = {series: line[0] for series, line in self.lines.items()}
        places = {id(record): position for position, record in enumerate(bars.values())}
        marks = [
            BarLine(self.content.published_style(pair.published), pair.published.value, place)
            for pair in self.published
            if (place := places.get(id(pair.record))) is not None
        ]
        ceilings = [
            BarLine(self.content.ceiling_style(line), line.points[0][1]) for line in self.ceilings
        ]
        drawn = bars_of_records(self.metric, bars, [self.group])
        return Bars(self.metric.label, self.metric.unit, drawn, [*ceilings, *marks]).panel(
            title, details, group=self.group, is_replaceable=True, legend=self.legend
        )

    def curves(self, column: int | None = None) -> Panel:
        """A panel of a sweep."""
        title, details = self.heading
        legend = [*line_entries(self.lines), *self.legend]
        more: dict[str, Any] = {"group": self.group, "is_replaceable": True, "column": column}
        return Panel(title, self._draw_curves, details, legend, **more)

    def _draw_curves(self, axes: Axes, width: float) -> None:
        """With the interval or the range of launches around each."""
        self._draw_published(axes)
        for ceiling in self.ceilings:
            axes.plot(*zip(*ceiling.points), zorder=1.5, **self.content.ceiling_style(ceiling))
        for series, line in self.lines.items():
            sized = [record for record in line if record.size is not None]
            sizes = [record.size or 0 for record in sized]
            statistics = [record.statistics[self.metric.name] for record in sized]
            low, high = zip(*(entry.drawn for entry in statistics))
            shade: dict[str, Any] = {"color": series.color, "alpha": 0.3, "linewidth": 0}
            axes.fill_between(sizes, low, high, zorder=2, **shade)
            medians = [entry.median for entry in statistics]
            axes.plot(sizes, medians, zorder=3, label=series.label, **series.style)
        axes.grid(True, which="major")
        group = self.group
        set_size_axis(axes, group.sizes, group.size_name, is_in_bytes(group), group.format_size)
        set_metric_axis(axes)
        axes.set_ylabel(labelled(self.metric.label, self.metric.unit))

    def _draw_published(self, axes: Axes) -> None:
        """Markers have the color of their transport."""
        transports, axis = self.content.transports, self.group.size_parameter
        for pairs in lines_of(self.published).values():
            figure = pairs[0].published
            style = self.content.published_style(figure)
            if figure.transport in transports:
                color, _ = transports[figure.transport]
                style.update(markerfacecolor=color, markeredgecolor=color)
            # At its size, or at that of the record where the axis has another quantity.
            points: dict[float, float] = {}
            for pair in pairs:
                is_of_axis = axis is not None and axis.name == pair.published.size_name
                size = pair.published.size if is_of_axis else pair.record.size
                points[size or 0] = pair.published.value
            axes.plot(*zip(*sorted(points.items())), zorder=1.6, **style)
