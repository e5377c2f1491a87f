"""Which ranks the communicators of a trace have: a trace has only the calls that make them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from commlens.base.errors import CommlensError
from commlens.profile.traces.trace import Event, Rank, Trace, executed

_SAME_RANKS = (
    "MPI_Comm_dup", "MPI_Comm_idup", "MPI_Cart_create", "MPI_Graph_create", "MPI_Dist_graph",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Communicator:
    """One for all its ranks; an intercommunicator has two groups."""

    groups: tuple[tuple[int, ...], ...]  # ranks of MPI_COMM_WORLD
    made_by: str
    dimensions: tuple[int, ...] = ()  # of a Cartesian topology

    @property
    def ranks(self) -> tuple[int, ...]:
        """Of all groups."""
        return tuple(rank for group in self.groups for rank in group)

    def peers(self, rank: int) -> tuple[int, ...]:
        """The group in which this rank of the world names others."""
        return self.groups[-1] if rank in self.groups[0] else self.groups[0]


@dataclass(frozen=True)
class _Arrival:
    """A rank in a call that makes a communicator."""

    rank: int
    name: str
    fields: tuple[int, ...]
    parent: Communicator

    @property
    def gets_one(self) -> bool:
        return self.made >= 0

    @property
    def made(self) -> int:
        return self.fields[-2] if "idup" in self.name else self.fields[-1]


@dataclass
class _Walk:
    """A rank, as far as its calls that make communicators are understood."""

    rank: int
    calls: Iterator[Event]
    known: dict[int, Communicator]
    made: list[Communicator | None] = field(default_factory=list)
    from_parent: dict[Communicator, int] = field(default_factory=dict)


def made_communicators(trace: Trace, whole: Communicator) -> dict[int, list[Communicator | None]]:
    """Of each rank, what its calls make from MPI_COMM_WORLD and each other, in their order; None:
    MPI_COMM_NULL. Stops at a call that some ranks of its communicator never make."""
    return _Maker(trace, whole).all()


def world(trace: Trace) -> Communicator:
    """MPI_COMM_WORLD."""
    ranks = trace.header.get("ranks")
    count = ranks if isinstance(ranks, int) else len(trace.ranks)
    return Communicator((tuple(range(count)),), "MPI_COMM_WORLD")


class _Maker:
    def __init__(self, trace: Trace, whole: Communicator) -> None:
        self._trace = trace
        self._world = whole
        nodes = trace.header.get("nodes")
        listed = nodes if isinstance(nodes, list) else []
        self._nodes = dict(zip((rank.rank for rank in trace.ranks), listed))
        self._walks = {rank.rank: self._walk(rank) for rank in trace.ranks}
        self._meetings: dict[object, dict[int, _Arrival]] = {}
        self._duplicates: dict[object, Communicator] = {}
        self._sides: dict[tuple[int, int, int], list[_Arrival]] = {}

    def _walk(self, rank: Rank) -> _Walk:
        trace = self._trace
        makes = ["C" in name.partition(" ")[2] for name in trace.functions]
        events = (trace.events[number] for number, _ in executed(trace.bodies[rank.body]))
        known = {0: self._world, 1: Communicator(((rank.rank,),), "MPI_COMM_SELF")}
        return _Walk(rank.rank, (own for own in events if makes[own.function]), known)

    def all(self) -> dict[int, list[Communicator | None]]:
        ready = deque(self._walks)
        while ready:
            ready.extend(self._advance(self._walks[ready.popleft()]))
        return {rank: walk.made for rank, walk in self._walks.items()}

    def _advance(self, walk: _Walk) -> Sequence[int]:
        """The ranks that may go on."""
        event = next(walk.calls, None)
        if event is None:
            return []
        name = self._trace.functions[event.function].split(" ")[0]
        parent = walk.known.get(event.fields[0])
        if parent is None:
            raise CommlensError(f"rank {walk.rank}: {name} from a communicator that nothing made")
        arrival = _Arrival(walk.rank, name, event.fields, parent)
        if name.startswith("MPI_Comm_create_group"):
            group = self._trace.arrays[event.fields[1]]
            return self._meet((parent, group, event.fields[2]), arrival, group, self._of_group)
        order = walk.from_parent[parent] = walk.from_parent.get(parent, 0) + 1
        key = (parent, order)
        if name.startswith(("MPI_Comm_dup", "MPI_Comm_idup")):  # does not synchronize its ranks
            copy = Communicator(parent.groups, name, parent.dimensions)
            return self._give([arrival], lambda _: self._duplicates.setdefault(key, copy))
        return self._meet(key, arrival, parent.ranks, self._of_all)

    def _meet(
        self,
        key: object,
        arrival: _Arrival,
        ranks: Sequence[int],
        make: Callable[[list[_Arrival]], Sequence[int]],
    ) -> Sequence[int]:
        meeting = self._meetings.setdefault(key, {})
        meeting[arrival.rank] = arrival
        if len(meeting) < len(ranks):
            return []
        del self._meetings[key]
        return make([meeting[rank] for rank in ranks])

    def _give(
        self, arrivals: Sequence[_Arrival], made: Callable[[_Arrival], Communicator]
    ) -> list[int]:
        for arrival in arrivals:
            walk = self._walks[arrival.rank]
            walk.made.append(made(arrival) if arrival.gets_one else None)
            if arrival.gets_one:
                walk.known[arrival.made] = walk.made[-1]  # type: ignore[assignment]
        return [arrival.rank for arrival in arrivals]

    def _of_group(self, arrivals: list[_Arrival]) -> Sequence[int]:
        made = Communicator((tuple(own.rank for own in arrivals),), arrivals[0].name)
        return self._give(arrivals, lambda _: made)

    def _of_all(self, arrivals: list[_Arrival]) -> Sequence[int]:
        first = arrivals[0]
        if first.name == "MPI_Intercomm_create":
            return self._between(arrivals)
        if first.name == "MPI_Intercomm_merge":
            groups = first.parent.groups
            is_high = {own.rank: own.fields[1] for own in arrivals}
            ordered = sorted(groups, key=lambda group: is_high[group[0]])
            merged = Communicator((tuple(rank for group in ordered for rank in group),), first.name)
            return self._give(arrivals, lambda _: merged)
        members = [own for own in arrivals if own.gets_one]
        parts: dict[object, list[_Arrival]] = {}
        for own in members:
            parts.setdefault(self._color(own), []).append(own)
        made = {color: self._of_part(part) for color, part in parts.items()}
        return self._give(arrivals, lambda own: made[self._color(own)])

    def _of_part(self, part: list[_Arrival]) -> Communicator:
        first = part[0]
        ordered = sorted(part, key=self._order)  # stable: then as in the parent
        groups = (
            tuple(own.rank for own in ordered if own.rank in group) for group in first.parent.groups
        )
        dimensions: tuple[int, ...] = ()
        if first.name == "MPI_Cart_create":
            dimensions = self._trace.arrays[first.fields[2]][: first.fields[1]]
        elif first.name == "MPI_Cart_sub":
            kept = self._trace.arrays[first.fields[1]]
            dimensions = tuple(own for own, keep in zip(first.parent.dimensions, kept) if keep)
        return Communicator(tuple(groups), first.name, dimensions)

    def _color(self, own: _Arrival) -> object:
        """Ranks with equal ones get one communicator."""
        if own.name == "MPI_Comm_split":
            return own.fields[1]
        if own.name == "MPI_Comm_split_type":
            if own.fields[1] != 0:
                raise CommlensError(
                    f"rank {own.rank}: MPI_Comm_split_type of a type that a trace does not have: "
                    "its ranks are unknown"
                )
            return self._nodes.get(own.rank)
        if own.name == "MPI_Comm_create":
            group = self._trace.arrays[own.fields[1]]
            return group if len(own.parent.groups) == 1 else ()
        if own.name == "MPI_Cart_sub":
            kept = self._trace.arrays[own.fields[1]]
            at, dimensions = own.parent.ranks.index(own.rank), own.parent.dimensions
            places = [
                at // prod(dimensions[axis + 1 :]) % size for axis, size in enumerate(dimensions)
            ]
            return tuple(place for place, keep in zip(places, kept) if not keep)
        if own.name.startswith(_SAME_RANKS):
            return ()
        raise CommlensError(
            f"rank {own.rank}: {own.name}: a trace does not say who is in its communicator"
        )

    def _order(self, own: _Arrival) -> int:
        if own.name in ("MPI_Comm_split", "MPI_Comm_split_type"):
            return own.fields[2]
        if own.name == "MPI_Comm_create":
            return self._trace.arrays[own.fields[1]].index(own.rank)
        return 0

    def _between(self, arrivals: list[_Arrival]) -> Sequence[int]:
        """Of one local group; joined with the other once that has called it, too."""
        leader = arrivals[arrivals[0].fields[1]]
        bridge = self._walks[leader.rank].known.get(leader.fields[2])
        if bridge is None:
            raise CommlensError(f"rank {leader.rank}: {leader.name} over an unknown communicator")
        remote, tag = bridge.peers(leader.rank)[leader.fields[3]], leader.fields[4]
        other = self._sides.pop((remote, leader.rank, tag), None)
        if other is None:
            self._sides[leader.rank, remote, tag] = arrivals
            return []
        sides = (other, arrivals)
        made = Communicator(tuple(tuple(own.rank for own in side) for side in sides), leader.name)
        return self._give([*other, *arrivals], lambda _: made)
