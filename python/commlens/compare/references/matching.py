"""Which published results stand beside records, and which of them are the nearest.

A published result is comparable with a record if

- it is of the record's benchmark, and of its main metric, or of a fact that is a time or a rate;
- transport and memory are the same, as far as the result has them;
- the record has each of the result's `parameters` with the same value.

Of a source's results that differ in size, nodes and ranks alone, the nearest one is that of the
closest size (by ratio), then of the closest number of nodes, then of ranks. A result stands beside
those records that are closest to it in size. Sizes that differ by more than a factor of two are
not compared.

A published result is a single number: there is a ratio with where ours lies, and never a statement
that a difference is significant. There is no ratio where sizes differ.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from commlens.base.text import format_ratio
from commlens.compare.references.sources import Line, PublishedValue, Source, find, values_of
from commlens.model import Metric, Record, Statistic, option_text
from commlens.model.record import BYTES
from commlens.model.start import FactDeclaration

_FARTHEST = math.log(2) + 1e-9  # of the ratio of sizes
_WITHIN = "within our interval"
_Distance = tuple[bool, float, float, float]


class Beside(NamedTuple):
    """A published result beside a record."""

    record: Record
    published: PublishedValue
    metric: Metric | FactDeclaration  # of the record, which the published value is of
    ours: float  # the same statistic of the record, in the metric's unit
    same_size: bool
    same_memory: bool

    @property
    def source(self) -> Source:
        """The source of the published result."""
        return find(self.published.source)

    @property
    def ratio(self) -> float | None:
        """Ours over the published one. None where sizes or kinds of memory differ."""
        comparable = self.same_size and self.same_memory
        return self.ours / self.published.value if comparable else None

    @property
    def statistic(self) -> Statistic | None:
        """Of the record, with which the published value is compared; facts have none."""
        return self.record.statistics.get(self.published.metric)

    @property
    def lies(self) -> str | None:
        """Where ours lies: whether the published value is within what launches or samples gave."""
        if self.ratio is None:
            return "another size or memory"
        if self.statistic is None:
            return None
        low, high = self.statistic.drawn
        if self.published.value < low:
            return "ours is above"
        return "ours is below" if self.published.value > high else _WITHIN

    @property
    def verdict(self) -> str | None:
        """`1.20x`, or `within our interval`; None where nothing is compared."""
        if self.ratio is None or self.lies is None:
            return None
        return format_ratio(self.ratio) if self.lies != _WITHIN else self.lies


def beside(records: Iterable[Record], metric: str | None = None) -> list[Beside]:
    """The comparable results that are nearest to each record, in the order of the records.

    `metric`: of this metric or fact instead of the main metric and the facts.
    """
    measured = (record for record in records if record.measured)
    pairs = [pair for record in measured for pair in _nearest(record, metric, True)]
    distances = [_size_distance(pair.record, pair.published) for pair in pairs]
    least: dict[int, float] = {}  # of each published value, by its identity
    for pair, distance in zip(pairs, distances):
        least[id(pair.published)] = min(distance, least.get(id(pair.published), math.inf))
    return [
        pair for pair, distance in zip(pairs, distances) if distance == least[id(pair.published)]
    ]


def nearest(record: Record) -> list[Beside]:
    """The nearest results of the main metric, however far they are: of any size and memory."""
    return _nearest(record, record.main.name if record.main else "", False)


def _nearest(record: Record, metric: str | None, comparable: bool) -> list[Beside]:
    pairs = []
    for line in _lines(record.benchmark, record.transport, record.memory if comparable else ""):
        declared, ours = _declared(record, line.figures[0]), _ours(record, line.figures[0])
        if declared is None or ours is None or not _is_wanted(record, line.figures[0], metric):
            continue
        figures = line.around(record) if comparable else line.figures
        figure = min(figures, key=lambda figure: _distance(record, figure))
        distance = _size_distance(record, figure)
        if not comparable or distance <= _FARTHEST:
            same_memory = figure.memory in ("", record.memory)
            is_same = math.isclose(distance, 0, abs_tol=1e-9), same_memory
            pairs.append(Beside(record, figure, declared, ours, *is_same))
    return pairs


class _Sorted(NamedTuple):
    """The results of a line by size, so that many records do not each look at all of them."""

    figures: list[PublishedValue]
    sizes: list[float]

    @classmethod
    def of(cls, figures: Iterable[PublishedValue]) -> _Sorted:
        ordered = sorted(figures, key=lambda figure: figure.size or 0)
        return cls(ordered, [figure.size or 0 for figure in ordered])

    def around(self, record: Record) -> list[PublishedValue]:
        """Those of the next size below and above the record's."""
        size = _size(record, self.figures[0]) or 0
        below = self.sizes[max(0, bisect_right(self.sizes, size) - 1)]
        above = self.sizes[min(len(self.sizes) - 1, bisect_left(self.sizes, size))]
        return self.figures[bisect_left(self.sizes, below) : bisect_right(self.sizes, above)]


@cache
def _lines(benchmark: str, transport: str, memory: str) -> tuple[_Sorted, ...]:
    """The results of each line that records can stand beside; of any memory if it is empty."""
    lines: dict[Line, list[PublishedValue]] = {}
    for figure in values_of(benchmark):
        is_of_memory = not memory or figure.memory in ("", memory)
        is_of_transport = figure.transport in ("", transport)
        if figure.metric and is_of_transport and is_of_memory:
            line = figure.line if memory else figure.line._replace(memory="")
            lines.setdefault(line, []).append(figure)
    return tuple(map(_Sorted.of, lines.values()))


def _is_wanted(record: Record, figure: PublishedValue, wanted: str | None) -> bool:
    """Whether the record agrees with the result, in its unit, and the caller asks for it."""
    declared, parameters = _declared(record, figure), record.parameters
    if declared is None or declared.unit != figure.value_unit:
        return False
    for name, value in figure.parameters.items():
        if name not in parameters or option_text(parameters[name]) != option_text(value):
            return False
    if wanted is not None:
        return figure.metric == wanted
    is_main = record.main is not None and figure.metric == record.main.name
    return is_main or (isinstance(declared, FactDeclaration) and declared.unit not in ("", BYTES))


def _declared(record: Record, figure: PublishedValue) -> Metric | FactDeclaration | None:
    start = record.start
    return start.metrics.get(figure.metric) or start.facts.get(figure.metric)


def _distance(record: Record, figure: PublishedValue) -> _Distance:
    """Compared from the left: memory, size, nodes, ranks."""
    return (
        figure.memory not in ("", record.memory),
        _size_distance(record, figure),
        _ratio_distance(record.start.nodes, figure.nodes),
        _ratio_distance(record.ranks, figure.ranks),
    )


def _size_distance(record: Record, figure: PublishedValue) -> float:
    """The logarithm of the ratio of sizes; 0 for a result without a size."""
    size = figure.size
    return 0.0 if size is None else _ratio_distance(_size(record, figure), size)


def _size(record: Record, figure: PublishedValue) -> float | None:
    """That of the record, in the quantity of the result."""
    value = record.parameters.get(figure.size_name, record.facts.get(figure.size_name))
    return value if isinstance(value, (int, float)) else None


def _ratio_distance(value: float | None, other: float | None) -> float:
    if value is None or other is None or value <= 0 or other <= 0:
        return math.inf
    return abs(math.log(value) - math.log(other))


def _ours(record: Record, figure: PublishedValue) -> float | None:
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


def by_ranks(benchmark: str) -> list[list[PublishedValue]]:
    """What was published of the same pattern in a quantity that no metric is, on several numbers of
    ranks: such as the time of a whole application. Each quantity by ranks."""
    groups: dict[tuple[str, str], list[PublishedValue]] = {}
    for figure in values_of(benchmark):
        if not figure.metric and figure.ranks:
            groups.setdefault((figure.source, figure.quantity), []).append(figure)
    return [group for group in groups.values() if len({figure.ranks for figure in group}) > 1]


def lines_of(pairs: Sequence[Beside]) -> dict[Line, list[Beside]]:
    """By line: results that differ in size, nodes and ranks alone."""
    lines: dict[Line, list[Beside]] = {}
    for pair in pairs:
        lines.setdefault(pair.published.line, []).append(pair)
    return lines
