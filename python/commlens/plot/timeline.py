"""One operation step by step: a lane a stream, a box a step in the colour of its part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from commlens.plot.overlap import Whole, longest_of_scale
from commlens.plot.style import SMALL_LETTER_INCHES, Heading, colour_of_text_on
from commlens.records import Span, Timeline
from commlens.text import figure_label, figure_unit, format_number, readable_figure

_MOST_RANKS = 4
_LANE_INCHES = 0.25
_HEAD_INCHES, _FOOT_INCHES = 0.55, 0.45
_THICKNESS = 0.8  # of a box, where a lane is 1
_GAP_OF_RANKS = 0.35
_NUMBER_POINTS = 6.5
_DIGIT_POINTS = 0.64 * _NUMBER_POINTS
_SEPARATED_FROM_POINTS = 4  # a narrower box would be lost between white edges: it has edges of its own colour
# Narrower boxes of several parts lie upon each other: each part's is shorter than the one before, and so all are seen.
_HAIR_POINTS = 1.5
_SHORTENED = 0.6


@dataclass(frozen=True)
class TimelinePanel:
    whole: Whole
    timeline: Timeline
    colours: Mapping[str, str]
    end_s: float  # of the time axis
    has_scale_of_its_own: bool

    @property
    def ranks(self) -> list[int]:
        """Those that are shown."""
        return self._all_ranks[:_MOST_RANKS]

    @property
    def _all_ranks(self) -> list[int]:
        return sorted({span.rank for span in self.timeline.spans})

    @property
    def lanes(self) -> list[tuple[int, str]]:
        """Rank and stream from the top, the streams of each rank in the order in which its parts are given."""
        streams = dict.fromkeys(
            [*(part.stream for part in self.whole.record.parts), *(span.stream for span in self.timeline.spans)]
        )
        used = {(span.rank, span.stream) for span in self.timeline.spans}
        return [(rank, stream) for rank in self.ranks for stream in streams if (rank, stream) in used]

    @property
    def lanes_height(self) -> float:
        """In inches."""
        return _LANE_INCHES * (len(self.lanes) + _GAP_OF_RANKS * (len(self.ranks) - 1) + 0.3)

    @property
    def height(self) -> float:
        return self.lanes_height + _HEAD_INCHES + _FOOT_INCHES

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.5 + SMALL_LETTER_INCHES * max(map(len, self._labels))

    @property
    def heading(self) -> Heading:
        figure, factor = readable_figure("time_s", self.end_s)
        unit = figure_unit(figure)
        time = f"{format_number(factor * self.timeline.time_s)} {unit}"
        words = [self.whole.apart, "one operation, its steps numbered"]
        if self.whole.record.together_s:
            words[-1] += f" (the samples' median is {format_number(factor * self.whole.record.together_s)} {unit})"
        if len(self._all_ranks) > _MOST_RANKS:
            words.append(f"the first {_MOST_RANKS} of {len(self._all_ranks)} ranks")
        if self.has_scale_of_its_own:
            words.append("a time axis of its own")
        return Heading(f"{self.whole.name}: {time}", "; ".join(filter(None, words)))

    def draw(self, axes: Axes, width: float) -> None:
        figure, factor = readable_figure("time_s", self.end_s)
        first = min(0.0, *(span.start_s for span in self._shown))
        self._draw_spans(axes, factor, 72 * width / (self.end_s - first))
        positions = self._positions()
        axes.set_yticks(list(positions.values()), self._labels)
        axes.set_ylim(max(positions.values()) + 0.65, -0.65)
        axes.set_xlim(factor * first, factor * self.end_s * 1.005)
        axes.tick_params(axis="y", length=0, labelsize=8.5)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=10))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axes.grid(True, axis="x")
        axes.set_xlabel(figure_label(figure))

    @property
    def _shown(self) -> list[Span]:
        return [span for span in self.timeline.spans if span.rank in self.ranks]

    @property
    def _labels(self) -> list[str]:
        """The rank at the first of its lanes alone."""
        before = [None, *(rank for rank, _ in self.lanes)]
        return [
            stream if rank == above else f"rank {rank}   {stream}"
            for (rank, stream), above in zip(self.lanes, before, strict=False)
        ]

    def _positions(self) -> dict[tuple[int, str], float]:
        """The middle of each lane, with a gap between ranks."""
        ranks = self.ranks
        return {lane: index + _GAP_OF_RANKS * ranks.index(lane[0]) for index, lane in enumerate(self.lanes)}

    def _draw_spans(self, axes: Axes, factor: float, points_a_second: float) -> None:
        positions = self._positions()
        boxes: dict[tuple[float, float, str, bool], list[tuple[float, float]]] = {}
        for span in self._shown:
            position, colour = positions[span.rank, span.stream], self.colours[span.part]
            seconds = max(0.0, span.end_s - span.start_s)
            points = seconds * points_a_second
            box = factor * span.start_s, factor * seconds
            thickness = _THICKNESS * (1 if points >= _HAIR_POINTS else _SHORTENED ** self._place_in_stream(span))
            boxes.setdefault((position, thickness, colour, points >= _SEPARATED_FROM_POINTS), []).append(box)
            number = str(span.step)
            if points >= _DIGIT_POINTS * len(number) + 2:
                _write_step(axes, box[0] + box[1] / 2, position, number, colour_of_text_on(colour))
        for (position, thickness, colour, is_wide), own in boxes.items():
            axes.broken_barh(
                own,
                (position - thickness / 2, thickness),
                facecolors=colour,
                edgecolors="white" if is_wide else colour,
                linewidth=0.5 if is_wide else 0.8,
            )

    def _place_in_stream(self, span: Span) -> int:
        """How many parts of its stream come before the span's."""
        parts = [part.name for part in self.whole.record.parts if part.stream == span.stream]
        return parts.index(span.part) if span.part in parts else 0


def _write_step(axes: Axes, middle: float, position: float, number: str, colour: str) -> None:
    text = axes.text(
        middle, position, number, ha="center", va="center_baseline", fontsize=_NUMBER_POINTS, color=colour, clip_on=True
    )
    text.set_in_layout(False)  # which would take most of the time, and it lies within its box


def timeline_panels(all_wholes: Sequence[Whole], colours: Mapping[str, str]) -> list[TimelinePanel]:
    drawn = [(whole, whole.record.timeline) for whole in all_wholes]
    found = [(whole, timeline) for whole, timeline in drawn if timeline and timeline.spans]
    panels = []
    for whole, timeline in found:
        ends = [_end(other) for rival, other in found if rival.case is whole.case]
        end = longest_of_scale(_end(timeline), ends)
        panels.append(TimelinePanel(whole, timeline, colours, end, len(ends) > 1 and end < max(ends)))
    return panels


def _end(timeline: Timeline) -> float:
    return max(timeline.time_s, *(span.end_s for span in timeline.spans))


def part_handles(panels: Iterable[TimelinePanel]) -> list[Patch]:
    """A legend of the parts that the timelines show, in the order of their colours."""
    panels = list(panels)
    shown = {span.part for panel in panels for span in panel.timeline.spans}
    colours = {part: colour for panel in panels for part, colour in panel.colours.items()}
    return [Patch(color=colour, label=part) for part, colour in colours.items() if part in shown]
