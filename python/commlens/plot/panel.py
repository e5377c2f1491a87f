"""A panel: the part of a case that one pair of axes shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle

from matplotlib.lines import Line2D

from commlens.plot.style import (
    BAR_INCHES,
    CEILING_COLOUR,
    CEILING_DASHES,
    LETTER_INCHES,
    PANEL_INCHES,
    Heading,
    Series,
    series_order,
)
from commlens.records import Case, Ceiling, Record
from commlens.text import memory_name, plural


@dataclass(frozen=True)
class Panel:
    case: Case
    memory: str = ""  # the only one that it shows; empty: all
    is_first: bool = True  # of its case
    tells_ceilings_apart: bool = True  # by memory; not beside panels of one memory each, where the name is enough

    @property
    def records(self) -> list[Record]:
        return [record for record in self.case.records if self.memory in ("", record.memory)]

    @property
    def figure(self) -> str:
        return self.case.records[0].figure or ""

    @property
    def series(self) -> list[Series]:
        """In the order in which they are always shown."""
        found = {self.series_of(record) for record in self.records}
        return sorted(found, key=series_order)

    @property
    def height(self) -> float:
        return PANEL_INCHES[1] if self.case.is_sweep else max(1.9, 1.3 + BAR_INCHES * len(self.series))

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.75 if self.case.is_sweep else 0.35 + LETTER_INCHES * max(len(series.label) for series in self.series)

    def series_of(self, record: Record) -> Series:
        return series_of(self.case, record, "" if self.memory else record.memory)

    def records_of(self, series: Series) -> list[Record]:
        return [record for record in self.records if self.series_of(record) == series]

    def is_used(self, series: Series) -> bool:
        return self.case.is_used(self.records_of(series)[0])

    @property
    def heading(self) -> Heading:
        case = self.case
        size = "" if case.is_sweep or not case.sizes else f" of {case.format_size(case.sizes[0])}"
        memory = f", {memory_name(self.memory)}" if self.memory else ""
        details = [f"{name} {value}" for name, value in case.settings.items()]
        text = ", ".join([*details, plural(case.ranks, "rank"), f"timing {case.timing}"])
        return Heading(f"{case.benchmark}{size}{memory}", text if self.is_first else "")


def series_of(case: Case, record: Record, memory: str) -> Series:
    return Series(record.transport, memory, case.variant_label(record), case.variant_number(record))


class CeilingStyles:
    """The dashes of each ceiling of a picture."""

    def __init__(self, panels: Iterable[Panel]) -> None:
        keys = dict.fromkeys((memory, ceiling.name) for panel in panels for memory, ceiling, _ in ceilings(panel))
        self._styles = dict(zip(keys, cycle(CEILING_DASHES), strict=False))

    def line(self, memory: str, ceiling: Ceiling) -> tuple[int, tuple[float, ...]]:
        return self._styles[memory, ceiling.name]

    def handles(self) -> list[Line2D]:
        return [
            Line2D(
                [],
                [],
                color=CEILING_COLOUR,
                linestyle=dashes,
                linewidth=1.3,
                label=", ".join(part for part in (f"ceiling: {name}", memory_name(memory)) if part),
            )
            for (memory, name), dashes in self._styles.items()
        ]


def ceilings(panel: Panel) -> list[tuple[str, Ceiling, list[tuple[int, float]]]]:
    """The ceilings that the panel's records are nearest to, by memory; points are (size, the figure at the ceiling)."""
    nearest = {(record.memory, record.ceiling.name) for record in panel.records if record.ceiling}
    found: dict[tuple[str, str], tuple[Ceiling, dict[int, float]]] = {}
    for record in panel.records:
        figure = record.figure or ""
        for ceiling in record.ceilings:
            if (record.memory, ceiling.name) in nearest and figure in ceiling.figures:
                _, points = found.setdefault((record.memory, ceiling.name), (ceiling, {}))
                points.setdefault(panel.case.size(record) or 0, ceiling.figures[figure])
    return [
        (memory if panel.tells_ceilings_apart else "", ceiling, sorted(points.items()))
        for (memory, _), (ceiling, points) in found.items()
    ]
