"""Transports that are slower than others, or missing."""

from __future__ import annotations

from commlens.base.text import memory_name, plural
from commlens.findings.disturbance import is_on_gpu
from commlens.findings.finding import Evidence
from commlens.findings.rule import Observation, Seen, found
from commlens.findings.view import (
    Alternatives,
    Slower,
    View,
    slower,
    slower_at,
    transport_name,
)
from commlens.model import Record

_LONGEST = 300  # characters of a reason


def mpi_slower(view: View, transport: str, factor: float) -> Seen:
    """MPI on GPU memory takes more than `factor` times as long as `transport`."""
    for own in view.alternatives:
        if {"mpi", transport} <= own.curves.keys() and own.is_on_gpu and own.group.ranks > 1:
            sizes, pairs = slower_at(
                own.curves["mpi"],
                own.curves[transport],
                lambda records, others: slower(records, others, factor),
            )
            if pairs:
                yield _observation(own, len(sizes), pairs)


def _observation(own: Alternatives, sizes: int, pairs: dict[int | None, Slower]) -> Observation:
    ordered = sorted(pairs.values(), key=lambda pair: -pair.ratio)
    worst = ordered[0]
    records = tuple(record for pair in ordered for record in (pair.record, pair.other))
    return found(
        Evidence(own.where(list(pairs)), records),
        worst.cost,
        times=f"{worst.ratio:.1f}" if worst.ratio < 10 else f"{worst.ratio:,.0f}",
        library=transport_name(worst.other),
        place=own.where([worst.record.size]),
        many=f"; slower at {len(pairs)} of {sizes} sizes" if sizes > 1 else "",
    )


def transport_not_available(view: View) -> Seen:
    told: set[tuple[str, str, str]] = set()
    for start, own in view.launches:
        by_place: dict[tuple[str, str], list[Record]] = {}
        for record in own:
            if is_on_gpu(record.memory) and record.transport in ("mpi", "ccl"):
                by_place.setdefault((record.transport, record.memory), []).append(record)
        for (transport, memory), records in by_place.items():
            first = records[0]
            key = transport, start.host, first.reason
            # It may be there, and these cases none for it.
            is_there = transport == "ccl" and "ccl" in start.versions
            is_skipped = all(record.status == "skipped" for record in records)
            if not is_skipped or is_there or key in told:
                continue
            told.add(key)
            place = f"{first.benchmark}, {plural(start.ranks, 'rank')}, {memory_name(memory)}"
            yield found(
                Evidence(place, tuple(records)),
                which=transport,
                name=transport_name(first),
                host=start.host,
                place=place,
                reason=first.reason[:_LONGEST].rstrip("."),
            )
