"""Directions: from one memory to another, and back."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.base.text import memory_name
from commlens.findings.finding import Evidence
from commlens.findings.rule import Seen, found
from commlens.findings.view import Alternatives, Slower, View, differ, median_us, slower_at
from commlens.model import Record


def direction_slower(view: View, factor: float) -> Seen:
    known = {(id(own.group), own.memory, own.variant): own for own in view.alternatives}
    for own in view.alternatives:
        one, _, other = own.memory.partition(":")
        back = known.get((id(own.group), f"{other}:{one}", own.variant))
        if back is not None and one != other:
            for name in sorted(own.curves.keys() & back.curves.keys()):
                yield from _slower_than(own, back, name, factor)


def _slower_than(own: Alternatives, back: Alternatives, transport: str, factor: float) -> Seen:
    def compare(records: Sequence[Record], others: Sequence[Record]) -> Slower | None:
        """The fastest of the slow ones and the slowest of the fast ones, as directions are launches
        of their own; None where these do not differ enough."""
        record, other = min(records, key=median_us), max(others, key=median_us)
        ratio = median_us(record) / median_us(other)
        return Slower(record, other, ratio) if ratio > factor and differ(record, other) else None

    _, pairs = slower_at(own.curves[transport], back.curves[transport], compare)
    if pairs:
        worst = max(pairs.values(), key=lambda pair: pair.ratio)
        yield found(
            Evidence(own.where(list(pairs)), (worst.record, worst.other)),
            worst.cost,
            there=memory_name(own.memory),
            others=memory_name(back.memory),
            transport=transport,
            time=median_us(worst.record),
            other_time=median_us(worst.other),
            place=own.where([worst.record.size]),
        )
