"""Times that differ: between transports, directions and launches."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.base.text import format_number, memory_name, plural
from commlens.findings.finding import Evidence
from commlens.findings.rule import Observation, Seen, observation
from commlens.findings.view import (
    Alternatives,
    Slower,
    View,
    differ,
    grouped,
    is_on_gpu,
    is_steady,
    median_us,
    on_gpu_of,
    slower,
    slower_at,
    transport_name,
)
from commlens.model import TIME_METRIC, Record
from commlens.model.prediction import saving

_LONGEST = 300  # characters of a reason


def mpi_slower(view: View, transport: str, factor: float) -> Seen:
    """MPI on GPU memory takes more than `factor` times as long as `transport`."""
    for alternatives in view.alternatives:
        is_for_it = is_on_gpu(alternatives.memory) and alternatives.group.ranks > 1
        if is_for_it and {"mpi", transport} <= alternatives.curves.keys():
            sizes, pairs = slower_at(
                alternatives.curves["mpi"],
                alternatives.curves[transport],
                lambda records, others: slower(records, others, factor),
            )
            if pairs:
                yield _observation(alternatives, len(sizes), pairs)


def transport_saves(view: View) -> Seen:
    """What another transport than MPI would save of a program, by replays of its trace."""
    for alternatives in view.alternatives:
        curves = dict(alternatives.curves)
        baseline = curves.pop("mpi", {})
        for transport, curve in curves.items():
            for size in baseline.keys() & curve.keys():
                saved = saving(baseline[size], curve[size])
                if saved is not None and saved.low > 0:
                    yield observation(
                        Evidence(alternatives.where(), (*baseline[size], *curve[size])),
                        transport=transport,
                        saved=str(saved),
                        place=alternatives.where(),
                    )


def _observation(
    alternatives: Alternatives, sizes: int, pairs: dict[int | None, Slower]
) -> Observation:
    ordered = sorted(pairs.values(), key=lambda pair: -pair.ratio)
    worst = ordered[0]
    records = tuple(record for pair in ordered for record in (pair.record, pair.other))
    return observation(
        Evidence(alternatives.where(list(pairs)), records),
        worst.cost,
        times=f"{worst.ratio:.1f}" if worst.ratio < 10 else f"{worst.ratio:,.0f}",
        library=transport_name(worst.other),
        place=alternatives.where([worst.record.size]),
        many=f"; slower at {len(pairs)} of {sizes} sizes" if sizes > 1 else "",
    )


def transport_not_available(view: View) -> Seen:
    reported: set[tuple[str, str, str]] = set()
    for start, launch in view.launches:
        on_gpu = [record for record in on_gpu_of(launch) if record.transport in ("mpi", "ccl")]
        by_place = grouped(on_gpu, lambda record: (record.transport, record.memory))
        for (transport, memory), records in by_place.items():
            first = records[0]
            key = transport, start.host, first.reason
            # It may be there, and these cases none for it.
            is_there = transport == "ccl" and "ccl" in start.versions
            is_skipped = all(record.status == "skipped" for record in records)
            if not is_skipped or is_there or key in reported:
                continue
            reported.add(key)
            place = f"{first.benchmark}, {plural(start.ranks, 'rank')}, {memory_name(memory)}"
            yield observation(
                Evidence(place, tuple(records)),
                which=transport,
                name=transport_name(first),
                host=start.host,
                place=place,
                reason=first.reason[:_LONGEST].rstrip("."),
            )


def direction_slower(view: View, factor: float) -> Seen:
    known = {(id(entry.group), entry.memory, entry.variant): entry for entry in view.alternatives}
    for forward in view.alternatives:
        source, _, other = forward.memory.partition(":")
        back = known.get((id(forward.group), f"{other}:{source}", forward.variant))
        if back is not None and source != other:
            for name in sorted(forward.curves.keys() & back.curves.keys()):
                yield from _slower_than(forward, back, name, factor)


def _slower_than(forward: Alternatives, back: Alternatives, transport: str, factor: float) -> Seen:
    def compare(records: Sequence[Record], others: Sequence[Record]) -> Slower | None:
        """The fastest of the slow ones and the slowest of the fast ones, as directions are launches
        of their own; None where these do not differ enough."""
        record, other = min(records, key=median_us), max(others, key=median_us)
        ratio = median_us(record) / median_us(other)
        return Slower(record, other, ratio) if ratio > factor and differ(record, other) else None

    _, pairs = slower_at(forward.curves[transport], back.curves[transport], compare)
    if pairs:
        worst = max(pairs.values(), key=lambda pair: pair.ratio)
        yield observation(
            Evidence(forward.where(list(pairs)), (worst.record, worst.other)),
            worst.cost,
            there=memory_name(forward.memory),
            others=memory_name(back.memory),
            transport=transport,
            time=median_us(worst.record),
            other_time=median_us(worst.other),
            place=forward.where([worst.record.size]),
        )


def launches_differ(view: View, spread: float) -> Seen:
    for alternatives in view.alternatives:
        for curve in alternatives.curves.values():
            pairs = (_apart(records, spread) for records in curve.values())
            apart = sorted(filter(None, pairs), key=lambda pair: -pair.ratio)
            if apart:
                high, low, ratio = apart[0]
                records = tuple(record for pair in apart for record in (pair.record, pair.other))
                yield observation(
                    Evidence(alternatives.where([pair.record.size for pair in apart]), records),
                    launches=len({record.start.start for record in curve[low.size]}),
                    place=alternatives.where([low.size]),
                    transport=low.transport,
                    share=ratio - 1,
                    times=f"{format_number(median_us(low))} and {format_number(median_us(high))}",
                    width=max(record.statistics[TIME_METRIC].half_width for record in (low, high)),
                    many=f"; so at {len(apart)} of {len(curve)} sizes" if len(curve) > 1 else "",
                )


def _apart(records: Sequence[Record], spread: float) -> Slower | None:
    """The slowest launch and the fastest, where the intervals over their samples do not overlap:
    what is said of launches here cannot be told over launches."""
    launches = {record.start.start: record for record in records}.values()
    low, high = min(launches, key=median_us), max(launches, key=median_us)
    pair = Slower(high, low, median_us(high) / median_us(low))
    end, beginning = low.statistics[TIME_METRIC].ci_high, high.statistics[TIME_METRIC].ci_low
    if end is None or beginning is None or end >= beginning or pair.ratio - 1 <= spread:
        return None
    return pair if is_steady(low) and is_steady(high) else None
