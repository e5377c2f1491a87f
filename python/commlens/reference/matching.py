"""Which published figures stand beside records, and which of them are the nearest.

A figure is comparable with a record if

- it is of the record's benchmark, and of its main metric, or of a fact that is a time or a rate;
- transport and memory are the same, as far as the figure says them;
- the record has each of the figure's `parameters` with the same value.

Of a source's figures that differ in size, nodes and ranks alone, the nearest one is that of the
closest size (by ratio), then of the closest number of nodes, then of ranks. A figure stands beside
those records that are closest to it in size. Sizes that differ by more than a factor of two are
not compared.

A published figure is a single number: there is a ratio, and never a statement that a difference is
significant. There is no ratio where sizes differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from commlens.records import FactDeclaration, Metric, Record, option_text
from commlens.reference.loading import find, load
from commlens.reference.model import Figure, Line, Source

_FARTHEST = 2.0  # ratio of sizes
_Distance = tuple[bool, float, float, float]


class Beside(NamedTuple):
    """A published figure beside a record."""

    record: Record
    figure: Figure
    metric: Metric | FactDeclaration  # of the record, which the figure is of
    ours: float | None  # the same statistic of the record, in the metric's unit; None: it has none
    same_size: bool
    same_memory: bool

    @property
    def source(self) -> Source:
        return find(self.figure.source)

    @property
    def ratio(self) -> float | None:
        """Ours over the published one. None where sizes or kinds of memory differ."""
        comparable = self.ours is not None and self.same_size and self.same_memory
        return self.ours / self.figure.value if comparable and self.ours is not None else None


def beside(records: Iterable[Record], metric: str | None = None) -> list[Beside]:
    """The comparable figures that are nearest to each record, in the order of the records.

    `metric`: of this metric or fact instead of the main metric and the facts.
    """
    found = [one for record in records if record.measured for one in _nearest(record, metric, True)]
    distances = [_size_distance(one.record, one.figure) for one in found]
    least: dict[int, float] = {}  # of each figure, by its identity
    for one, distance in zip(found, distances):
        least[id(one.figure)] = min(distance, least.get(id(one.figure), math.inf))
    return [one for one, own in zip(found, distances) if own == least[id(one.figure)]]


def nearest(record: Record) -> list[Beside]:
    """The nearest figures of the main metric, however far they are: of any size and memory."""
    return _nearest(record, record.main.name if record.main else "", False)


def _nearest(record: Record, metric: str | None, comparable: bool) -> list[Beside]:
    found: dict[Line, tuple[_Distance, Figure]] = {}
    for figure in _figures(record.benchmark, record.transport):
        if not _has_metric(record, figure, metric) or not _agrees(record, figure):
            continue
        distance = _distance(record, figure)
        if comparable and (distance[0] or distance[1] > math.log(_FARTHEST)):
            continue
        line = figure.line if comparable else figure.line._replace(memory="")
        if line not in found or distance < found[line][0]:
            found[line] = distance, figure
    return [_beside(record, figure) for _, figure in found.values()]


@cache
def _figures(benchmark: str, transport: str) -> tuple[Figure, ...]:
    """Of this benchmark and transport, by source."""
    return tuple(
        figure
        for source in load()
        for figure in source.figures
        if figure.benchmark == benchmark and figure.metric
        if figure.transport in ("", transport)
    )


def _has_metric(record: Record, figure: Figure, wanted: str | None) -> bool:
    if wanted is not None:
        return figure.metric == wanted
    if record.main and figure.metric == record.main.name:
        return True
    declared = record.start.facts.get(figure.metric)
    return declared is not None and declared.unit not in ("", "B")


def _agrees(record: Record, figure: Figure) -> bool:
    return all(
        name in record.parameters and option_text(record.parameters[name]) == option_text(value)
        for name, value in figure.parameters.items()
    )


def _distance(record: Record, figure: Figure) -> _Distance:
    """Compared from the left: memory, size, nodes, ranks."""
    return (
        not _same_memory(record, figure),
        _size_distance(record, figure),
        _ratio_distance(record.start.nodes, figure.nodes),
        _ratio_distance(record.ranks, figure.ranks),
    )


def _same_memory(record: Record, figure: Figure) -> bool:
    return figure.memory in ("", record.memory)


def _size_distance(record: Record, figure: Figure) -> float:
    """The logarithm of the ratio of sizes; 0 for a figure without a size."""
    if figure.size is None:
        return 0.0
    value = record.parameters.get(figure.size_name, record.facts.get(figure.size_name))
    return _ratio_distance(value if isinstance(value, (int, float)) else None, figure.size)


def _ratio_distance(one: float | None, other: float | None) -> float:
    if one is None or other is None or one <= 0 or other <= 0:
        return math.inf
    return abs(math.log(one / other))


def _beside(record: Record, figure: Figure) -> Beside:
    metric: Metric | FactDeclaration = (
        record.start.metrics.get(figure.metric) or record.start.facts[figure.metric]
    )
    same_size = math.isclose(_size_distance(record, figure), 0, abs_tol=1e-9)
    same_memory = _same_memory(record, figure)
    return Beside(record, figure, metric, _ours(record, figure), same_size, same_memory)


def _ours(record: Record, figure: Figure) -> float | None:
    statistic = record.statistics.get(figure.metric)
    if statistic is None:
        return record.number(figure.metric)
    lower = record.start.metrics[figure.metric].better == "lower"
    return {
        "one": statistic.median,
        "mean": statistic.mean,
        "best": statistic.min if lower else statistic.max,
        "worst": statistic.max if lower else statistic.min,
    }[figure.summary]


def lines_of(found: Sequence[Beside]) -> dict[Line, list[Beside]]:
    """By line: figures that differ in size, nodes and ranks alone."""
    lines: dict[Line, list[Beside]] = {}
    for one in found:
        lines.setdefault(one.figure.line, []).append(one)
    return lines
