"""What a variant is worth over another, and the same problem on several numbers of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from commlens.model.cases import Group, merged_transports
from commlens.model.comparison import Decision, decide, difference
from commlens.model.record import TIME_METRIC, Record, option_text
from commlens.model.results import Statistic
from commlens.model.start import Metric, Parameter


@dataclass(frozen=True)
class VariantPair:
    """Two variants of the same: the one that the others are compared with, and another."""

    group: Group
    before: Record
    after: Record
    metric: Metric  # the main metric if less of it is better, else the time
    decision: Decision  # of all pairs of the group together

    @property
    def statistics(self) -> tuple[Statistic, Statistic]:
        """Those of the two variants, by `metric`."""
        name = self.metric.name
        return self.before.statistics[name], self.after.statistics[name]

    @property
    def gain(self) -> float:
        """before / after - 1, of the medians: 0.12 is a speed-up of 12%."""
        before, after = self.statistics
        return before.median / after.median - 1 if after.median > 0 else math.inf

    @property
    def gain_of_best(self) -> float:
        """The same of the shortest times."""
        before, after = self.statistics
        return before.min / after.min - 1 if after.min > 0 else math.inf


class Position(NamedTuple):
    """What was measured, on whatever number of ranks and in whichever variant."""

    size: int  # -1: there is none
    transport: str
    memory: str
    start_label: str


def position(group: Group, record: Record) -> Position:
    """The position of a record of the group."""
    size = -1 if record.size is None else record.size
    return Position(size, record.transport, record.memory, group.start_label(record))


def pairs(group: Group) -> list[VariantPair]:
    """Each variant of the group beside the first of its position, where both were measured."""
    if group.variant is None:
        return []
    places: dict[Position, list[Record]] = {}
    for record in group.records:
        if record.measured:
            places.setdefault(position(group, record), []).append(record)
    compared: list[tuple[Record, Record, Metric]] = []
    baseline = group.variant_values[0]
    for records in places.values():
        first = next((record for record in records if record.variant_value == baseline), None)
        if first is not None:
            others = (record for record in records if record.variant_value != first.variant_value)
            compared += [(first, other, _metric_of_gains(first)) for other in others]
    decisions = decide([difference(*pair) for pair in compared])
    return [VariantPair(group, *pair, decision) for pair, decision in zip(compared, decisions)]


def _metric_of_gains(record: Record) -> Metric:
    main = record.main
    assert main is not None, "only what was measured is compared"
    return main if main.better == "lower" else record.start.metrics[TIME_METRIC]


class Scaling:
    """Groups of one problem that differ in the number of ranks, the fewest first."""

    def __init__(self, groups: Sequence[Group]) -> None:
        first = groups[0]
        self.groups = groups
        # Whether speed-up and efficiency mean something.
        self.divides_work = all(
            start.benchmark.divides_work for group in groups for start in group.launches
        )
        # Whether the problem grows with the ranks: a parameter of each rank is the same.
        declared = first.records[0].start.parameters
        self.is_weak = any(declared[name].per_rank for name in first.records[0].parameters)
        settings = [f"{name} {text}" for name, text in first.settings.items()]
        self.title = " · ".join([*settings, f"timing {first.timing}"])
        self.transports = merged_transports(record for group in groups for record in group.records)

    @cached_property
    def arrangements(self) -> list[Parameter]:
        """The derived parameters that depend on the number of ranks, such as their grid."""
        varying: dict[str, Parameter] = {}
        values: dict[tuple[str, Position], str] = {}
        for group in self.groups:
            declared = group.records[0].start.benchmark.parameters
            derived = [parameter for parameter in declared if parameter.role == "derived"]
            for record in group.records:
                for parameter in derived:
                    text = option_text(record.parameters.get(parameter.name, ""))
                    place = parameter.name, position(group, record)
                    if values.setdefault(place, text) != text:
                        varying[parameter.name] = parameter
        return list(varying.values())


def scalings(all_groups: Sequence[Group], fewest: int = 2) -> list[Scaling]:
    """The groups by problem, of those that ran on at least `fewest` different numbers of ranks.

    One problem is the same benchmark, backend, timing, size and settings, and compares the same.
    """
    by_problem: dict[tuple[object, ...], list[Group]] = {}
    for group in all_groups:
        if all(record.status == "skipped" for record in group.records):
            continue
        size = None if group.is_sweep else tuple(group.sizes)
        key = (
            group.benchmark,
            group.backend,
            group.timing,
            group.is_sweep,
            group.variant and group.variant.name,
            size,
            *group.settings.items(),
        )
        by_problem.setdefault(key, []).append(group)
    series = [sorted(groups, key=lambda group: group.ranks) for groups in by_problem.values()]
    return [
        Scaling(groups) for groups in series if len({group.ranks for group in groups}) >= fewest
    ]
