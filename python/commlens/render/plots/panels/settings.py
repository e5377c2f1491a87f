"""The main metric by setting: a bar for each of several groups that differ in settings alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.model import Group
from commlens.render.plots.bars import BarLine, Bars, bars_of_records
from commlens.render.plots.colors import looks
from commlens.render.plots.content import PUBLISHED_LINE, Content, ceiling_style
from commlens.render.plots.lines import lines, note_of, published
from commlens.render.plots.panel import Panel, joined

ORDER = 2


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each benchmark and size at which several groups were measured."""
    by_place: dict[tuple[object, ...], list[Group]] = {}
    for group in content.groups:
        if not group.is_sweep and not any(record.parts for record in group.records):
            place = group.benchmark, group.size_name, tuple(group.sizes), group.main
            by_place.setdefault(place, []).append(group)
    for groups in by_place.values():
        yield from _panel(groups, content)


def _panel(groups: Sequence[Group], content: Content) -> Iterator[Panel]:
    """None where records differ in what lines do not say, as the start."""
    first, metric = groups[0], groups[0].main
    curves = lines([record for group in groups for record in group.records], content)
    if len(groups) < 2 or metric is None or any(len(line) > 1 for line in curves.values()):
        return
    bars = {series: line[0] for series, line in curves.items()}
    ceilings = [
        (position, ceiling.name, ceiling.metrics[metric.name])
        for position, record in enumerate(bars.values())
        if (ceiling := record.valid_ceiling) and metric.name in ceiling.metrics
    ]
    dashes = looks("dashes", [name for _, name, _ in ceilings])
    marks = [
        *(BarLine(ceiling_style(dashes[name]), value, place) for place, name, value in ceilings),
        *(
            BarLine(PUBLISHED_LINE, figure.value, place)
            for place, record in enumerate(bars.values())
            for figure in published([record], metric.name)
        ),
    ]
    size = next(iter(bars.values())).size
    names = " and ".join(dashes)
    notes = ", ".join(note_of(figure) for figure in published(list(bars.values()), metric.name))
    title = joined(
        first.benchmark, "" if size is None else first.describe_size(size), separator=", "
    )
    details = joined(
        names and f"dashed: the ceiling, {names}", notes and f"violet: published, {notes}"
    )
    drawn = Bars(metric.label, metric.unit, bars_of_records(metric, bars, groups), marks)
    yield drawn.panel(title, details, replaces=groups)
