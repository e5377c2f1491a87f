"""The lines of panels that show records of several groups of one benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from commlens.base.text import plural
from commlens.model import Record, option_text
from commlens.render.plots.panel import LegendEntry, Panel, line_entries
from commlens.render.plots.style import PANEL_INCHES, Series, Theme

Lines = Mapping[Series, Sequence[Record]]


class LinesPanel(Panel):
    """A panel of several groups, named in the legend by what differs."""

    curves: Lines
    note_inches: ClassVar[float] = 0.0  # of a note per line within the panel

    @property
    def height(self) -> float:
        """With room for notes of more than three lines."""
        return PANEL_INCHES[1] + self.note_inches * max(0, len(self.curves) - 3)

    @property
    def legend(self) -> Iterable[LegendEntry]:
        """The lines."""
        return line_entries(self.curves)


def lines(records: Sequence[Record], theme: Theme) -> Lines:
    """The records of one benchmark by line: they differ in size only."""
    described = [_description(record) for record in records]
    names = dict.fromkeys(name for description in described for name in description)
    differing = [
        name for name in names if len({description.get(name) for description in described}) > 1
    ]
    labels = [", ".join(one[name] for name in differing if one.get(name)) for one in described]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    found: dict[Series, list[Record]] = {}
    for record, label in zip(records, labels):
        series = theme.series(record, theme.memory(record), label, numbers[label])
        found.setdefault(series, []).append(record)
    return {series: found[series] for series in sorted(found, key=lambda own: own.order)}


def by_benchmark(records: Sequence[Record], theme: Theme) -> list[Lines]:
    """The lines of each benchmark's records, in the order in which benchmarks are first met."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.benchmark, []).append(record)
    return [lines(own, theme) for own in found.values()]


def first_of(own: Lines) -> Record:
    """The first record of the first line."""
    return next(iter(own.values()))[0]


def _description(record: Record) -> dict[str, str]:
    """What can distinguish a record, in the words of a legend: `trilinear`, `8 ranks`."""
    start = record.start
    words = {"ranks": plural(record.ranks, "rank"), "machine": start.gpu or start.host}
    for name, value in record.parameters.items():
        if start.parameters[name].role in ("setting", "variant"):
            title = start.parameters[name].title
            text = value if isinstance(value, str) else f"{title} {option_text(value)}"
            words[f"parameter {name}"] = text
    return words | {name: f"{name}={value}" for name, value in start.settings_of_transport.items()}
