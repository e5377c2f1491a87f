"""A part of a trace: some of its ranks, a window of its time. A communication is in it with the
calls of all its ranks or not at all, so that nothing waits for what is not there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from commlens.base.errors import CommlensError
from commlens.base.text import ranges
from commlens.profile.traces.choice import Choice, Window
from commlens.profile.traces.cut_calls import CutRank
from commlens.profile.traces.linked import LinkedCall, linked_calls
from commlens.profile.traces.merge import merged
from commlens.profile.traces.operations import operations_of
from commlens.profile.traces.trace import Trace


def cut(trace: Trace, ranks: Collection[int] | None, window: Window) -> Trace:
    """These ranks, or all, and this time of the trace. Raises CommlensError where nothing is left,
    or what is left cannot be replayed."""
    chosen = _chosen(trace, ranks)
    walked = linked_calls(trace)
    found = operations_of(trace, walked)
    choice = Choice(found, frozenset(chosen), window)
    parts = []
    for rank in chosen:
        own = CutRank(trace, rank, chosen, choice)
        parts.append(own.trace(found.steps[rank], window))
    if not any(part.body for part in parts):
        raise CommlensError(
            "no call of these ranks is whole in this time; choose a longer time or more ranks"
        )
    result = merged(parts, str(trace.header.get("mpi", "")))
    result.operations = trace.operations
    result.header |= _header(trace, chosen, window, walked)
    return result


def _chosen(trace: Trace, ranks: Collection[int] | None) -> list[int]:
    there = sorted(rank.rank for rank in trace.ranks)
    if ranks is None:
        return there
    if unknown := {*ranks} - {*there}:
        raise CommlensError(
            f"--ranks {ranges(ranks)}: the trace has no rank {ranges(unknown)}; it has "
            f"{ranges(there) or 'none'}"
        )
    return sorted({*ranks})


def _header(
    trace: Trace, chosen: Sequence[int], window: Window, walked: Mapping[int, list[LinkedCall]]
) -> dict[str, object]:
    """What differs from that of a trace that was recorded."""
    ends = {rank: calls[-1].call.end if calls else 0 for rank, calls in walked.items()}
    seconds = trace.header.get("seconds")
    recorded = seconds if isinstance(seconds, (int, float)) else max(ends.values()) / 1e9
    end = recorded if window.end is None else min(recorded, window.end / 1e9)
    is_past = window.end is not None and all(window.end <= ends[rank] for rank in chosen)
    dropped = trace.header.get("dropped")
    by_rank = dict(zip(ends, dropped)) if isinstance(dropped, list) else {}
    return {
        "seconds": round(max(0.0, end - window.begin / 1e9), 9),
        "complete": is_past or trace.header.get("complete", True),
        "dropped": [by_rank.get(rank, 0) for rank in chosen],
        "part": {"ranks": [*chosen], "from": window.begin / 1e9, "to": end},
    }
