"""What is in a trace: counts, bytes, loops, and what a replay cannot do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from commlens.profile.traces.trace import Event, Loop, Node, Rank, Trace, leaves

_SENDS = "bnTrt"  # buffer, count, type, destination, tag: the beginning of what sends


@dataclass(frozen=True)
class FunctionSummary:
    """Over all ranks."""

    name: str
    calls: int
    seconds: float  # in the calls
    is_replayed: bool


@dataclass(frozen=True)
class Summary:
    """Of a trace."""

    functions: list[FunctionSummary]  # the most time first
    messages: int  # of point-to-point operations
    message_bytes: int
    communicators: int  # that calls have made, once for each rank
    most_communicators: int  # of these that a rank had at a time
    gap_seconds: float  # between the calls
    cpu_seconds: float  # of the CPU, in the gaps
    places: int  # leaves of all bodies
    deepest: int  # loops within each other

    @property
    def calls(self) -> int:
        """Of all ranks."""
        return sum(function.calls for function in self.functions)

    @property
    def seconds(self) -> float:
        """In all calls."""
        return sum(function.seconds for function in self.functions)

    @property
    def opaque_share(self) -> float:
        """Of the time in MPI: calls that a replay does not execute."""
        opaque = sum(own.seconds for own in self.functions if not own.is_replayed)
        return opaque / self.seconds if self.seconds else 0.0


def summarize(trace: Trace) -> Summary:
    """Counts without executing the loops."""
    calls: Counter[str] = Counter()
    nanoseconds: Counter[str] = Counter()
    messages = message_bytes = gap = cpu = 0
    communicators = most_communicators = 0
    for rank in trace.ranks:
        for event, times in zip(leaves(trace.bodies[rank.body]), rank.times):
            name = trace.functions[trace.events[event].function]
            calls[name] += times.calls
            nanoseconds[name] += times.call
            gap += times.gap
            cpu += times.cpu
            made = made_communicator(trace, trace.events[event])
            if made is not None:
                communicators += times.count
                most_communicators = max(most_communicators, made - 1)  # after WORLD and SELF
            sent = sent_bytes(trace, trace.events[event])
            if sent is not None:
                messages += times.count
                message_bytes += times.count * sent
    functions = [
        FunctionSummary(name.split(" ")[0], calls[name], time / 1e9, not name.endswith(" "))
        for name, time in nanoseconds.most_common()
    ]
    return Summary(
        functions,
        messages,
        message_bytes,
        communicators,
        most_communicators,
        gap / 1e9,
        cpu / 1e9,
        sum(len(rank.times) for rank in trace.ranks),
        max((_depth(body) for body in trace.bodies), default=0),
    )


def made_communicator(trace: Trace, event: Event) -> int | None:
    """The number of the communicator that the call makes, if it makes one."""
    letters = trace.functions[event.function].partition(" ")[2]
    made = event.fields[letters.index("C")] if "C" in letters else -1
    return made if made >= 0 else None


def sent_bytes(trace: Trace, event: Event) -> int | None:
    """Of a call that sends a message to one rank; else None."""
    name, _, letters = trace.functions[event.function].partition(" ")
    is_send = letters.startswith(_SENDS) and "recv" not in name.lower().replace("sendrecv", "")
    if not is_send or event.fields[3] < 0:
        return None
    kind = event.fields[2]
    return event.fields[1] * (trace.types[kind].size if 0 <= kind < len(trace.types) else 0)


def _depth(body: tuple[Node, ...]) -> int:
    return max((1 + _depth(node.body) for node in body if isinstance(node, Loop)), default=0)


def problems(trace: Trace) -> Iterator[str]:
    """What a replay would stumble over, a line each."""
    ranks = trace.header.get("ranks")
    if isinstance(ranks, int) and len(trace.ranks) < ranks:
        yield f"{ranks - len(trace.ranks)} of {ranks} ranks have no trace"
    if trace.header.get("cut"):
        yield "the file is cut: what follows its last whole block is missing"
    elif not trace.header.get("complete", True):
        yield "not every rank came to MPI_Finalize: the trace ends where the first one did"
    dropped = trace.header.get("dropped")
    if isinstance(dropped, list) and any(dropped):
        yield f"{sum(dropped)} calls are missing: several threads called MPI, or there was no room"
    for rank in trace.ranks:
        if line := _unknown_number(trace, rank):
            yield line


def _unknown_number(trace: Trace, rank: Rank) -> str:
    for event in leaves(trace.bodies[rank.body]):
        name, _, letters = trace.functions[trace.events[event].function].partition(" ")
        fields = trace.events[event].fields
        limits = {"T": len(trace.types), "o": len(trace.operations)}
        limits |= dict.fromkeys("asygI", len(trace.arrays))
        for letter, value in zip(letters, fields):
            if value >= limits.get(letter, value + 1):
                return f"rank {rank.rank}: {name} has an unknown type, operation or array"
    return ""
