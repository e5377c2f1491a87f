"""A multigrid solve by level: a bar per level, the kinds of its parts in a row; and all levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from commlens.base.text import format_percent
from commlens.model import Interval
from commlens.model.levels import communication_s, kind_of, place_of, times_by_kind, times_by_level
from commlens.render.plots.colors import OTHER_COLOR
from commlens.render.plots.content import Content, Operation
from commlens.render.plots.heading import Heading
from commlens.render.plots.panels.shares import (
    BarOfShares,
    Segment,
    SharesPanel,
    grouped,
    share_shown,
)

ORDER = 1
_WHOLE = "all"


@dataclass(frozen=True)
class LevelsPanel(SharesPanel):
    """The shares of a solve, level by level from the finest."""

    @property
    def heading(self) -> Heading:
        """What sets the group apart, and what is not in the bars."""
        over = f" over {self.transport}" if self.transport else ""
        details = [
            self.operations[0].difference,
            "communication without that of the coarse solve" if self.only_group.ranks > 1 else "",
            *self.note_of_scale,
        ]
        title = f"{self.only_group.benchmark} by level{over}"
        return Heading(title, "; ".join(filter(None, details)))

    @property
    def rows(self) -> list[BarOfShares]:
        """All levels together, then each; the transports of a level next to each other."""
        found: dict[str, list[tuple[Operation, Mapping[str, float]]]] = {_WHOLE: []}
        for operation in self.operations:
            found[_WHOLE].append((operation, times_by_kind(operation.record)))
            for level, own in times_by_level(operation.record).items():
                found.setdefault(level, []).append((operation, own))
        rows = []
        for level, bars in found.items():
            for number, (operation, times) in enumerate(bars):
                name = operation.series.label
                label = name if number else f"{level}   {name}"
                label = label if len(self.operations) > 1 else level
                rows.append(self._row(level, operation, times, label))
        return rows

    def _row(
        self, level: str, operation: Operation, times: Mapping[str, float], label: str
    ) -> BarOfShares:
        record = operation.record
        shown, whole_s = share_shown(record), record.together_s or 0.0
        segments = list(self._kinds(level, operation, times))
        if level == _WHOLE:
            communication = communication_s(times) * shown / whole_s if whole_s else 0.0
            note = f"communication {format_percent(communication)}" if record.ranks > 1 else ""
            segments.append(Segment(OTHER_COLOR, record.other_s or 0))
            lines = [
                (line, own.time_s)
                for own in record.ceilings
                for line in self.ceilings
                if own.name == line.ceiling.name and own.part is None
            ]
            return BarOfShares(label, whole_s, segments, operation.time, note, lines, level)
        seconds = sum(times.values()) * shown
        note = format_percent(seconds / whole_s) if whole_s else ""
        return BarOfShares(
            label, whole_s, segments, Interval(seconds, None, None), note, level=level
        )

    def _kinds(
        self, level: str, operation: Operation, times: Mapping[str, float]
    ) -> Iterator[Segment]:
        """In the order in which all bars have them."""
        record, shown = operation.record, share_shown(operation.record)
        names = dict.fromkeys(part.name for one in self.records for part in one.parts)
        colors = {kind_of(name): self.content.theme.part_colors[name] for name in names}
        for kind, color in colors.items():
            marks = [
                (self.content.marks[own.part, own.name], own.time_s * shown)
                for own in record.ceilings
                if own.part and place_of(own.part) == (level, kind)
            ]
            if kind in times or marks:
                yield Segment(color, times.get(kind, 0.0) * shown, marks)


def panels(content: Content) -> Iterator[LevelsPanel]:
    """A panel for each group whose operations all have parts that name levels."""
    for transport, operations in grouped(content, by_level=True):
        yield LevelsPanel(content, operations, transport)
