"""What the time of an operation consists of: a bar a record, its parts in a row, and their ceilings as marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from commlens.plot.bars import THICKNESS, USED, draw_interval, name_bars, room_for, scaled, write_number
from commlens.plot.overlap import Whole
from commlens.plot.panel import CeilingStyles, Panel, ceilings
from commlens.plot.style import (
    BAR_INCHES,
    CEILING_COLOUR,
    LETTER_INCHES,
    PANEL_INCHES,
    TEXT_COLOUR,
    Heading,
    colour_of_text_on,
)
from commlens.records import Case, Record, Statistic
from commlens.text import figure_label, figure_unit, format_number, format_percent, readable_figure

# Where the slowest takes this many times what the fastest does, each transport has a panel and a scale of its own.
_ONE_PANEL_UP_TO = 8
_ROOM_FOR_LABELS = 1.3  # how many times the longest bar the axis is
_OTHER = "other"
_OTHER_COLOUR = "#E2E2E2"
_SHARE_POINTS = 7.0
_LETTER_OF_SHARE_POINTS = 0.62 * _SHARE_POINTS
_MARKERS = ("v", "D", "s", "o")
_MARK_POINTS = 4.5


@dataclass(frozen=True)
class SharesPanel:
    wholes: Sequence[Whole]  # of one case
    colours: Mapping[str, str]
    transport: str = ""  # the only one that it shows; empty: all

    @property
    def case(self) -> Case:
        return self.wholes[0].case

    @property
    def height(self) -> float:
        return max(1.9, 1.3 + BAR_INCHES * len(self.wholes))

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.35 + LETTER_INCHES * max(len(whole.series.label) for whole in self.wholes)

    @property
    def heading(self) -> Heading:
        over = f" over {self.transport}" if self.transport else ""
        title = ", ".join(filter(None, [f"{self.case.benchmark} by part{over}", self.wholes[0].apart]))
        is_exceeded = any(map(_exceeds, self._records))
        overlap = "the parts' medians add up to more than the time, which is marked" if is_exceeded else ""
        names = [candidate.name for position in self._used if (candidate := self._records[position].candidate)]
        used = f"used: {' and '.join(dict.fromkeys(names))}" if names else ""
        return Heading(title, "; ".join(filter(None, [used, overlap, self.bars.heading.details])))

    @property
    def bars(self) -> Panel:
        """That of the whole alone."""
        return Panel(self.case)

    def draw(self, axes: Axes, styles: CeilingStyles) -> None:
        lines = [(styles.line(memory, ceiling), ceiling.time_s) for memory, ceiling, _ in ceilings(self.bars)]
        end = max(*map(_end, self._records), *(seconds for _, seconds in lines), 0.0)
        figure, factor = readable_figure("time_s", end)
        points = 72 * (PANEL_INCHES[0] - self.label_width) / (self._room * factor * end)
        markers = ceiling_markers(self._records)
        for position, record in enumerate(self._records):
            whole = scaled(record.statistics["time_us"], factor * 1e-6)
            self._draw_parts(axes, position, record, factor, points, whole)
            _draw_ceilings(axes, position, record, factor, markers)
            number = f"{format_number(whole.median)} {figure_unit(figure)}" + (USED if position in self._used else "")
            write_number(axes, position, factor * _end(record), number)
            _draw_halo(axes, position, whole)
            draw_interval(axes, position, whole)
        # Under the bars, where it crosses no number.
        for dashes, seconds in lines:
            axes.axvline(factor * seconds, color=CEILING_COLOUR, linestyle=dashes, linewidth=1.3, zorder=0.8)
        name_bars(axes, [whole.series.label for whole in self.wholes], self._used)
        axes.set_xlim(0, self._room * factor * end)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.set_xlabel(figure_label(figure))

    @property
    def _records(self) -> list[Record]:
        return [whole.record for whole in self.wholes]

    @property
    def _used(self) -> list[int]:
        """Which of the bars are of what an application would use."""
        return [position for position, record in enumerate(self._records) if self.case.is_used(record)]

    @property
    def _room(self) -> float:
        return (
            max(_ROOM_FOR_LABELS, room_for(len(f"0.0000 µs{USED}"), self.label_width))
            if self._used
            else _ROOM_FOR_LABELS
        )

    def _draw_parts(
        self, axes: Axes, position: int, record: Record, factor: float, points: float, whole: Statistic
    ) -> None:
        """`points` are those of one unit of the axis; no number is written where the interval of the whole will be."""
        left = 0.0
        segments = [(self.colours[part.name], part.time_s.median) for part in record.parts]
        for colour, seconds in [*segments, (_OTHER_COLOUR, record.other_s or 0)]:
            width = factor * seconds
            axes.barh(position, width, left=left, height=THICKNESS, color=colour, edgecolor="white", linewidth=0.6)
            share = format_percent(seconds / record.together_s) if record.together_s else ""
            room, middle = (_LETTER_OF_SHARE_POINTS * len(share) + 5) / points, left + width / 2
            low, high = whole.ci_low or whole.median, whole.ci_high or whole.median
            if width >= room and not low - room < middle < high + room:
                text = axes.text(middle, position, share, ha="center", va="center_baseline")
                text.set(fontsize=_SHARE_POINTS, color=colour_of_text_on(colour))
            left += width


def _draw_halo(axes: Axes, position: int, own: Statistic) -> None:
    """A white edge of the interval, which lets it be seen upon a dark part."""
    if own.ci_low is not None and own.ci_high is not None:
        axes.plot([own.ci_low, own.ci_high], [position] * 2, "w|-", linewidth=2.8, markersize=8, markeredgewidth=2.8)


def _draw_ceilings(axes: Axes, position: int, record: Record, factor: float, markers: Mapping[str, str]) -> None:
    """On the upper edge of each part that has one, as far from the part's beginning as the ceiling is from no time."""
    left = 0.0
    for part in record.parts:
        for ceiling in record.ceilings:
            if ceiling.part == part.name:
                place = left + factor * ceiling.time_s, position - THICKNESS / 2
                axes.plot(*place, **_mark(markers[_name(part.name, ceiling.name)]), zorder=4)
        left += factor * part.time_s.median


def _mark(marker: str) -> dict[str, Any]:
    return {
        "marker": marker,
        "markersize": _MARK_POINTS,
        "markerfacecolor": TEXT_COLOUR,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "linestyle": "none",
        "clip_on": False,
    }


def _name(part: str, ceiling: str) -> str:
    return f"ceiling of {part}: {ceiling}"


def ceiling_markers(records: Iterable[Record]) -> dict[str, str]:
    """A marker for each ceiling of a part, by what a legend calls it."""
    names = dict.fromkeys(_name(c.part, c.name) for record in records for c in record.ceilings if c.part)
    return dict(zip(names, cycle(_MARKERS), strict=False))


def _exceeds(record: Record) -> bool:
    """Whether the parts take clearly longer than the whole: where they overlap, or where times scatter."""
    return sum(part.time_s.median for part in record.parts) > 1.02 * (record.together_s or 0)


def _end(record: Record) -> float:
    """Of the bar, its interval included, in seconds."""
    return max(
        (record.statistics["time_us"].ci_high or 0) * 1e-6,
        sum(part.time_s.median for part in record.parts),
        record.together_s or 0,
    )


def shares_panels(all_wholes: Sequence[Whole], colours: Mapping[str, str]) -> dict[int, list[SharesPanel]]:
    """By the identity of their case."""
    by_case: dict[int, list[Whole]] = {}
    for whole in all_wholes:
        if whole.record.has_parts_within:
            by_case.setdefault(id(whole.case), []).append(whole)
    return {key: _panels(own, colours) for key, own in by_case.items()}


def _panels(own: Sequence[Whole], colours: Mapping[str, str]) -> list[SharesPanel]:
    ends = [_end(whole.record) for whole in own]
    transports = list(dict.fromkeys(whole.record.transport for whole in own))
    if max(ends) <= _ONE_PANEL_UP_TO * min(ends) or len(transports) == 1:
        return [SharesPanel(own, colours)]
    return [
        SharesPanel([whole for whole in own if whole.record.transport == transport], colours, transport)
        for transport in transports
    ]


def share_handles(panels: Sequence[SharesPanel]) -> list[Artist]:
    """A legend of the parts, the rest and the ceilings that the panels show."""
    if not panels:
        return []
    records = [whole.record for panel in panels for whole in panel.wholes]
    names = dict.fromkeys(part.name for record in records for part in record.parts)
    parts: list[Artist] = [Patch(color=panels[0].colours[name], label=name) for name in names]
    other = Patch(color=_OTHER_COLOUR, label=_OTHER)
    marks = [Line2D([], [], label=name, **_mark(marker)) for name, marker in ceiling_markers(records).items()]
    return [*parts, other, *marks]
