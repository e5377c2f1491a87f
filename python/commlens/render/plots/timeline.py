"""One operation step by step: a lane per stream, a box per step in the color of its part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_number, labelled, readable_time
from commlens.model import Record, Span, Timeline
from commlens.model.levels import Iteration, has_levels, middle_iteration, place_of
from commlens.model.scaling import scalings
from commlens.render.plots.colors import color_of_text_on
from commlens.render.plots.content import Content, Operation, end_of_scale
from commlens.render.plots.heading import Heading
from commlens.render.plots.panel import LegendEntry, Panel, part_entries
from commlens.render.plots.style import SMALL_LETTER_INCHES, Theme, label_inches, shortened
from commlens.render.plots.ticks import set_ticks

_MAX_RANKS = 4
_LANE_INCHES = 0.25
_HEAD_INCHES, _FOOT_INCHES = 0.37, 0.41
_THICKNESS = 0.8  # of a box, where a lane is 1
_GAP_OF_RANKS = 0.35
_NUMBER_POINTS = 6.5
_DIGIT_POINTS = 0.64 * _NUMBER_POINTS
_SEPARATED_FROM_POINTS = 4  # a narrower box has edges of its own color instead of white ones
# Narrower boxes of several parts overlap: each part's are shorter than those of the part before.
_HAIR_POINTS = 1.5
_SHORTENED = 0.6
_MOST_SHORTENED = 2  # times


@dataclass(frozen=True)
class TimelinePanel(Panel):
    """The steps of an operation, by rank and stream."""

    usual_lines = 0

    operation: Operation
    timeline: Timeline
    theme: Theme
    end_s: float  # of the time axis
    has_own_scale: bool

    @property
    def ranks(self) -> list[int]:
        """Those that are shown."""
        return self._all_ranks[:_MAX_RANKS]

    @property
    def _all_ranks(self) -> list[int]:
        return sorted({span.rank for span in self.timeline.spans})

    @property
    def lanes(self) -> list[tuple[int, str]]:
        """Rank and stream from the top, the streams of a rank in the order of its parts."""
        spans, parts = self.timeline.spans, self.operation.record.parts
        streams = dict.fromkeys([own.stream for own in parts] + [own.stream for own in spans])
        used = {(span.rank, span.stream) for span in spans}
        return [
            (rank, stream) for rank in self.ranks for stream in streams if (rank, stream) in used
        ]

    @property
    def axes_height(self) -> float:
        """All lanes are as high as each other."""
        gaps = _GAP_OF_RANKS * (len(self.ranks) - 1)
        return _LANE_INCHES * (len(self.lanes) + gaps + 0.3)

    @property
    def height(self) -> float:
        """The lanes, the heading and the axis."""
        return self.axes_height + _HEAD_INCHES + _FOOT_INCHES

    @property
    def label_width(self) -> float:
        """Of ranks and streams."""
        return 0.5 + label_inches(self._labels, SMALL_LETTER_INCHES)

    @property
    def legend(self) -> Iterable[LegendEntry]:
        """The parts that it shows."""
        return part_entries({span.part for span in self.timeline.spans}, self.theme)

    @property
    def heading(self) -> Heading:
        """The time of the operation that was recorded, and the median of all."""
        unit, factor = readable_time("s", self.end_s)
        time = f"{format_number(factor * self.timeline.time_s)} {unit}"
        words = [self.operation.difference, "one operation, its steps numbered"]
        if median_s := self.operation.record.together_s:
            words[-1] += f" (median of the samples: {format_number(factor * median_s)} {unit})"
        words += self._restrictions
        return Heading(f"{self.operation.name}: {time}", "; ".join(filter(None, words)))

    @property
    def _restrictions(self) -> list[str]:
        words = []
        if len(self._all_ranks) > _MAX_RANKS:
            words.append(f"the first {_MAX_RANKS} of {len(self._all_ranks)} ranks")
        if self.has_own_scale:
            words.append("a time axis of its own")
        return words

    def draw(self, axes: Axes, width: float) -> None:
        """Boxes in the colors of their parts."""
        unit, factor = readable_time("s", self.end_s)
        first = min(0.0, *(span.start_s for span in self._shown))
        self._draw_spans(axes, factor, 72 * width / (self.end_s - first))
        positions = self._positions()
        axes.set_yticks(list(positions.values()), self._labels)
        axes.set_ylim(max(positions.values()) + 0.65, -0.65)
        axes.set_xlim(factor * first, factor * self.end_s * 1.005)
        axes.tick_params(axis="y", length=0, labelsize=8.5)
        axes.spines["left"].set_visible(False)
        set_ticks(axes.xaxis, MaxNLocator(nbins=10), lambda value: f"{value:,g}")
        axes.grid(True, axis="x")
        axes.set_xlabel(labelled("time", unit))

    @property
    def _shown(self) -> list[Span]:
        return [span for span in self.timeline.spans if span.rank in self.ranks]

    @property
    def _labels(self) -> list[str]:
        """The rank at the first of its lanes alone."""
        before = [None, *(rank for rank, _ in self.lanes)]
        return [
            shortened(stream if rank == above else f"rank {rank}   {stream}")
            for (rank, stream), above in zip(self.lanes, before)
        ]

    def _positions(self) -> dict[tuple[int, str], float]:
        """The middle of each lane, with a gap between ranks."""
        ranks = self.ranks
        return {
            lane: index + _GAP_OF_RANKS * ranks.index(lane[0])
            for index, lane in enumerate(self.lanes)
        }

    def _draw_spans(self, axes: Axes, factor: float, points_per_second: float) -> None:
        positions = self._positions()
        boxes: dict[_Look, list[tuple[float, float]]] = {}
        for span in self._shown:
            position, color = positions[span.rank, span.stream], self.theme.part_colors[span.part]
            seconds = max(0.0, span.end_s - span.start_s)
            points = seconds * points_per_second
            left, width = factor * span.start_s, factor * seconds
            look = _Look(
                position, self._thickness(span, points), color, points >= _SEPARATED_FROM_POINTS
            )
            boxes.setdefault(look, []).append((left, width))
            number = str(span.step)
            if points >= _DIGIT_POINTS * len(number) + 2:
                _write_step(axes, left + width / 2, position, number, color_of_text_on(color))
        for look, own in sorted(boxes.items(), key=lambda item: -item[0].thickness):
            axes.broken_barh(
                own, (look.position - look.thickness / 2, look.thickness), **look.style
            )

    def _thickness(self, span: Span, points: float) -> float:
        if points >= _HAIR_POINTS:
            return _THICKNESS
        names = self._parts_of(span.stream)
        before = names.index(span.part) if span.part in names else 0
        return _THICKNESS * _SHORTENED ** min(before, _MOST_SHORTENED)

    def _parts_of(self, stream: str) -> list[str]:
        return [part.name for part in self.operation.record.parts if part.stream == stream]


class _Look(NamedTuple):
    """What boxes have in common that are drawn at once."""

    position: float
    thickness: float
    color: str
    is_wide: bool

    @property
    def style(self) -> dict[str, Any]:
        edge, width = ("white", 0.5) if self.is_wide else (self.color, 0.8)
        return {"facecolors": self.color, "edgecolors": edge, "linewidth": width}


def _write_step(axes: Axes, middle: float, position: float, number: str, color: str) -> None:
    text = axes.text(middle, position, number, ha="center", va="center_baseline", color=color)
    text.set(fontsize=_NUMBER_POINTS, clip_on=True)
    text.set_in_layout(False)  # it lies within its box, and layout would take most of the time


@dataclass(frozen=True)
class IterationPanel(TimelinePanel):
    """One iteration of a multigrid solve: its lanes are the levels."""

    number: int
    of: int

    @property
    def heading(self) -> Heading:
        """Which of the iterations it is."""
        unit, factor = readable_time("s", self.end_s)
        time = f"{format_number(factor * self.timeline.time_s)} {unit}"
        words = [self.operation.difference, f"of {self.of} iterations: a V-cycle, then the solver"]
        words += self._restrictions
        title = f"{self.operation.name}, iteration {self.number}: {time}"
        return Heading(title, "; ".join(filter(None, words)))

    def _parts_of(self, stream: str) -> list[str]:
        """Of a level, the longest first."""
        parts = [one for one in self.operation.record.parts if place_of(one.name).level == stream]
        return [part.name for part in sorted(parts, key=lambda part: -part.time_s)]


def timelines(content: Content) -> list[Panel]:
    """A panel for each operation that has a timeline."""
    drawn = [(own, *_shown_of(own.record)) for own in _on_most_ranks(content.operations)]
    found = [(one, timeline, rest) for one, timeline, rest in drawn if timeline and timeline.spans]
    panels: list[Panel] = []
    for operation, timeline, iteration in found:
        ends = [_end(other) for rival, other, _ in found if rival.group is operation.group]
        end = end_of_scale(_end(timeline), ends)
        has_own_scale = len(ends) > 1 and end < max(ends)
        members = operation, timeline, content.theme, end, has_own_scale
        if iteration:
            panels.append(IterationPanel(*members, iteration.number, iteration.of))
        else:
            panels.append(TimelinePanel(*members))
    return panels


def _shown_of(record: Record) -> tuple[Timeline | None, Iteration | None]:
    """Of a multigrid solve, one iteration: its V-cycles are alike."""
    timeline = record.timeline
    iteration = middle_iteration(timeline) if timeline and has_levels(record) else None
    return (iteration.timeline if iteration else timeline), iteration


def _end(timeline: Timeline) -> float:
    return max(timeline.time_s, *(span.end_s for span in timeline.spans))


def _on_most_ranks(operations: Sequence[Operation]) -> list[Operation]:
    """Without timelines on fewer ranks of the same problem that look alike: of parts within."""
    fewer = {
        id(group)
        for found in scalings([operation.group for operation in operations])
        for group in found.groups
        if group.ranks < max(other.ranks for other in found.groups)
    }
    return [
        own for own in operations if not (own.record.has_parts_within and id(own.group) in fewer)
    ]
