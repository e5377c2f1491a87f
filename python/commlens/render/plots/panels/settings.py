"""The main metric by setting: a bar for each of several groups that differ in settings alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from commlens.model import Group, Metric, Record
from commlens.render.plots.colors import looks
from commlens.render.plots.content import PUBLISHED_LINE, Content, ceiling_style
from commlens.render.plots.heading import Heading
from commlens.render.plots.lines import Lines, first_of, lines
from commlens.render.plots.panel import Panel
from commlens.render.plots.published import Published, published
from commlens.render.plots.rows import rows_height, rows_label_width
from commlens.render.plots.style import Theme
from commlens.render.plots.values import BarLine, Values

ORDER = 2


@dataclass(frozen=True)
class SettingsPanel(Panel):
    """The groups of a benchmark at one size."""

    bars: Lines  # a record each
    groups: Sequence[Group]
    metric: Metric

    @property
    def height(self) -> float:
        """As many bars."""
        return rows_height(len(self.bars))

    @property
    def label_width(self) -> float:
        """Of the longest name."""
        return rows_label_width([series.label for series in self.bars])

    @property
    def records(self) -> list[Record]:
        """A record for each bar."""
        return [own[0] for own in self.bars.values()]

    @property
    def heading(self) -> Heading:
        """What the lines are."""
        first, size = self.groups[0], first_of(self.bars).size
        words = [first.benchmark, "" if size is None else first.describe_size(size)]
        names = " and ".join(dict.fromkeys(ceiling for _, ceiling, _ in self._ceilings))
        details = [f"dashed: the ceiling, {names}"] if names else []
        if notes := [one.note for one in self._published]:
            details.append(f"violet: published, {', '.join(notes)}")
        return Heading(", ".join(filter(None, words)), "; ".join(details))

    def shows(self, group: Group) -> bool:
        """Each of its groups is bars of it."""
        return any(group is own for own in self.groups)

    def draw(self, axes: Axes, width: float) -> None:
        """Each bar with its ceiling and with what was published beside it."""
        dashes = looks("dashes", [name for _, name, _ in self._ceilings])
        lines = [
            BarLine(ceiling_style(dashes[name]), value, position)
            for position, name, value in self._ceilings
        ]
        marks = [
            BarLine(PUBLISHED_LINE, one.value, position)
            for position, own in enumerate(self.bars.values())
            for one in published(own, self.metric.name)
        ]
        values = [record.statistics[self.metric.name] for record in self.records]
        used = [
            position
            for position, record in enumerate(self.records)
            if any(group.is_used(record) for group in self.groups)
        ]
        Values(self.metric, list(self.bars), values, [*lines, *marks], used).draw(axes, width)

    @property
    def _published(self) -> list[Published]:
        return published(self.records, self.metric.name)

    @property
    def _ceilings(self) -> list[tuple[int, str, float]]:
        """The position of the bar, the name and the metric at the ceiling."""
        return [
            (position, own.name, own.metrics[self.metric.name])
            for position, record in enumerate(self.records)
            if (own := record.ceiling) and self.metric.name in own.metrics
        ]


def panels(content: Content) -> list[SettingsPanel]:
    """A panel for each benchmark and size at which several groups were measured."""
    found: dict[tuple[object, ...], list[Group]] = {}
    for group in content.groups:
        if not group.is_sweep and not any(record.parts for record in group.records):
            place = group.benchmark, group.size_name, tuple(group.sizes), group.main
            found.setdefault(place, []).append(group)
    return [panel for own in found.values() if (panel := _panel(own, content.theme))]


def _panel(groups: Sequence[Group], theme: Theme) -> SettingsPanel | None:
    """None where records differ in what lines do not say, as the start."""
    main = groups[0].main
    bars = lines([record for group in groups for record in group.records], theme)
    if len(groups) < 2 or main is None or any(len(own) > 1 for own in bars.values()):
        return None
    return SettingsPanel(bars, groups, main)
