"""Sizes of messages"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commlens.base.text import format_bytes, format_fraction, format_number
from commlens.findings.finding import Cost, Evidence
from commlens.findings.protocols import switch_of
from commlens.findings.rule import Observation, rule
from commlens.findings.view import (
    STEADY,
    Alternatives,
    Curve,
    View,
    differ,
    is_steady,
    median_us,
    where,
)
from commlens.model import TIME_METRIC, Ceiling, Record
from commlens.model.record import BYTES

_JUMP = 2.0  # machines were seen to become 1.6 times slower in the middle of a sweep
_STAYS = 0.9  # of the time at the size before: what falls below was no step but an accident
_EVEN = 1.1  # how much steps from size to size may differ in width
_LARGE_BYTES = 4 * 2**20
_OF_CEILING = 1 / 3


class _Jump(NamedTuple):
    before: Record
    after: Record
    factor: float  # by how much the time grows more than from size to size on both sides


@rule(
    "jump-between-sizes",
    "warning",
    "the time jumps from one size to the next",
    needs="records",
    when=f"from one size to the next the time grows more than {_JUMP:g} times as much as before "
    "and after it, stays there, every sample after it is longer than every one before it, half "
    f"of their intervals is at most {STEADY:.0%} of the medians, the ceiling does not jump there, "
    "and each launch shows it. The sizes must be in even steps.",
    fix="The library switches to another protocol there (eager to rendezvous, one copy to "
    "several). {setting}",
)
def jump_between_sizes(view: View) -> Iterator[Observation]:
    for own in view.alternatives:
        for curve in own.curves.values():
            found = _jumps_of_all_launches(curve)
            if not found:
                continue
            worst = max(found, key=lambda jump: jump.factor)
            yield _jump_observation(own, curve, worst, [*found])


def _jumps_of_all_launches(curve: Curve) -> list[_Jump]:
    by_place: dict[tuple[int | None, int | None], list[_Jump]] = {}
    launches = 0
    for records in curve.by_start:
        launches += len(records) >= 4
        for jump in _jumps(records):
            by_place.setdefault((jump.before.size, jump.after.size), []).append(jump)
    return [
        min(own, key=lambda jump: jump.factor) for own in by_place.values() if len(own) == launches
    ]


def _jumps(records: Sequence[Record]) -> Iterator[_Jump]:
    """Of one launch. A smooth curve grows no more than beside it: a + b n, with even steps."""
    for four in zip(records, records[1:], records[2:], records[3:]):
        first, before, after, last = four
        if not _is_even([one.size or 0 for one in four]):
            continue
        growth = median_us(after) / median_us(before)
        beside = max(1.0, median_us(before) / median_us(first), median_us(last) / median_us(after))
        is_steady = median_us(before) >= _STAYS * median_us(first) and median_us(
            last
        ) >= _STAYS * median_us(after)
        if growth > _JUMP * beside and is_steady and _is_apart(before, after):
            yield _Jump(before, after, growth / beside)


def _is_even(sizes: Sequence[int]) -> bool:
    if min(sizes) <= 0:
        return False
    steps = [after / before for before, after in zip(sizes, sizes[1:])]
    return min(steps) > 1 and max(steps) <= _EVEN * min(steps)


def _is_apart(before: Record, after: Record) -> bool:
    """Whether all samples are, and the ceilings are not."""
    low, high = before.statistics[TIME_METRIC], after.statistics[TIME_METRIC]
    if not differ(before, after) or low.max >= high.min:
        return False
    if not is_steady(before) or not is_steady(after):
        return False
    one, other = before.ceiling, after.ceiling
    growth = high.median / low.median
    return one is None or other is None or other.time_us / one.time_us * _JUMP < growth


def _jump_observation(
    own: Alternatives, curve: Curve, worst: _Jump, found: Sequence[_Jump]
) -> Observation:
    group = own.group
    before, after = worst.before, worst.after
    times = [format_number(median_us(one)) for one in (before, after)]
    place = where(group, own.memory, own.variant)
    others = [group.describe_size(jump.after.size or 0) for jump in found if jump is not worst]
    also = f"; also at {', '.join(others)}" if others else ""
    switch = switch_of(after)
    return Observation(
        f"{curve.name[:1].upper()}{curve.name[1:]} takes {times[0]} us at "
        f"{group.describe_size(before.size or 0)} and {times[1]} us at "
        f"{group.describe_size(after.size or 0)}, {worst.factor:.1f} times more than the sizes "
        f"beside them suggest ({place}{also})",
        Evidence(own.where([before.size, after.size]), tuple(_records(worst, found))),
        Cost(median_us(after) * 1e-6 * (1 - 1 / worst.factor), 1 - 1 / worst.factor, "operation"),
        {
            "setting": f"Move the switch: `{switch.name}={switch.values[0]}` against "
            f"`{switch.name}={switch.values[1]}`, interleaved: `commlens compare --run "
            f"{group.benchmark} --a '{switch.name}={switch.values[0]}' --b "
            f"'{switch.name}={switch.values[1]}' --launches 3`."
            if switch
            else "Look for the library's eager limit or rendezvous threshold, and move it."
        },
    )


def _records(worst: _Jump, found: Sequence[_Jump]) -> Iterator[Record]:
    for jump in sorted(found, key=lambda one: one is not worst):
        yield from (jump.before, jump.after)


@rule(
    "below-ceiling",
    "warning",
    "large messages are far below what the hardware copies",
    needs="records",
    when=f"at the largest size of a sweep over bytes, of {format_bytes(_LARGE_BYTES)} or more, "
    f"the fastest transport reaches less than {_OF_CEILING:.0%} of its ceiling, with its whole "
    f"interval, of which half is at most {STEADY:.0%} of the median. Ranks that share a GPU "
    "or cores are left out.",
    fix={
        "": "No transport here uses the whole link. Look whether the direct path is on (GPU to GPU:"
        " CUDA IPC or ROCm IPC, `NCCL_P2P_DISABLE` not set; GPU to host: pinned memory, `--to"
        " pinned`; within a host's memory: one copy by CMA or XPMEM), and whether one message at a"
        " time is the limit: `commlens run bandwidth` keeps 64 under way.",
        "between nodes": "No transport here uses the whole network. Look whether the adapters that"
        " `commlens show` names are used (`UCX_NET_DEVICES`, `UCX_TLS`, `NCCL_IB_HCA`,"
        " `FI_PROVIDER`), whether GPU memory goes to them directly (GPUDirect RDMA: the module"
        " nvidia-peermem or DMA-BUF), and whether one message at a time is the limit: `commlens run"
        " bandwidth` keeps 64 under way.",
    },
)
def below_ceiling(view: View) -> Iterator[Observation]:
    for own in view.alternatives:
        parameter = own.group.size_parameter
        if not own.group.is_sweep or parameter is None or parameter.unit != BYTES:
            continue
        sizes = [size or 0 for curve in own.curves.values() for size in curve.by_size]
        at_largest = [
            record for curve in own.curves.values() for record in curve.by_size.get(max(sizes), ())
        ]
        best = min(at_largest, key=median_us)
        ceiling = best.ceiling
        if max(sizes) < _LARGE_BYTES or ceiling is None or not _is_below(best, ceiling):
            continue
        place = own.where([best.size])
        fraction = ceiling.time_us / median_us(best)
        what = f"the {ceiling.name}" if ceiling.is_of_network else f"a {ceiling.name}"
        yield Observation(
            f"The fastest transport, {best.transport}, reaches {format_fraction(fraction)} "
            f"of the ceiling, {what} of the same bytes ({place})",
            Evidence(place, (best,)),
            Cost(median_us(best) * 1e-6 * (1 - fraction), 1 - fraction, "operation"),
            kind="between nodes" if ceiling.is_of_network else "",
        )


def _is_below(record: Record, ceiling: Ceiling) -> bool:
    low = record.statistics[TIME_METRIC].ci_low
    return is_steady(record) and low is not None and ceiling.time_us < _OF_CEILING * low
