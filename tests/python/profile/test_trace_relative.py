"""Peers as distances: ranks that do the same share a body, and any number of ranks can do it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commlens.profile.traces import container
from commlens.profile.traces.relative import absolute, least_ranks, relative
from commlens.profile.traces.trace import CallTimes, Datatype, Event, Rank, Trace
from conftest import Commlens

Calls = Callable[[int, int], list[Event]]  # of a rank, in a number of ranks
SENDRECV, SEND, RECV, BCAST, GATHERV, DUP, CART, MERGE = range(8)
FUNCTIONS = [
    "MPI_Sendrecv bnTrtbnTrtc", "MPI_Send bnTrtc", "MPI_Recv bnTrtc", "MPI_Bcast bnTrc",
    "MPI_Gatherv bnTbaaTrc", "MPI_Comm_dup cC", "MPI_Cart_create cnaanC",
    "MPI_Intercomm_merge cnC",
]  # fmt: skip


def shift(distance: int, communicator: int = 0) -> Calls:
    """To the rank at this distance, from the one before."""

    def calls(rank: int, ranks: int) -> list[Event]:
        to, source = (rank + distance) % ranks, (rank - distance) % ranks
        return [Event(SENDRECV, (0, 8, 0, to, 1, 0, 8, 0, source, 1, communicator))]

    return calls


def always(function: int, *fields: int) -> Calls:
    return lambda rank, ranks: [Event(function, fields)]


def to_the_first(rank: int, ranks: int) -> list[Event]:
    if rank:
        return [Event(SEND, (0, 1, 0, 0, 0, 0))]
    return [Event(RECV, (0, 1, 0, own, 0, 0)) for own in range(1, ranks)]


def made(ranks: int, *parts: Calls) -> Trace:
    """A trace in which each rank makes the calls of all parts."""
    events: list[Event] = []
    bodies, of_rank = [], []
    for rank in range(ranks):
        own = [event for part in parts for event in part(rank, ranks)]
        events += [event for event in own if event not in events]
        bodies.append(tuple(events.index(event) for event in own))
        of_rank.append(Rank(rank, rank, [CallTimes(1, 9, 8, 7, 9, 7, 1) for _ in own]))
    return Trace(
        header={"ranks": ranks, "complete": True},
        functions=FUNCTIONS,
        types=[Datatype("MPI_DOUBLE", 8, 0, 8, 1)],
        arrays=[(1, 1, 1)],
        events=events,
        bodies=bodies,
        ranks=of_rank,
    )


def sequences(trace: Trace) -> list[list[tuple[str, tuple[int, ...]]]]:
    """The calls of each rank."""
    return [
        [
            (trace.functions[trace.events[number].function], trace.events[number].fields)
            for number in trace.bodies[rank.body]
            if isinstance(number, int)
        ]
        for rank in trace.ranks
    ]


def test_ranks_that_do_the_same_share_a_body(tmp_path: Path) -> None:
    trace = made(4, shift(1), always(BCAST, 0, 2, 0, 0, 0))
    assert len(relative(trace).bodies) == 1
    sendrecv, bcast = relative(trace).events
    assert sendrecv.fields == (0, 8, 0, 1, 1, 0, 8, 0, 3, 1, 0), "to the next, from the one before"
    assert bcast.fields == (0, 2, 0, 0, 0)
    file = tmp_path / "t.clt"
    file.write_bytes(container.written(trace))
    again = container.read(file)
    assert sequences(again) == sequences(trace)
    assert again.header["least_ranks"] == 3


@pytest.mark.parametrize("part", [to_the_first, shift(1, communicator=2)])
def test_other_peers_stay_ranks(part: Calls) -> None:
    trace = made(4, part)
    assert not any("d" in name.partition(" ")[2] for name in relative(trace).functions)
    assert sequences(absolute(relative(trace))) == sequences(trace)


@pytest.mark.parametrize(
    ("ranks", "parts", "least"),
    [
        (2, [always(BCAST, 0, 2, 0, 1, 0)], 2),
        (3, [shift(1), shift(2)], 3),
        (7, [shift(2), shift(-1)], 5),
        (4, [shift(0), always(DUP, 0, 2), always(BCAST, 0, 2, 0, 0, 2)], 1),
        (4, [always(SEND, 0, 8, 0, -1, 1, 0)], 1),
        (1, [shift(0)], None),  # says nothing of other ranks
        (2, [shift(1)], None),  # to the next or to the one before?
        (4, [shift(2)], None),
        (3, [to_the_first], None),
        (3, [shift(1, communicator=2)], None),
        (3, [always(GATHERV, 0, 1, 0, 0, 0, 0, 0, 0, 0)], None),
        (3, [always(CART, 0, 1, 0, 0, 0, 2)], None),
        (3, [always(MERGE, 2, 0, 3)], None),
        (3, [always(RECV, 0, 1, 0, -2, 0, 0)], None),  # MPI_ANY_SOURCE
    ],
)
def test_uniform_traces_say_on_how_many_ranks(
    ranks: int, parts: list[Calls], least: int | None
) -> None:
    trace = relative(made(ranks, *parts))
    assert least_ranks(trace) == least
    trace.header["complete"] = False
    assert least_ranks(trace) is None


def test_info_says_that_a_trace_is_uniform(commlens: Commlens, tmp_path: Path) -> None:
    for ranks in (2, 3):
        file = tmp_path / f"{ranks}.clt"
        file.write_bytes(container.written(made(ranks, shift(1))))
        said = "uniform: it can be replayed on 3 or more ranks"
        assert (said in commlens("trace", "info", file).stdout) == (ranks == 3)
    file.write_bytes(file.read_bytes()[:-1])
    assert "uniform" not in commlens("trace", "info", file).stdout, "its last rank is missing"
