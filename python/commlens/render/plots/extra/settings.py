"""The main metric by setting: a bar for each of several groups that differ in settings alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from commlens.model import Group, Metric, Record
from commlens.render.plots.bars import BarCeiling, BarMark, Bars
from commlens.render.plots.colors import looks
from commlens.render.plots.extra import ExtraPanel
from commlens.render.plots.heading import Heading
from commlens.render.plots.lines import Lines, first_of, lines
from commlens.render.plots.published import LINE_STYLE, Published, published
from commlens.render.plots.style import BAR_INCHES, Series, Theme, label_inches

ORDER = 0


@dataclass(frozen=True)
class SettingsPanel(ExtraPanel):
    bars: Lines  # a record each
    groups: Sequence[Group]
    metric: Metric

    @property
    def height(self) -> float:
        return max(1.9, 1.3 + BAR_INCHES * len(self.bars))

    @property
    def label_width(self) -> float:
        return 0.35 + label_inches(series.label for series in self.bars)

    @property
    def series(self) -> Iterable[Series]:
        return ()  # bars are labelled where they are

    @property
    def heading(self) -> Heading:
        first, size = self.groups[0], first_of(self.bars).size
        words = [first.benchmark, "" if size is None else first.describe_size(size)]
        names = " and ".join(dict.fromkeys(ceiling for _, ceiling, _ in self._ceilings))
        details = [f"dashed: the ceiling, {names}"] if names else []
        if notes := [one.note for one in self._published]:
            details.append(f"violet: published, {', '.join(notes)}")
        return Heading(", ".join(filter(None, words)), "; ".join(details))

    def shows(self, group: Group) -> bool:
        return any(group is own for own in self.groups)

    def draw(self, axes: Axes) -> None:
        values = [own[0].statistics[self.metric.name] for own in self.bars.values()]
        dashes = looks("dashes", [name for _, name, _ in self._ceilings])
        found = [
            BarCeiling((0, dashes[name]), value, position)
            for position, name, value in self._ceilings
        ]
        records = enumerate(own[0] for own in self.bars.values())
        used = [
            position
            for position, record in records
            if any(group.is_used(record) for group in self.groups)
        ]
        marks = [
            BarMark(LINE_STYLE, one.value, position)
            for position, own in enumerate(self.bars.values())
            for one in published(own, self.metric.name)
        ]
        Bars(self.metric, list(self.bars), values, found, self.label_width, used, marks).draw(axes)

    @property
    def _published(self) -> list[Published]:
        return published([own[0] for own in self.bars.values()], self.metric.name)

    @property
    def _ceilings(self) -> list[tuple[int, str, float]]:
        """The position of the bar, the name and the metric at the ceiling."""
        found = ((position, own[0].ceiling) for position, own in enumerate(self.bars.values()))
        return [
            (position, ceiling.name, ceiling.metrics[self.metric.name])
            for position, ceiling in found
            if ceiling and self.metric.name in ceiling.metrics
        ]


def panels(records: Sequence[Record], groups: Sequence[Group], theme: Theme) -> list[SettingsPanel]:
    """One for each benchmark and size at which several groups were measured."""
    found: dict[tuple[object, ...], list[Group]] = {}
    for group in groups:
        if not group.is_sweep and not any(record.parts for record in group.records):
            place = group.benchmark, group.size_name, tuple(group.sizes), group.main
            found.setdefault(place, []).append(group)
    return [panel for own in found.values() if (panel := _panel(own, theme))]


def _panel(groups: Sequence[Group], theme: Theme) -> SettingsPanel | None:
    """None where records differ in what lines do not say, as the start."""
    main = groups[0].main
    bars = lines([record for group in groups for record in group.records], theme)
    if len(groups) < 2 or main is None or any(len(own) > 1 for own in bars.values()):
        return None
    return SettingsPanel(bars, groups, main)
