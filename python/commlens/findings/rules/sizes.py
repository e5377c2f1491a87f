"""Sizes of messages, and which variable decides the protocol of a message by its size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from commlens import knowledge
from commlens.base.text import format_bytes, format_fraction, plural
from commlens.findings.finding import Cost, Evidence, Setting
from commlens.findings.rule import Observation, Seen, observation
from commlens.findings.view import (
    Alternatives,
    Curve,
    Slower,
    View,
    differ,
    grouped,
    is_on_gpu,
    is_steady,
    median_us,
    so_in,
    transport_name,
    where,
)
from commlens.model import TIME_METRIC, Record
from commlens.model.record import BYTES

_STAYS = 0.9  # of the time at the size before: what falls below was no step but an accident
_EVEN = 1.1  # how much steps from size to size may differ in width
_ALGORITHM = "OMPI_MCA_coll_tuned_allreduce_algorithm"
_OF_NETWORK = ("link rate", "TCP stream")  # ceilings of what is between nodes


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable, two values that are worth a comparison, and the records that it is for."""

    name: str
    values: tuple[str, str]
    transport: str = ""
    mpi: str = ""  # part of the library's name
    version: str = ""  # the first number of its version
    variables: dict[str, str] = {}
    on_gpu: bool = False  # MPI is given GPU memory, which `staged` has brought to the host before
    between_nodes: bool = False

    def is_for(self, record: Record) -> bool:
        """Whether the variable steers the library that carries the record's bytes."""
        library = record.start.mpi.lower()
        on_gpu = record.transport != "staged" and is_on_gpu(record.memory)
        major = library.rpartition(" ")[2].lstrip("v").partition(".")[0]
        environment = record.start.environment
        return (
            self.transport in ("", record.transport)
            and self.mpi in library
            and self.version in ("", major)
            and all(environment.get(name) == value for name, value in self.variables.items())
            and (on_gpu or not self.on_gpu)
            and (record.start.nodes > 1 or not self.between_nodes)
        )


def switches() -> list[Switch]:
    """Those of all libraries."""
    return knowledge.load("libraries/protocol-switches", list[Switch])


def jump_between_sizes(view: View, jump: float, faults: float) -> Seen:
    for alternatives in view.alternatives:
        for curve in alternatives.curves.values():
            jumps = _jumps_of_all_launches(curve, jump, faults)
            if jumps:
                worst = max(jumps, key=lambda pair: pair.ratio)
                yield _jump_observation(alternatives, worst, jumps)


def _jumps_of_all_launches(curve: Curve, jump: float, faults: float) -> list[Slower]:
    """Of which page faults do not explain a share of `faults` of the longer time."""
    sized = [record for records in curve.values() for record in records if record.size is not None]
    sized.sort(key=lambda record: record.size or 0)
    by_start = grouped(sized, lambda record: record.start.start)
    launches = [launch for launch in by_start.values() if len(launch) > 3]
    jumps = (
        pair
        for launch in launches
        for pair in _jumps(launch, jump)
        if pair.record.page_fault_share - pair.other.page_fault_share < faults
    )
    by_place = grouped(jumps, lambda pair: (pair.other.size, pair.record.size))
    shown = [pairs for pairs in by_place.values() if len(pairs) == len(launches)]
    return [min(pairs, key=lambda pair: pair.ratio) for pairs in shown]


def _jumps(records: Sequence[Record], jump: float) -> Iterator[Slower]:
    """Of one launch: the record after it, that before it, and by how much the time grows more than
    from size to size on both sides. A smooth curve (a + b n, with even steps) grows no more."""
    for four in zip(records, records[1:], records[2:], records[3:]):
        if not _is_even([record.size or 0 for record in four]):
            continue
        _, before, after, _ = four
        rise, growth, further = (median_us(b) / median_us(a) for a, b in zip(four, four[1:]))
        beside = max(1.0, rise, further)
        stays = min(rise, further) >= _STAYS
        if growth > jump * beside and stays and _is_apart(before, after, jump):
            yield Slower(after, before, growth / beside)


def _is_even(sizes: Sequence[int]) -> bool:
    if min(sizes) <= 0:
        return False
    steps = [after / before for before, after in zip(sizes, sizes[1:])]
    return min(steps) > 1 and max(steps) <= _EVEN * min(steps)


def _is_apart(before: Record, after: Record, jump: float) -> bool:
    """Whether all samples are, and the ceilings are not."""
    low, high = before.statistics[TIME_METRIC], after.statistics[TIME_METRIC]
    if not differ(before, after) or low.max >= high.min:
        return False
    if not is_steady(before) or not is_steady(after):
        return False
    ceiling, other = before.valid_ceiling, after.valid_ceiling
    growth = high.median / low.median
    return ceiling is None or other is None or other.time_us / ceiling.time_us * jump < growth


def _jump_observation(
    alternatives: Alternatives, worst: Slower, jumps: Sequence[Slower]
) -> Observation:
    group = alternatives.group
    after, before, factor = worst
    sizes = [group.describe_size(jump.record.size or 0) for jump in jumps if jump is not worst]
    switch = next((candidate for candidate in switches() if candidate.is_for(after)), None)
    worst_first = sorted(jumps, key=lambda jump: jump is not worst)
    name = transport_name(after)
    return observation(
        Evidence(
            alternatives.where([before.size, after.size]),
            tuple(record for jump in worst_first for record in (jump.other, jump.record)),
        ),
        worst.cost,
        which="known switch" if switch else "",
        transport=f"{name[:1].upper()}{name[1:]}",
        times=[median_us(before), median_us(after)],
        sizes=[group.describe_size(record.size or 0) for record in (before, after)],
        factor=factor,
        place=where(group, alternatives.memory, alternatives.variant),
        also=f"; also at {', '.join(sizes)}" if sizes else "",
        benchmark=group.benchmark,
        switch=switch.name if switch else "",
        one=switch.values[0] if switch else "",
        other=switch.values[1] if switch else "",
    )


def below_ceiling(view: View, factor: float, large: int) -> Seen:
    """`factor` times as long as the ceiling, at `large` bytes or more."""
    for alternatives in view.alternatives:
        parameter = alternatives.group.size_parameter
        if not alternatives.group.is_sweep or parameter is None or parameter.unit != BYTES:
            continue
        curves = alternatives.curves.values()
        largest = max(size or 0 for curve in curves for size in curve)
        fitting = (record for curve in curves for record in curve.get(largest, ()))
        best = min(fitting, key=median_us)
        ceiling, low = best.valid_ceiling, best.statistics[TIME_METRIC].ci_low
        if largest < large or ceiling is None or low is None or not is_steady(best):
            continue
        if factor * ceiling.time_us < low:
            place = alternatives.where([best.size])
            fraction = ceiling.time_us / median_us(best)
            between = "between nodes" if ceiling.name.startswith(_OF_NETWORK) else ""
            memory = "" if is_on_gpu(best.memory) else "host"
            yield observation(
                Evidence(place, (best,)),
                Cost(median_us(best) * 1e-6 * (1 - fraction), 1 - fraction, "operation"),
                which=" ".join(filter(None, (memory, between))),
                transport=best.transport,
                fraction=format_fraction(fraction),
                ceiling=f"{'the' if between else 'a'} {ceiling.name}",
                place=place,
            )


def linear_allreduce(view: View, large: int, many: int) -> Seen:
    """Of `large` bytes or more, over `many` ranks or more."""
    linear = [
        record
        for record in view.records
        if record.selection.get("algorithm") == "basic_linear"
        and record.selection["collective"] == "MPI_Allreduce"
        and record.size_parameter is not None
        and record.size_parameter.unit == BYTES
        and (record.size or 0) >= large
        and record.ranks >= many
    ]
    for alike in grouped(linear, lambda record: (record.start.start, record.transport)).values():
        first = min(alike, key=lambda record: record.size or 0)
        is_forced = _ALGORITHM in first.start.environment
        yield observation(
            Evidence(f"{first.benchmark}, {plural(first.ranks, 'rank')}", tuple(alike)),
            which="forced" if is_forced else "",
            setting=Setting({_ALGORITHM: None}) if is_forced else None,
            component=first.selection.get("coll", "Open MPI"),
            size=format_bytes(first.size or 0),
            place=f"{plural(first.ranks, 'rank')}, {first.transport}",
            ranks=first.ranks,
            more=so_in(alike),
        )
