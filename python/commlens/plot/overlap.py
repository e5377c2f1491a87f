"""How far an operation hides its parts behind each other: each alone, the whole, and what perfect overlap leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.plot.bars import draw_bar, name_bars, scaled
from commlens.plot.panel import series_of
from commlens.plot.style import BAR_INCHES, LETTER_INCHES, Heading, Series
from commlens.records import Case, Record, Statistic
from commlens.scaling import ARRANGEMENTS
from commlens.text import figure_label, figure_unit, format_percent, plural, readable_figure

# Where the slowest takes this many times what the fastest does, one scale for both would hide the fast one.
_ONE_SCALE_UP_TO = 4
_ROOM_FOR_LABELS = 1.3  # how many times the longest bar the axis is
_IDEAL_FACE, _IDEAL_EDGE = "#EEEEEE", "#8A8A8A"


@dataclass(frozen=True)
class Whole:
    """A record with parts, the best of its transport, memory and variant."""

    case: Case
    record: Record
    series: Series
    apart: str = ""  # what sets its case apart from others of the benchmark

    @property
    def name(self) -> str:
        """`pipeline over ccl, best block 732`"""
        size, case = self.case.size(self.record), self.case
        best = "best " if case.is_sweep else ""
        place = "" if size is None else f"{best}{case.size_name} {case.format_size(size)}"
        return ", ".join(word for word in (f"{case.benchmark} over {self.series.label}", place) if word)


def wholes(all_cases: Sequence[Case]) -> list[Whole]:
    """What there is to draw, in order."""
    with_parts = [case for case in all_cases if any(record.parts for record in case.records)]
    return [
        Whole(case, record, series_of(case, record, record.memory if len(case.memories) > 1 else ""), apart)
        for case in with_parts
        for apart in [_apart(case, [other for other in with_parts if other.benchmark == case.benchmark])]
        for record in case.at_best_size()
        if record.parts and record.together_s
    ]


def _apart(case: Case, others: Sequence[Case]) -> str:
    """The parameters of the case that differ from the others'; how ranks are arranged, from others' of as many."""
    words = [
        f"{name} {value}"
        for name, value in case.settings.items()
        if any(
            other.settings.get(name) != value
            for other in others
            if name not in ARRANGEMENTS or other.ranks == case.ranks
        )
    ]
    ranks = [plural(case.ranks, "rank")] if any(other.ranks != case.ranks for other in others) else []
    return ", ".join([*words, *ranks])


def longest_of_scale(own: float, all_of_them: Sequence[float]) -> float:
    """The end of the time axis: the longest of all where one scale suits all, else its own."""
    return max(all_of_them) if max(all_of_them) <= _ONE_SCALE_UP_TO * min(all_of_them) else own


@dataclass(frozen=True)
class OverlapPanel:
    whole: Whole
    colours: Mapping[str, str]
    end_s: float  # of the time axis

    @property
    def height(self) -> float:
        return 1.3 + BAR_INCHES * (len(self.whole.record.parts) + 2)

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.35 + LETTER_INCHES * max(map(len, self._names))

    @property
    def _names(self) -> list[str]:
        return [*(f"{part.name} alone" for part in self.whole.record.parts), "together", "ideal"]

    @property
    def heading(self) -> Heading:
        record = self.whole.record
        efficiency = f"overlap efficiency {format_percent(record.efficiency or 0)}"
        longest = max(record.alone_s, key=lambda stream: record.alone_s[stream])
        return Heading(
            self.whole.name, "; ".join(filter(None, [self.whole.apart, efficiency, f"ideal: {longest} alone"]))
        )

    def draw(self, axes: Axes) -> None:
        record = self.whole.record
        figure, factor = readable_figure("time_s", self.end_s)
        unit = figure_unit(figure)
        together, ideal = scaled(record.statistics["time_us"], factor * 1e-6), factor * (record.ideal_s or 0)
        for position, part in enumerate(record.parts):
            colour = self.colours[part.name]
            draw_bar(axes, position, scaled(part.time_s, factor), unit, colour, colour)
        draw_bar(axes, len(record.parts), together, unit, self.whole.series.colour, self.whole.series.colour)
        draw_bar(axes, len(record.parts) + 1, Statistic(ideal, None, None), unit, _IDEAL_FACE, _IDEAL_EDGE)
        axes.axvline(ideal, color=_IDEAL_EDGE, linewidth=1.2, linestyle=(0, (2, 2)), zorder=1.5)
        name_bars(axes, self._names)
        axes.set_xlim(0, _ROOM_FOR_LABELS * factor * self.end_s)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.set_xlabel(figure_label(figure))


def overlap_panels(all_wholes: Sequence[Whole], colours: Mapping[str, str]) -> dict[int, list[OverlapPanel]]:
    """By the identity of their case."""
    panels: dict[int, list[OverlapPanel]] = {}
    for whole in all_wholes:
        if whole.record.has_parts_within:
            continue
        rivals = [other for other in all_wholes if other.case is whole.case]
        ends = [_end(other.record) for other in rivals]
        panel = OverlapPanel(whole, colours, longest_of_scale(_end(whole.record), ends))
        panels.setdefault(id(whole.case), []).append(panel)
    return panels


def _end(record: Record) -> float:
    """Of the longest bar, its interval included."""
    own = [part.time_s for part in record.parts] + [scaled(record.statistics["time_us"], 1e-6)]
    return max(record.ideal_s or 0, *(entry.median if entry.ci_high is None else entry.ci_high for entry in own))
