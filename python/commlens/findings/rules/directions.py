"""Directions"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import format_number, memory_name
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import Alternatives, Slower, View, differ, is_sure, median_us
from commlens.model import Record

_FACTOR = 1.5


@rule(
    "direction-slower",
    "warning",
    "one direction is slower than the other",
    needs="records",
    when=f"from memory A to memory B the same bytes take more than {_FACTOR:g} times as long as "
    "from B to A (`--from host --to device` and the reverse), and all launches of both support it; "
    "in a sweep, at three sizes in a row. Pairs of ranks cannot be distinguished: a sample is the "
    "longest over the ranks, whichever it was.",
    fix="Look which copy the slow direction takes: pin the host's buffers (`--from pinned`), bind "
    "each rank to the NUMA node of its GPU, and compare with `--transport staged`.",
)
def direction_slower(view: View) -> Iterator[Observation]:
    found = {(id(own.group), own.memory, own.variant): own for own in view.alternatives}
    for own in view.alternatives:
        one, _, other = own.memory.partition(":")
        back = found.get((id(own.group), f"{other}:{one}", own.variant))
        if back is not None and one != other:
            for name in sorted(own.curves.keys() & back.curves.keys()):
                yield from _slower_than(own, back, name)


def _slower_than(own: Alternatives, back: Alternatives, transport: str) -> Iterator[Observation]:
    mine, theirs = own.curves[transport].by_size, back.curves[transport].by_size
    sizes = [size for size in mine if size in theirs]
    pairs = [(size, _clearest(mine[size], theirs[size])) for size in sizes]
    found = {size: pair for size, pair in pairs if pair}
    if not is_sure(sizes, list(found)):
        return
    worst = max(found.values(), key=lambda pair: pair.ratio)
    times = [format_number(median_us(one)) for one in (worst.record, worst.other)]
    there, others = memory_name(own.memory), memory_name(back.memory)
    place = own.where([worst.record.size])
    yield Observation(
        f"From {there} {transport} takes {times[0]} us, and {times[1]} us from {others} ({place})",
        Evidence(own.where(list(found)), (worst.record, worst.other)),
        Cost(worst.seconds, 1 - 1 / worst.ratio, "operation"),
    )


def _clearest(records: Sequence[Record], others: Sequence[Record]) -> Slower | None:
    """The fastest of the slow ones and the slowest of the fast ones, as directions are launches of
    their own; None where these do not differ enough."""
    record, other = min(records, key=median_us), max(others, key=median_us)
    ratio = median_us(record) / median_us(other)
    is_found = ratio > _FACTOR and differ(record, other)
    return Slower(record, other, ratio) if is_found else None
