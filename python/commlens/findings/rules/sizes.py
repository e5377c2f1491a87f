"""Sizes of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commlens.base.text import format_fraction
from commlens.findings.finding import Cost, Evidence
from commlens.findings.protocols import switch_of
from commlens.findings.rule import Observation, Seen, found
from commlens.findings.view import Alternatives, Curve, View, differ, is_steady, median_us, where
from commlens.model import TIME_METRIC, Record
from commlens.model.record import BYTES

_STAYS = 0.9  # of the time at the size before: what falls below was no step but an accident
_EVEN = 1.1  # how much steps from size to size may differ in width


class _Jump(NamedTuple):
    before: Record
    after: Record
    factor: float  # by how much the time grows more than from size to size on both sides


def jump_between_sizes(view: View, jump: float) -> Seen:
    for own in view.alternatives:
        for curve in own.curves.values():
            jumps = _jumps_of_all_launches(curve, jump)
            if jumps:
                worst = max(jumps, key=lambda one: one.factor)
                yield _jump_observation(own, curve, worst, jumps)


def _jumps_of_all_launches(curve: Curve, jump: float) -> list[_Jump]:
    by_place: dict[tuple[int | None, int | None], list[_Jump]] = {}
    launches = 0
    for records in curve.by_start:
        launches += len(records) >= 4
        for one in _jumps(records, jump):
            by_place.setdefault((one.before.size, one.after.size), []).append(one)
    shown = [own for own in by_place.values() if len(own) == launches]
    return [min(own, key=lambda one: one.factor) for own in shown]


def _jumps(records: Sequence[Record], jump: float) -> Iterator[_Jump]:
    """Of one launch. A smooth curve grows no more than beside it: a + b n, with even steps."""
    for four in zip(records, records[1:], records[2:], records[3:]):
        if not _is_even([one.size or 0 for one in four]):
            continue
        _, before, after, _ = four
        rise, growth, further = (median_us(b) / median_us(a) for a, b in zip(four, four[1:]))
        beside = max(1.0, rise, further)
        stays = min(rise, further) >= _STAYS
        if growth > jump * beside and stays and _is_apart(before, after, jump):
            yield _Jump(before, after, growth / beside)


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
    one, other = before.ceiling, after.ceiling
    growth = high.median / low.median
    return one is None or other is None or other.time_us / one.time_us * jump < growth


def _jump_observation(
    own: Alternatives, curve: Curve, worst: _Jump, jumps: Sequence[_Jump]
) -> Observation:
    group = own.group
    before, after = worst.before, worst.after
    sizes = [group.describe_size(jump.after.size or 0) for jump in jumps if jump is not worst]
    switch = switch_of(after)
    share = 1 - 1 / worst.factor
    worst_first = sorted(jumps, key=lambda one: one is not worst)
    records = tuple(record for jump in worst_first for record in (jump.before, jump.after))
    return found(
        Evidence(own.where([before.size, after.size]), records),
        Cost(median_us(after) * 1e-6 * share, share, "operation"),
        which="known switch" if switch else "",
        transport=f"{curve.name[:1].upper()}{curve.name[1:]}",
        times=[median_us(before), median_us(after)],
        sizes=[group.describe_size(one.size or 0) for one in (before, after)],
        factor=worst.factor,
        place=where(group, own.memory, own.variant),
        also=f"; also at {', '.join(sizes)}" if sizes else "",
        benchmark=group.benchmark,
        switch=switch.name if switch else "",
        one=switch.values[0] if switch else "",
        other=switch.values[1] if switch else "",
    )


def below_ceiling(view: View, factor: float, large: int) -> Seen:
    """`factor` times as long as the ceiling, at `large` bytes or more."""
    for own in view.alternatives:
        parameter = own.group.size_parameter
        if not own.group.is_sweep or parameter is None or parameter.unit != BYTES:
            continue
        curves = own.curves.values()
        largest = max(size or 0 for curve in curves for size in curve.by_size)
        best = min(
            (record for curve in curves for record in curve.by_size.get(largest, ())),
            key=median_us,
        )
        ceiling, low = best.ceiling, best.statistics[TIME_METRIC].ci_low
        if largest < large or ceiling is None or low is None or not is_steady(best):
            continue
        if factor * ceiling.time_us < low:
            place = own.where([best.size])
            fraction = ceiling.time_us / median_us(best)
            yield found(
                Evidence(place, (best,)),
                Cost(median_us(best) * 1e-6 * (1 - fraction), 1 - fraction, "operation"),
                which="between nodes" if ceiling.is_of_network else "",
                transport=best.transport,
                fraction=format_fraction(fraction),
                ceiling=ceiling.name,
                place=place,
            )
