"""What of a trace belongs together: the calls of each operation, the parts of each collective, the
calls that make one communicator."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from commlens.profile.traces.calls import Call
from commlens.profile.traces.communicators import Communicator
from commlens.profile.traces.linked import Communication, LinkedCall, ended_slots, used_slots
from commlens.profile.traces.trace import Trace


@dataclass(eq=False)
class Pending:
    """An operation of a rank: the calls that begin and complete it."""

    rank: int
    communicator: Communicator
    calls: list[LinkedCall]  # it needs all of them
    is_open: bool = False  # the trace ends before it does
    is_kept: bool = False


@dataclass(eq=False)
class Persistent(Pending):
    """A persistent request, from the call that makes it."""

    key: object = None  # of a collective: the same one on its ranks
    operations: list[Transfer] = field(default_factory=list)


@dataclass(eq=False)
class Transfer(Pending):
    """A communication, or both of a send-receive; none: to or from MPI_PROC_NULL."""

    parts: list[Communication] = field(default_factory=list)
    key: object = None  # as above
    persistent: Persistent | None = None


@dataclass(eq=False)
class Making:
    """The calls of all ranks that make communicators together."""

    arrivals: dict[int, Pending] = field(default_factory=dict)
    made: set[Communicator] = field(default_factory=set)
    bridge: Communicator | None = None  # over which two groups find each other

    @property
    def name(self) -> str:
        """Of the function."""
        return next(iter(self.arrivals.values())).calls[0].call.name

    @property
    def sources(self) -> set[Communicator]:
        """The communicators that it takes: one, but for MPI_Intercomm_create."""
        sources = {own.communicator for own in self.arrivals.values()}
        return sources | {self.bridge} if self.bridge else sources


@dataclass
class CallUse:
    """A call, and what it has to do with."""

    linked: LinkedCall
    part_of: list[Pending] = field(default_factory=list)
    uses: list[Pending | None] = field(default_factory=list)  # None: a null request
    ends: list[Pending] = field(default_factory=list)
    probed: Communication | None = None


@dataclass
class Operations:
    """Of a trace."""

    steps: dict[int, list[CallUse]] = field(default_factory=dict)  # by rank
    held: list[Pending] = field(default_factory=list)
    makings: dict[object, Making] = field(default_factory=lambda: defaultdict(Making))

    def transfers(self) -> Iterator[Transfer]:
        """What communicates."""
        return (own for own in self.held if isinstance(own, Transfer))

    def persistent(self) -> Iterator[Persistent]:
        """The persistent requests."""
        return (own for own in self.held if isinstance(own, Persistent))


def operations_of(trace: Trace, walked: dict[int, list[LinkedCall]]) -> Operations:
    """Of all calls."""
    found = Operations()
    for rank, calls in walked.items():
        walk = _Walk(trace, rank, found)
        found.steps[rank] = [walk.step(linked) for linked in calls]
        _find_probed(found.steps[rank])
    return found


def _is_probe(name: str) -> bool:
    return name in ("MPI_Probe", "MPI_Iprobe")


def has_seen(call: Call) -> bool:
    """Whether it is a probe that has found a message."""
    has_none = call.letters[-1:] == "f" and not call.event.fields[-1]
    return _is_probe(call.name) and not has_none and call.event.fields[0] != -1  # MPI_PROC_NULL


class _Walk:
    """The calls of one rank."""

    def __init__(self, trace: Trace, rank: int, found: Operations) -> None:
        self._trace = trace
        self._rank = rank
        self._found = found
        self._slots: dict[int, Pending] = {}
        self._active: dict[int, Transfer] = {}  # started persistent ones, by their slots
        self._messages: dict[int, Transfer] = {}
        self._counts: Counter[object] = Counter()

    def step(self, linked: LinkedCall) -> CallUse:
        call, step = linked.call, CallUse(linked)
        letters, fields = call.letters, call.event.fields
        if "C" in letters:
            self._make(step)
        elif "m" in letters:
            self._receive_matched(step)
        elif letters.startswith("q") or "s" in letters:
            self._use_requests(step)
        elif "c" not in letters or _is_probe(call.name) or (letters[-1] == "f" and not fields[-1]):
            pass
        elif call.name.removesuffix("_c").endswith("_init"):
            self._hold(step, Persistent(self._rank, self._communicator(linked), [linked]))
        else:
            self._transfer(step)
        return step

    def _communicator(self, linked: LinkedCall) -> Communicator:
        own = linked.named[0]
        assert own is not None, "linked_calls has refused it"
        return own

    def _hold(self, step: CallUse, held: Pending) -> None:
        """In the slot of the request that the call makes."""
        call = step.linked.call
        step.part_of.append(held)
        self._found.held.append(held)
        slot = call.event.fields[call.letters.index("Q")] if "Q" in call.letters else -1
        if slot >= 0:
            self._slots[slot] = held
            held.is_open = not isinstance(held, Persistent)
        if isinstance(held, Persistent) and "t" not in call.letters:
            held.key = self._next(held.communicator, "init")
        if isinstance(held, Transfer) and "t" not in call.letters:
            held.key = self._next(held.communicator, "")

    def _next(self, *key: object) -> object:
        """All ranks call the collectives of a communicator in the same order: a count is enough."""
        self._counts[key] += 1
        return *key, self._counts[key]

    def _make(self, step: CallUse) -> None:
        linked = step.linked
        call, parent = linked.call, self._communicator(linked)
        fields = call.event.fields
        key: object
        if call.name == "MPI_Comm_create_group":
            key = self._next(parent, self._trace.array(fields[1]), fields[2])
        elif call.name == "MPI_Intercomm_create":
            key = linked.made  # both sides
        else:
            key = self._next(parent, "make")
        making = self._found.makings[key]
        making.arrivals[self._rank] = arrival = Pending(self._rank, parent, [linked])
        if linked.made is not None:
            making.made.add(linked.made)
        if call.name == "MPI_Intercomm_create" and parent.ranks[fields[1]] == self._rank:
            making.bridge = linked.named[1]
        self._hold(step, arrival)

    def _transfer(self, step: CallUse) -> None:
        linked = step.linked
        own = Transfer(self._rank, self._communicator(linked), [linked], parts=linked.begun)
        if "M" in linked.call.letters:
            self._messages[linked.call.event.fields[3]] = own
            own.is_open = True
            step.part_of.append(own)
            self._found.held.append(own)
        else:
            self._hold(step, own)

    def _receive_matched(self, step: CallUse) -> None:
        linked = step.linked
        own = self._messages.pop(linked.call.event.fields[3], None)
        step.uses.append(own)
        if own is None:
            return
        own.calls.append(linked)
        step.part_of.append(own)
        own.parts = linked.begun
        own.is_open = "Q" in linked.call.letters and linked.call.event.fields[-1] >= 0
        if own.is_open:
            self._slots[linked.call.event.fields[-1]] = own
        else:
            step.ends.append(own)

    def _use_requests(self, step: CallUse) -> None:
        call = step.linked.call
        step.uses = [self._slots.get(slot) for slot in used_slots(self._trace, call)]
        slots = ended_slots(self._trace, call)
        if call.name in ("MPI_Start", "MPI_Startall"):
            self._start(step, slots)
        elif call.name == "MPI_Cancel":
            if own := self._active.get(slots[0], self._slots.get(slots[0])):
                own.calls.append(step.linked)
                step.part_of.append(own)
        else:
            frees = call.name == "MPI_Request_free"
            step.ends += (own for slot in slots if (own := self._end(step.linked, slot, frees)))
            step.part_of += step.ends

    def _start(self, step: CallUse, slots: list[int]) -> None:
        begun = iter(step.linked.begun)
        for slot in slots:
            persistent = self._slots.get(slot)
            if not isinstance(persistent, Persistent):
                continue
            own = Transfer(self._rank, persistent.communicator, [step.linked], is_open=True)
            own.parts = [next(begun) for _ in range(self._parts(persistent))]
            own.persistent = persistent
            if persistent.key is not None:
                own.key = persistent.key, len(persistent.operations)
            persistent.operations.append(own)
            self._active[slot] = own
            step.part_of.append(own)
            self._found.held.append(own)

    def _parts(self, persistent: Persistent) -> int:
        """A message to nobody is none."""
        call = persistent.calls[0].call
        ranks = (f for letter, f in zip(call.letters, call.event.fields) if letter == "r")
        return 0 if "t" in call.letters and next(ranks) == -1 else 1

    def _end(self, linked: LinkedCall, slot: int, frees: bool) -> Pending | None:
        own: Pending | None = self._active.pop(slot, None)
        if own is None and not isinstance(self._slots.get(slot), Persistent):
            own = self._slots.pop(slot, None)
        if frees:
            self._slots.pop(slot, None)
        if own is not None:
            own.calls.append(linked)
            own.is_open = False
        return own


def _find_probed(steps: list[CallUse]) -> None:
    """A probe sees the message that the next receive takes which fits."""
    later: dict[Communicator, list[Communication]] = defaultdict(list)  # the next one is the last
    for step in reversed(steps):
        call = step.linked.call
        for own in step.linked.begun:
            if own.kind == "receive" and own.other is not None:
                later[own.communicator].append(own)
        communicator = step.linked.named[0] if has_seen(call) else None
        if communicator is not None:
            rank, tag = call.event.fields[:2]
            seen = (own for own in reversed(later[communicator]) if _fits(own, rank, tag))
            step.probed = next(seen, None)


def _fits(receive: Communication, rank: int, tag: int) -> bool:
    """Whether the message is of this rank and tag, negative ones of any."""
    send = receive.other
    assert send is not None
    source = receive.communicator.peers(receive.rank)
    return (rank < 0 or source[rank] == send.rank) and (tag < 0 or tag == send.tag)
