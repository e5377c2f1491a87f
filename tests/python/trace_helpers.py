"""Traces that are made by hand, and what is in a trace."""

from __future__ import annotations

from collections import Counter

from commlens.profile.traces.trace import CallTimes, Datatype, Event, Loop, Rank, Trace, leaves


def calls_of(trace: Trace, rank: Rank) -> Counter[str]:
    """How often the rank has called each function."""
    counted: Counter[str] = Counter()
    for event, times in zip(leaves(trace.bodies[rank.body]), rank.times):
        counted[trace.functions[trace.events[event].function].split(" ")[0]] += times.calls
    return counted


def small() -> Trace:
    """Two ranks that exchange a message three times, and reduce."""
    times = 3 * [CallTimes(3, 9000, 6000, 300, 4000, 200, 3)]
    times.append(CallTimes(1, 3000, 2000, 100, 3000, 100, 1))
    body = (Loop(3, (0, 1, 2)), 3)
    return Trace(
        header={"ranks": 2, "complete": True},
        functions=[
            "MPI_Irecv bnTrtcQ", "MPI_Send bnTrtc", "MPI_Wait q", "MPI_Allreduce bbnToc",
            "MPI_Comm_split cknC",
        ],
        operations=["MPI_SUM", "user"],
        types=[Datatype("MPI_DOUBLE", 8, 0, 8, 1)],
        events=[
            Event(0, (0, 10, 0, 1, 5, 0, 0)), Event(1, (0, 10, 0, 1, 5, 0)), Event(2, (0,)),
            Event(3, (0, 0, 4, 0, 0, 0)), Event(0, (0, 10, 0, 0, 5, 0, 0)),
            Event(1, (0, 10, 0, 0, 5, 0)), Event(4, (0, 1, 0, 2)), Event(3, (0, 0, 4, 0, 0, 2)),
        ],
        bodies=[body, (Loop(3, (4, 5, 2)), 3)],
        ranks=[Rank(0, 0, times), Rank(1, 1, times)],
    )  # fmt: skip


def ring(ranks: int) -> Trace:
    """Each sends to the next and receives from the one before."""
    events = [
        Event(0, (0, 8, 0, (rank + 1) % ranks, 1, 0, 8, 0, (rank - 1) % ranks, 1, 0))
        for rank in range(ranks)
    ]
    return Trace(
        header={"ranks": ranks, "complete": True},
        functions=["MPI_Sendrecv bnTrtbnTrtc"],
        types=[Datatype("MPI_DOUBLE", 8, 0, 8, 1)],
        events=events,
        bodies=[(rank,) for rank in range(ranks)],
        ranks=[Rank(rank, rank, [CallTimes(1, 9, 8, 7, 9, 7, 1)]) for rank in range(ranks)],
    )
