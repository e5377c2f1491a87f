"""Peers as distances from the rank that names them: ranks whose messages go the same way then have
the same calls, and share a body in the file of a trace (docs/trace.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from commlens.profile.traces.trace import Event, Node, Once, Trace, leaves, renumbered

_Call = tuple[str, tuple[int, ...]]  # the function with its letters, and the fields
_MADE_ON_ALL = ("MPI_Comm_dup", "MPI_Comm_idup", "MPI_Comm_split")  # with any number of ranks


def relative(trace: Trace) -> Trace:
    """With distances (`d`) in place of ranks (`r`) where more ranks then make the call."""
    size = trace.header.get("ranks")
    if not isinstance(size, int):
        return trace
    forms: dict[int, dict[int, tuple[_Call, _Call]]] = {}  # of each rank's events: both
    makers: Counter[_Call] = Counter()
    for rank in trace.ranks:
        forms[rank.rank] = own = {}
        for number in {*leaves(trace.bodies[rank.body])}:
            call = _call(trace, number)
            own[number] = call, _with_distances(call, rank.rank, size)
            makers.update({*own[number]})

    def better(rank: int, number: int) -> _Call:
        kept, other = forms[rank][number]
        return other if makers[other] > makers[kept] else kept

    return _rewritten(trace, better)


def absolute(trace: Trace) -> Trace:
    """With ranks in place of distances. Raises ValueError for those of a trace without `ranks`."""
    if not any("d" in name.partition(" ")[2] for name in trace.functions):
        return trace
    size = trace.header.get("ranks")
    if not isinstance(size, int) or size < 1:
        raise ValueError("distances in a trace that does not say how many ranks it has")

    def ranks(rank: int, number: int) -> _Call:
        function, fields = _call(trace, number)
        name, _, letters = function.partition(" ")
        peers = (
            (rank + field) % size if letter == "d" and field >= 0 else field
            for letter, field in zip(letters, fields)
        )
        return f"{name} {letters.replace('d', 'r')}", tuple(peers)

    return _rewritten(trace, ranks)


def least_ranks(trace: Trace) -> int | None:
    """The least number of ranks on which a trace with distances can be replayed; None unless all
    ranks make the same calls. A distance of half of the ranks or more may be one in the other
    direction."""
    size = trace.header.get("ranks")
    bodies = {rank.body for rank in trace.ranks}
    is_whole = trace.header.get("complete") is True and len(trace.ranks) == size
    if not isinstance(size, int) or size < 2 or not is_whole or len(bodies) != 1:
        return None
    least = 1
    for number in {*leaves(trace.bodies[bodies.pop()])}:
        needed = _least_of(*_call(trace, number), size)
        if needed is None:
            return None
        least = max(least, needed)
    return least


def _least_of(function: str, fields: tuple[int, ...], size: int) -> int | None:
    """The same of a call."""
    name, _, letters = function.partition(" ")
    if any(letter in letters for letter in "agy"):  # arrays with something for each rank
        return None
    if "C" in letters and not name.startswith(_MADE_ON_ALL):
        return None
    least = 1
    for letter, field in zip(letters, fields):
        if letter == "d" and field >= 0:
            distance = min(field, size - field)
            if 2 * distance >= size:
                return None
            least = max(least, 2 * distance + 1)
        elif letter == "r" and "t" not in letters:  # a root
            least = max(least, field + 1)
        elif (letter in "rd" and field != -1) or (letter == "t" and field < 0):
            return None
    return least


def _with_distances(call: _Call, rank: int, size: int) -> _Call:
    """The call of this rank, if it is a message within MPI_COMM_WORLD; else as it is."""
    function, fields = call
    name, _, letters = function.partition(" ")
    is_message = {"r", "t", "c"} <= {*letters} and "C" not in letters
    if not is_message or fields[letters.index("c")] != 0:
        return call
    peers = (
        (field - rank) % size if letter == "r" and field >= 0 else field
        for letter, field in zip(letters, fields)
    )
    return f"{name} {letters.replace('r', 'd')}", tuple(peers)


def _call(trace: Trace, number: int) -> _Call:
    event = trace.events[number]
    return trace.functions[event.function], event.fields


def _rewritten(trace: Trace, rewrite: Callable[[int, int], _Call]) -> Trace:
    """With other calls of each rank, in the same places."""
    functions, events, bodies = Once[str](), Once[Event](), Once[tuple[Node, ...]]()
    ranks = []
    for rank in trace.ranks:
        body = trace.bodies[rank.body]
        numbers = {}
        for number in dict.fromkeys(leaves(body)):
            function, fields = rewrite(rank.rank, number)
            numbers[number] = events.number(Event(functions.number(function), fields))
        ranks.append(replace(rank, body=bodies.number(renumbered(body, numbers))))
    return replace(
        trace, functions=functions.items, events=events.items, bodies=bodies.items, ranks=ranks
    )
