"""What the time of an operation consists of: a bar per record, its parts in a row, and ceilings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_number, format_percent, labelled, readable_time
from commlens.model import TIME_METRIC, Group, Interval, Record
from commlens.render.plots.bars import THICKNESS, USED, end_of_axis, name_bars, write_number
from commlens.render.plots.colors import (
    CEILING_COLOR,
    OTHER_COLOR,
    TEXT_COLOR,
    color_of_text_on,
    looks,
)
from commlens.render.plots.heading import Heading
from commlens.render.plots.intervals import draw_interval, end_of, label_axis, limit_of
from commlens.render.plots.overlap import Operation
from commlens.render.plots.panel import CeilingStyles, Panel, ceilings
from commlens.render.plots.style import BAR_INCHES, Theme, label_inches, part_patches, shortened

_OTHER = "other"
_SHARE_POINTS = 7.0
_LETTER_OF_SHARE_POINTS = 0.62 * _SHARE_POINTS
_MARK_POINTS = 4.5
_CLEARLY = 1.02
_CeilingOfPart = tuple[str, str]


@dataclass(frozen=True)
class SharesPanel:
    operations: Sequence[Operation]  # of one group
    theme: Theme
    transport: str = ""  # the only one that it shows; empty: all

    @property
    def group(self) -> Group:
        return self.operations[0].group

    @property
    def height(self) -> float:
        return max(1.9, 1.3 + BAR_INCHES * len(self.operations))

    @property
    def label_width(self) -> float:
        """Of what stands left of the axes, in inches."""
        return 0.35 + label_inches(operation.series.label for operation in self.operations)

    @property
    def heading(self) -> Heading:
        over = f" over {self.transport}" if self.transport else ""
        title = [f"{self.group.benchmark} by part{over}", self.operations[0].difference]
        candidates = [self._records[position].candidate for position in self._used]
        names = dict.fromkeys(candidate.name for candidate in candidates if candidate)
        details = [
            f"used: {' and '.join(names)}" if names else "",
            "parts scaled to the time where their medians add up to more"
            if any(map(exceeds, self._records))
            else "",
        ]
        return Heading(", ".join(filter(None, title)), "; ".join(filter(None, details)))

    @property
    def panel(self) -> Panel:
        """Of the whole operation alone."""
        return Panel(self.group, self.theme)

    def draw(self, axes: Axes, styles: CeilingStyles, width: float) -> None:
        lines = [
            (styles.line(memory, ceiling), ceiling.time_s)
            for memory, ceiling, _ in ceilings(self.panel)
        ]
        longest = max([*map(_time, self._records), *(seconds for _, seconds in lines)])
        unit, factor = readable_time("s", longest)
        time_texts = [f"{format_number(factor * _time(record))} {unit}" for record in self._records]
        for position in self._used:
            time_texts[position] += USED
        times = [time_of(record, factor) for record in self._records]
        limit = limit_of([factor * longest])
        ends = [end_of(time, limit) for time in times]
        ceilings_end = 1.05 * factor * max((seconds for _, seconds in lines), default=0.0)
        end = max(ceilings_end, end_of_axis(ends, time_texts, width))
        axes.set_xlim(0, end)
        scale = Scale(factor, 72 * width * factor / end)
        markers = ceiling_markers(self._records)
        for position, (record, time) in enumerate(zip(self._records, times)):
            self._draw_parts(axes, position, record, scale, time)
            _draw_ceilings(axes, position, record, factor, markers)
            write_number(axes, position, ends[position], time_texts[position])
            draw_interval(axes, position, time, limit, has_halo=True)
        for dashes, seconds in lines:  # under the bars, where no number is
            axes.axvline(
                factor * seconds, color=CEILING_COLOR, linestyle=dashes, linewidth=1.3, zorder=0.8
            )
        name_bars(axes, [operation.series.label for operation in self.operations], self._used)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        label_axis(axes, labelled("time", unit), times, limit)

    @property
    def _records(self) -> list[Record]:
        return [operation.record for operation in self.operations]

    @property
    def _used(self) -> list[int]:
        """Positions of the bars of what an application would use."""
        records = enumerate(self._records)
        return [position for position, record in records if self.group.is_used(record)]

    def _draw_parts(
        self, axes: Axes, position: int, record: Record, scale: Scale, time: Interval
    ) -> None:
        """With the share of each part, but not where the interval of the time is drawn."""
        shown = share_shown(record)
        segments = [
            (self.theme.part_colors[part.name], part.time_s * shown) for part in record.parts
        ]
        segments.append((OTHER_COLOR, record.other_s or 0))
        draw_segments(axes, position, segments, record.together_s, scale, time)


@dataclass(frozen=True)
class Scale:
    """Of the time axis."""

    factor: float  # units per second
    points_per_second: float

    def seconds_of(self, points: float) -> float:
        return points / self.points_per_second


def draw_segments(
    axes: Axes,
    position: int,
    segments: Iterable[tuple[str, float]],
    whole_s: float | None,
    scale: Scale,
    time: Interval | None = None,
) -> None:
    """One after the other, by color and seconds, with the share of each in the whole where there is
    room for it, and not where the interval of the time is drawn."""
    left = 0.0
    for color, seconds in segments:
        width = scale.factor * seconds
        style: dict[str, Any] = {"color": color, "edgecolor": "white", "linewidth": 0.6}
        axes.barh(position, width, left=left, height=THICKNESS, **style)
        share = format_percent(seconds / whole_s) if whole_s else ""
        room = scale.factor * scale.seconds_of(_LETTER_OF_SHARE_POINTS * len(share) + 5)
        middle = left + width / 2
        if width >= room and not (time and _covers(time, middle, room)):
            text = axes.text(middle, position, share, ha="center", va="center_baseline")
            text.set(fontsize=_SHARE_POINTS, color=color_of_text_on(color))
        left += width


def _covers(time: Interval, middle: float, room: float) -> bool:
    low, high = time.ci_low or time.median, time.ci_high or time.median
    return low - room < middle < high + room


def _draw_ceilings(
    axes: Axes, position: int, record: Record, factor: float, markers: Mapping[_CeilingOfPart, str]
) -> None:
    """On the upper edge of each part, at the ceiling's time from where the part begins."""
    left, factor = 0.0, factor * share_shown(record)
    for part in record.parts:
        for ceiling in record.ceilings:
            if ceiling.part == part.name:
                place = left + factor * ceiling.time_s, position - THICKNESS / 2
                axes.plot(*place, **ceiling_mark(markers[part.name, ceiling.name]), zorder=4)
        left += factor * part.time_s


def ceiling_mark(marker: str) -> dict[str, Any]:
    return {
        "marker": marker,
        "markersize": _MARK_POINTS,
        "markerfacecolor": TEXT_COLOR,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "linestyle": "none",
        "clip_on": False,
    }


def ceiling_markers(records: Iterable[Record]) -> dict[_CeilingOfPart, str]:
    """A marker for each ceiling of a part."""
    found = [ceiling for record in records for ceiling in record.ceilings]
    keys = [(ceiling.part, ceiling.name) for ceiling in found if ceiling.part]
    return looks("marks", keys, lambda key: key[1])


def exceeds(record: Record) -> bool:
    """Whether the parts take clearly longer than the whole: they overlap, or times vary."""
    return sum(part.time_s for part in record.parts) > _CLEARLY * _time(record)


def share_shown(record: Record) -> float:
    """How much of each part is drawn, so that the parts add up to the bar."""
    parts = sum(part.time_s for part in record.parts)
    return min(1.0, _time(record) / parts) if parts else 1.0


def _time(record: Record) -> float:
    return record.together_s or 0.0


def time_of(record: Record, factor: float) -> Interval:
    """Of the whole operation, in units of which a second has `factor`."""
    return record.statistics[TIME_METRIC].scaled(factor * 1e-6)


def share_handles(panels: Sequence[SharesPanel]) -> list[Artist]:
    """A legend of the parts, the rest and the ceilings that the panels show."""
    if not panels:
        return []
    records = [operation.record for panel in panels for operation in panel.operations]
    names = dict.fromkeys(part.name for record in records for part in record.parts)
    return [
        *part_patches(names, panels[0].theme),
        Patch(color=OTHER_COLOR, label=_OTHER),
        *(
            Line2D([], [], label=shortened(f"ceiling of {part}: {name}"), **ceiling_mark(marker))
            for (part, name), marker in ceiling_markers(records).items()
        ),
    ]
