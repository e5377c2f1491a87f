"""Makes one trace of what the ranks have recorded."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.profile.traces.raw import RankTrace
from commlens.profile.traces.trace import Datatype, Event, Node, Once, Rank, Trace, renumbered


def merged(ranks: Sequence[RankTrace], mpi: str) -> Trace:
    """Ranks with equal sequences share a body. Raises nothing: what is missing is in the header."""
    ordered = sorted(ranks, key=lambda own: own.rank)
    first = ordered[0]
    trace = Trace(operations=[*first.operations, "user"])
    lists = _Lists()
    for own in ordered:
        body = lists.bodies.number(renumbered(own.body, _Renumbered(own, lists).events))
        trace.ranks.append(Rank(own.rank, body, own.times, own.exact))
    trace.functions, trace.types = lists.functions.items, lists.types.items
    trace.arrays, trace.events, trace.bodies = (
        lists.arrays.items, lists.events.items, lists.bodies.items,
    )  # fmt: skip
    hosts = [*dict.fromkeys(own.host for own in ordered)]
    trace.header = {
        "ranks": first.size,
        "mpi": mpi,
        "seconds": round(max(own.seconds for own in ordered), 9),
        "complete": len(ordered) == first.size and all(own.is_complete for own in ordered),
        "nodes": [hosts.index(own.host) for own in ordered],
        "events": [own.calls for own in ordered],
        "dropped": [own.dropped for own in ordered],
        "unit_ns": 1,
    }
    return trace


class _Lists:
    """What all ranks have in common."""

    def __init__(self) -> None:
        self.functions: Once[str] = Once()
        self.types: Once[Datatype] = Once()
        self.arrays: Once[tuple[int, ...]] = Once()
        self.events: Once[Event] = Once()
        self.bodies: Once[tuple[Node, ...]] = Once()


class _Renumbered:
    """The events of a rank with the numbers that all ranks have in common."""

    def __init__(self, rank: RankTrace, lists: _Lists) -> None:
        self._types = [lists.types.number(kind) for kind in rank.types]
        self._rank = rank
        self._functions = lists.functions
        self._arrays = lists.arrays
        self.events = [lists.events.number(self._event(event)) for event in rank.events]

    def _event(self, event: Event) -> Event:
        function = self._rank.functions[event.function]
        letters = function.partition(" ")[2]
        fields = (self._field(letter, value) for letter, value in zip(letters, event.fields))
        return Event(self._functions.number(function), tuple(fields))

    def _field(self, letter: str, value: int) -> int:
        if value < 0:
            return value
        if letter == "T":
            return self._types[value]
        if letter in "asgI":
            return self._arrays.number(self._rank.arrays[value])
        if letter == "y":
            numbers = self._rank.arrays[value]
            return self._arrays.number(
                tuple(self._types[own] if own >= 0 else -1 for own in numbers)
            )
        return value
