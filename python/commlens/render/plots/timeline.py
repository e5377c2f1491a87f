"""One operation step by step: a lane per stream, a box per step in the color of its part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_number, labelled, readable_time
from commlens.model.levels import Iteration, has_levels, middle_iteration, place_of
from commlens.model.results import Span, Timeline
from commlens.model.scaling import scalings
from commlens.render.plots.colors import color_of_text_on
from commlens.render.plots.content import Content, Operation, end_of_scale
from commlens.render.plots.panel import Panel, joined, part_entries
from commlens.render.plots.style import SMALL_LETTER_INCHES, label_inches, shortened
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


def timelines(content: Content) -> list[Panel]:
    """A panel for each operation that has a timeline."""
    entries = []
    for operation in _on_most_ranks(content.operations):
        record, timeline = operation.record, operation.record.timeline
        # Of a multigrid solve, one iteration: its V-cycles are alike.
        iteration = middle_iteration(timeline) if timeline and has_levels(record) else None
        timeline = iteration.timeline if iteration else timeline
        if timeline and timeline.spans:
            entries.append((operation, timeline, iteration))
    panels: list[Panel] = []
    for operation, timeline, iteration in entries:
        ends = [_end(other) for rival, other, _ in entries if rival.group is operation.group]
        end = end_of_scale(_end(timeline), ends)
        is_rescaled = len(ends) > 1 and end < max(ends)
        panels.append(
            _Lanes(operation, timeline, content.part_colors, end, iteration).panel(is_rescaled)
        )
    return panels


@dataclass(frozen=True)
class _Lanes:
    """The steps of an operation, by rank and stream. Of a multigrid solve one iteration, whose
    streams are the levels."""

    operation: Operation
    timeline: Timeline
    colors: Mapping[str, str]
    end_us: float  # of the time axis
    iteration: Iteration | None

    def panel(self, is_rescaled: bool) -> Panel:
        """Prints the time of the operation that was recorded, and the median of all."""
        operation, iteration = self.operation, self.iteration
        unit, factor = readable_time("us", self.end_us)
        time = f"{format_number(factor * self.timeline.time_us)} {unit}"
        name, detail = operation.name, "one operation, its steps numbered"
        if iteration:
            name += f", iteration {iteration.number}"
            detail = f"of {iteration.of} iterations: a V-cycle, then the solver"
        elif median_s := operation.record.together_s:
            detail += f" (median of the samples: {format_number(factor * 1e6 * median_s)} {unit})"
        count = len({span.rank for span in self.timeline.spans})
        details = joined(
            operation.difference,
            detail,
            f"the first {_MAX_RANKS} of {count} ranks" if count > _MAX_RANKS else "",
            "a time axis of its own" if is_rescaled else "",
        )
        parts = dict.fromkeys(span.part for span in self.timeline.spans)
        # All lanes of a picture are as high as each other.
        gaps = _GAP_OF_RANKS * (len(self._ranks) - 1)
        axes_height = _LANE_INCHES * (len(self._positions) + gaps + 0.3)
        return Panel(
            f"{name}: {time}",
            self._draw,
            details,
            list(part_entries(parts, self.colors)),
            height=axes_height + _HEAD_INCHES + _FOOT_INCHES,
            axes_height=axes_height,
            label_width=0.5 + label_inches(self._labels, SMALL_LETTER_INCHES),
            usual_lines=0,
        )

    @cached_property
    def _ranks(self) -> list[int]:
        """Those that are shown."""
        return sorted({span.rank for span in self.timeline.spans})[:_MAX_RANKS]

    @cached_property
    def _positions(self) -> dict[tuple[int, str], float]:
        """The middle of each lane from the top, with a gap between ranks; the streams of a rank in
        the order of its parts."""
        spans, parts = self.timeline.spans, self.operation.record.parts
        streams = dict.fromkeys([part.stream for part in parts] + [span.stream for span in spans])
        used = {(span.rank, span.stream) for span in spans}
        lanes = [(rank, stream) for rank in self._ranks for stream in streams]
        return {
            lane: index + _GAP_OF_RANKS * self._ranks.index(lane[0])
            for index, lane in enumerate(lane for lane in lanes if lane in used)
        }

    @property
    def _labels(self) -> list[str]:
        """The rank at the first of its lanes alone."""
        before = [None, *(rank for rank, _ in self._positions)]
        return [
            shortened(stream if rank == above else f"rank {rank}   {stream}")
            for (rank, stream), above in zip(self._positions, before)
        ]

    def _draw(self, axes: Axes, width: float) -> None:
        """Boxes in the colors of their parts."""
        unit, factor = readable_time("us", self.end_us)
        shown = [span for span in self.timeline.spans if span.rank in self._ranks]
        first = min(0.0, *(span.start_us for span in shown))
        self._draw_spans(axes, shown, factor, 72 * width / (self.end_us - first))
        places = list(self._positions.values())
        axes.set_yticks(places, self._labels)
        axes.set_ylim(max(places) + 0.65, -0.65)
        axes.set_xlim(factor * first, factor * self.end_us * 1.005)
        axes.tick_params(axis="y", length=0, labelsize=8.5)
        axes.spines["left"].set_visible(False)
        set_ticks(axes.xaxis, MaxNLocator(nbins=10), lambda value: f"{value:,g}")
        axes.grid(True, axis="x")
        axes.set_xlabel(labelled("time", unit))

    def _draw_spans(
        self, axes: Axes, spans: Sequence[Span], factor: float, points_per_us: float
    ) -> None:
        # Those are drawn at once that have thickness, position, color and edges in common.
        boxes: dict[tuple[float, float, str, bool], list[tuple[float, float]]] = {}
        for span in spans:
            position = self._positions[span.rank, span.stream]
            color = self.colors[span.part]
            time_us = max(0.0, span.end_us - span.start_us)
            points = time_us * points_per_us
            left, width = factor * span.start_us, factor * time_us
            is_wide = points >= _SEPARATED_FROM_POINTS
            look = self._thickness(span, points), position, color, is_wide
            boxes.setdefault(look, []).append((left, width))
            number = str(span.step)
            if points >= _DIGIT_POINTS * len(number) + 2:
                text = axes.text(left + width / 2, position, number, fontsize=_NUMBER_POINTS)
                text.set(ha="center", va="center_baseline", color=color_of_text_on(color))
                text.set_clip_on(True)
                # It lies within its box, and layout would take most of the time.
                text.set_in_layout(False)
        by_thickness = sorted(boxes.items(), key=lambda item: -item[0][0])
        for (thickness, position, color, is_wide), xranges in by_thickness:
            edge, width = ("white", 0.5) if is_wide else (color, 0.8)
            ends = position - thickness / 2, thickness
            axes.broken_barh(xranges, ends, facecolors=color, edgecolors=edge, linewidth=width)

    def _thickness(self, span: Span, points: float) -> float:
        if points >= _HAIR_POINTS:
            return _THICKNESS
        parts, stream = self.operation.record.parts, span.stream
        if self.iteration is None:
            names = [part.name for part in parts if part.stream == stream]
        else:  # the longest of the level first
            longest = sorted(parts, key=lambda part: -part.time_s)
            names = [part.name for part in longest if place_of(part.name).level == stream]
        before = names.index(span.part) if span.part in names else 0
        return _THICKNESS * _SHORTENED ** min(before, _MOST_SHORTENED)


def _end(timeline: Timeline) -> float:
    return max(timeline.time_us, *(span.end_us for span in timeline.spans))


def _on_most_ranks(operations: Sequence[Operation]) -> list[Operation]:
    """Without timelines on fewer ranks of the same problem that look alike: of parts within."""
    fewer = {
        id(group)
        for scaling in scalings([operation.group for operation in operations])
        for group in scaling.groups
        if group.ranks < max(other.ranks for other in scaling.groups)
    }
    return [
        operation
        for operation in operations
        if not (operation.record.has_parts_within and id(operation.group) in fewer)
    ]
