"""Groups of cases: what stands in one table or one panel of a picture.

They follow from the roles that a benchmark declares for its parameters, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

from commlens.base.text import format_bytes, format_count
from commlens.model.comparison import Difference, decide, difference
from commlens.model.launches import launch_labels
from commlens.model.record import BYTES, Record, option_text
from commlens.model.start import Metric, Parameter


def merged_transports(records: Iterable[Record]) -> list[str]:
    """All transports of the records' launches, each start's in the order that it declares."""
    merged: dict[str, None] = {}
    for start in {record.start: None for record in records}:
        merged |= dict.fromkeys(start.transports)
    return list(merged | {record.transport: None for record in records})


class Standing(NamedTuple):
    """A record beside the others of its size and memory, by the main metric."""

    best: Record  # the one with the best median
    ratio: float  # how many times worse its median is than the best one
    tie: str  # with the best, `tie` or `inconclusive`; of the best one: with another; else empty


class Group:
    """Records that differ in size, transport, memory, variant and start, and in nothing else."""

    def __init__(self, records: Sequence[Record], is_sweep: bool) -> None:
        first = records[0]
        self.benchmark = first.benchmark
        self.backend = first.start.backend
        self.ranks, self.nodes = first.ranks, first.start.nodes
        self.timing = first.harness.timing
        self.is_sweep = is_sweep
        self.size_parameter: Parameter | None = first.size_parameter
        self.variant: Parameter | None = first.start.variant
        self.transports = merged_transports(records)
        self._ranking = {name: rank for rank, name in enumerate(self.transports)}
        self.records: list[Record] = sorted(records, key=self._order)
        self.launches = list({record.start.start: record.start for record in self.records}.values())
        self.memories = sorted({record.memory for record in records})
        # As they were measured: others are compared with the first. Empty without variants.
        values = (record.variant_value for record in self.records)
        self.variant_values = list(dict.fromkeys(values)) if self.variant else []
        self.start_labels, self._dated_labels = launch_labels(self.records)

    def _order(self, record: Record) -> tuple[int, int, str]:
        return record.size or 0, self._ranking[record.transport], record.memory

    @property
    def main(self) -> Metric | None:
        """The main metric of the records."""
        return next((record.main for record in self.records if record.main), None)

    @cached_property
    def sizes(self) -> list[int]:
        """In ascending order."""
        return sorted({size for record in self.records if (size := record.size) is not None})

    @cached_property
    def metrics(self) -> list[Metric]:
        """Those that any record has, in the order in which they are shown."""
        names = {name for record in self.records for name in record.statistics}
        declared = {
            name: metric for start in self.launches for name, metric in start.metrics.items()
        }
        return [metric for name, metric in declared.items() if name in names]

    @cached_property
    def settings(self) -> dict[str, str]:
        """What all have in common, by the names of options, without those that are empty."""
        first, declared = self.records[0], self.records[0].start.parameters
        settings = _settings(first, self.size_parameter)
        return {declared[name].title: text for name, text in settings if text}

    @cached_property
    def derived(self) -> dict[str, str]:
        """Parameters that follow from others, where all records agree in them."""
        first, declared = self.records[0], self.records[0].start.parameters
        return {
            declared[name].title: option_text(value)
            for name, value in first.parameters.items()
            if declared[name].role == "derived"
            and all(record.parameters.get(name) == value for record in self.records)
        }

    @property
    def size_name(self) -> str:
        """The head of a column or an axis: `size` of bytes, else the name of the option."""
        is_other = self.size_parameter is not None and self.size_parameter.unit != BYTES
        return self.size_parameter.title if self.size_parameter and is_other else "size"

    def format_size(self, size: float) -> str:
        """`64 MiB`; of a parameter that is not in bytes the number, with its unit if it has one."""
        unit = self.size_parameter.unit if self.size_parameter else ""
        return (
            format_bytes(size) if unit == BYTES else f"{format_count(round(size))} {unit}".strip()
        )

    def describe_size(self, size: int) -> str:
        """By itself: `76.3 MiB`, `block 732`."""
        text = self.format_size(size)
        return text if self.size_name == "size" else f"{self.size_name} {text}"

    def start_label(self, record: Record) -> str:
        """What sets its start apart, where several measured the same; else empty."""
        return self.start_labels.get(record.start.start, "")

    def label(self, record: Record, dated: bool = False) -> str:
        """What sets the record apart from others of its size, transport and memory; with the times
        of launches instead of their numbers, as far as times differ."""
        labels = self._dated_labels if dated else self.start_labels
        launch = labels.get(record.start.start, "")
        return ", ".join(filter(None, (record.variant_value, launch)))

    def series_number(self, record: Record) -> int:
        """Counts variants and launches that are set apart; 0 where there are none."""
        return self._series[self.start_label(record), record.variant_value]

    @cached_property
    def _series(self) -> dict[tuple[str, str], int]:
        labels = dict.fromkeys(self.start_labels.values()) or [""]
        series = product(labels, self.variant_values or [""])
        return {place: number for number, place in enumerate(series)}

    def standing(self, record: Record) -> Standing | None:
        """Beside the others of its size and memory; None where it is alone."""
        metric = record.main
        if len(self.records) < 2 or metric is None or not record.measured:
            return None
        rivals = self._rivals[record.size, record.memory, metric.name]
        if len(rivals) < 2:
            return None
        best = rivals[0]
        ratio = metric.ratio(_median(record, metric), _median(best, metric))
        compared = rivals[1:] if record is best else [record]
        ties = (self._ties[rival] for rival in compared)
        return Standing(best, ratio, next(filter(None, ties), ""))

    @cached_property
    def _ties(self) -> dict[Record, str]:
        """Of each record with the best one; all of the group are decided together."""
        others: dict[Record, Difference] = {}
        for best, *rivals in self._rivals.values():
            assert best.main is not None, "only what was measured is compared"
            others.update({rival: difference(best, rival, best.main) for rival in rivals})
        decisions = decide(list(others.values()))
        return {rival: decision.tie for rival, decision in zip(others, decisions)}

    @cached_property
    def _rivals(self) -> dict[tuple[int | None, str, str], list[Record]]:
        """By size, memory and main metric; the best comes first."""
        by_place: dict[tuple[int | None, str, str], list[Record]] = {}
        for record in self.records:
            if record.measured and (metric := record.main):
                by_place.setdefault((record.size, record.memory, metric.name), []).append(record)
        for records in by_place.values():
            best = _best(records)
            records.sort(key=lambda record: record is not best)
        return by_place

    @cached_property
    def used(self) -> set[Record]:
        """The candidates that an application would use, one of each start and size."""
        fastest: dict[tuple[str, int | None], tuple[float, Record]] = {}
        for record in self.records:
            if record.measured and record.candidate:
                place, seconds = (record.start.start, record.size), record.candidate.seconds
                if place not in fastest or seconds < fastest[place][0]:
                    fastest[place] = seconds, record
        return {record for _, record in fastest.values()}

    def at_best_size(self) -> list[Record]:
        """Of each transport, memory and series the record that is best by its main metric."""
        by_place: dict[tuple[int, str, int], list[Record]] = {}
        for record in self.records:
            if record.measured:
                number = self.series_number(record)
                place = self._ranking[record.transport], record.memory, number
                by_place.setdefault(place, []).append(record)
        return [_best(by_place[place]) for place in sorted(by_place)]


def groups(records: Iterable[Record]) -> list[Group]:
    """The records in groups, in the order in which the groups were first met.

    A start over one size and a start over many stay apart: the first is a number to compare, the
    second a curve.
    """
    keyed = [(record, record.size, _group_key(record)) for record in records]
    sizes: dict[tuple[object, ...], set[int | None]] = {}
    for record, size, key in keyed:
        sizes.setdefault((record.start.start, key), set()).add(size)
    by_place: dict[tuple[object, ...], list[Record]] = {}
    for record, size, key in keyed:
        is_sweep = len(sizes[record.start.start, key]) > 1
        by_place.setdefault((is_sweep, key, None if is_sweep else size), []).append(record)
    return [Group(members, is_sweep=bool(place[0])) for place, members in by_place.items()]


def _group_key(record: Record) -> tuple[object, ...]:
    size, variant = record.size_parameter, record.start.variant
    return (
        record.benchmark,
        record.start.backend,
        record.ranks,
        record.start.nodes,
        record.harness.timing,
        size and size.name,
        variant and variant.name,
        *_settings(record, size),
    )


def _settings(record: Record, size: Parameter | None) -> list[tuple[str, str]]:
    """The parameters that the records of a group have in common: settings, and all sizes but the
    one that is swept."""
    declared = record.start.parameters
    return [
        (name, option_text(value))
        for name, value in record.parameters.items()
        if declared[name].role == "setting"
        or (declared[name].role == "size" and declared[name] is not size)
    ]


def _median(record: Record, metric: Metric) -> float:
    value = record.statistics.get(metric.name)
    return value.median if value else float("nan")


def _best(records: Sequence[Record]) -> Record:
    """The first of those with the best median of the main metric."""
    metric = records[0].main
    assert metric is not None, "only what was measured is compared"
    choose = min if metric.better == "lower" else max
    return choose(records, key=lambda record: _median(record, metric))
