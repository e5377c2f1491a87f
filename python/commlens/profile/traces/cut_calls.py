"""The calls of a rank that are in a part of a trace, with the numbers that things have there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from commlens.profile.traces.calls import Call, share
from commlens.profile.traces.choice import Choice, Window
from commlens.profile.traces.communicators import Communicator
from commlens.profile.traces.fold import Folding
from commlens.profile.traces.operations import CallUse, Pending, Transfer
from commlens.profile.traces.raw import RankTrace
from commlens.profile.traces.trace import CallTimes, Event, ExactTimes, Node, Once, Trace


class _Numbers:
    """The smallest number that is free for each."""

    def __init__(self, first: int = 0) -> None:
        self._next = first
        self._free: list[int] = []
        self._of: dict[object, int] = {}

    def take(self, own: object) -> int:
        if not self._free:
            self._free.append(self._next)
            self._next += 1
        self._of[own] = heappop(self._free)
        return self._of[own]

    def of(self, own: object) -> int:
        """-1: it has none."""
        return self._of.get(own, -1)

    def free(self, own: object) -> int:
        number = self._of.pop(own, -1)
        if number >= 0:
            heappush(self._free, number)
        return number


class CutRank:
    """Of one rank."""

    def __init__(self, trace: Trace, rank: int, ranks: Sequence[int], choice: Choice) -> None:
        self._trace = trace
        self._rank = rank
        self._new = {own: number for number, own in enumerate(ranks)}
        self._choice = choice
        self._communicators = _Numbers(2)
        self._slots = _Numbers()
        self._messages = _Numbers()
        self._places: dict[Communicator, dict[int, int]] = {}  # of kept peers
        self._arrays: Once[tuple[int, ...]] = Once()
        self._events: Once[Event] = Once()

    def trace(self, steps: Sequence[CallUse], window: Window) -> RankTrace:
        """As if the rank had recorded no more."""
        body, times, exact = self._folded(steps, window)
        nodes = self._trace.header.get("nodes")
        by_rank = (
            dict(zip((own.rank for own in self._trace.ranks), nodes))
            if isinstance(nodes, list)
            else {}
        )
        return RankTrace(
            host=str(by_rank.get(self._rank, 0)),
            rank=self._new[self._rank],
            size=len(self._new),
            seconds=0,
            is_complete=True,
            calls=sum(own.calls for own in times),
            dropped=0,
            functions=self._trace.functions,
            operations=self._trace.operations,
            types=self._trace.types,
            arrays=self._arrays.items,
            events=self._events.items,
            body=body,
            times=times,
            exact=exact,
        )

    def _folded(
        self, steps: Sequence[CallUse], window: Window
    ) -> tuple[tuple[Node, ...], list[CallTimes], list[ExactTimes]]:
        """What is executed, and the times. A call takes the gaps of those before it that are not
        kept; what is before the window takes no time."""
        folding = Folding()
        exact = []
        gap = cpu = 0
        for step in steps:
            call = step.linked.call
            own_gap, own_cpu = _gap_within(call, window)
            gap, cpu = gap + own_gap, cpu + own_cpu
            if not self._choice.keeps(self._rank, step):
                continue
            longest = max(gap, call.times.longest_gap) if gap else 0
            times = replace(call.times, gap=gap, cpu=cpu, longest_gap=longest)
            folding.add(self._events.number(self._event(step)), times)
            if call.is_exact:
                exact.append(ExactTimes(gap, cpu, times.call))
            gap = cpu = 0
        return (*folding.result(), exact)

    def _event(self, step: CallUse) -> Event:
        call = step.linked.call
        named, peers = iter(step.linked.named), iter(self._peers(step))
        fields = []
        for letter, value in zip(call.letters, call.event.fields):
            if letter in "cF":
                fields.append(self._communicator(letter, next(named), value))
            elif letter == "r":
                fields.append(next(peers))
            elif letter == "g":
                fields.append(self._group(value))
            elif letter == "C":
                made = step.linked.made
                fields.append(self._communicators.take(made) if made else -1)
            elif letter in "QMm":
                fields.append(self._slot(letter, step, value))
            elif letter in "qsI":
                fields.append(self._slots_used(letter, step, value))
            elif letter in "ay":
                fields.append(self._arrays.number(self._trace.arrays[value]) if value >= 0 else -1)
            else:
                fields.append(value)
        if call.name == "MPI_Startall":
            fields[0] = len(self._arrays.items[fields[1]])
        self._release(step)
        return Event(call.event.function, tuple(fields))

    def _communicator(self, letter: str, own: Communicator | None, value: int) -> int:
        if value < 2:  # MPI_COMM_NULL, MPI_COMM_WORLD, MPI_COMM_SELF
            return value
        return self._communicators.free(own) if letter == "F" else self._communicators.of(own)

    def _peers(self, step: CallUse) -> Iterator[int]:
        """The ranks that the call names: -1, nobody, for the half of a send-receive that is not
        kept."""
        call, named = step.linked.call, step.linked.named
        values = [f for letter, f in zip(call.letters, call.event.fields) if letter == "r"]
        is_kept = [True] * len(values)
        if "endrecv" in call.name:
            parts = (
                part for own in step.part_of if isinstance(own, Transfer) for part in own.parts
            )
            kinds = {part.kind for part in parts if part in self._choice.communications}
            is_kept = ["send" in kinds, "receive" in kinds]
        for at, value in enumerate(values):
            yield self._peer(named[min(at, len(named) - 1)], value) if is_kept[at] else -1

    def _peer(self, communicator: Communicator | None, value: int) -> int:
        if communicator is None or value < 0:  # the first: MPI does not read it
            return value
        if communicator not in self._places:
            peers = communicator.peers(self._rank)
            kept = [at for at, rank in enumerate(peers) if rank in self._new]
            self._places[communicator] = {at: place for place, at in enumerate(kept)}
        return self._places[communicator].get(value, 0)

    def _group(self, value: int) -> int:
        members = self._trace.array(value)
        kept = tuple(self._new[own] for own in members if own in self._new)
        return self._arrays.number(kept) if value >= 0 else value

    def _slot(self, letter: str, step: CallUse, value: int) -> int:
        """Of a request or a message that the call makes, or of a message that it receives."""
        if value < 0:
            return value
        if letter == "m":
            return self._messages.free(step.uses[0])
        return (self._slots if letter == "Q" else self._messages).take(step.part_of[0])

    def _slots_used(self, letter: str, step: CallUse, value: int) -> int:
        """Of the requests that the call is given, or of those that it completes."""
        if letter == "q":
            return self._slots.of(step.uses[0])
        if value < 0:
            return value
        if letter == "I":
            done = (at for at in self._trace.array(value) if self._completes(step, step.uses[at]))
            return self._arrays.number(tuple(done))
        slots = [self._slots.of(own) for own in step.uses]
        if step.linked.call.name == "MPI_Startall":  # which takes no null requests
            started = (own for own in step.part_of if isinstance(own, Transfer) and own.is_kept)
            slots = [self._slots.of(own.persistent) for own in started]
        return self._arrays.number(tuple(slots))

    def _completes(self, step: CallUse, held: Pending | None) -> bool:
        kept = [own for own in step.ends if own.is_kept]
        return any(held in (own, getattr(own, "persistent", None)) for own in kept)

    def _release(self, step: CallUse) -> None:
        """A request of a completed operation; a persistent one when it is freed."""
        for own in step.ends:
            self._slots.free(own)
        if step.linked.call.name == "MPI_Request_free":
            self._slots.free(step.uses[0])


def _gap_within(call: Call, window: Window) -> tuple[int, int]:
    """What of the gap before the call is in the window, and of its CPU time."""
    times = call.times
    if call.begin < window.begin or times.gap == 0:
        return 0, 0 if call.begin < window.begin else times.cpu
    before = max(0, share(times.gap, 0, times.calls) - (call.begin - window.begin))
    return times.gap - before, times.cpu * (times.gap - before) // times.gap
