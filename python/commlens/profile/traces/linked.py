"""What the calls of a trace do to each other: messages, collectives, requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from commlens.base.errors import CommlensError
from commlens.base.text import format_count
from commlens.profile.traces.calls import Call, calls_of
from commlens.profile.traces.communicators import Communicator, made_communicators, world
from commlens.profile.traces.trace import Rank, Trace

_ANY = -2  # MPI_ANY_SOURCE
_ANY_TAG = -1
_MOST_CALLS = 4_000_000  # of all ranks: some 800 bytes each


@dataclass(eq=False)
class Communication:
    """One half of a message, or a rank's part of a collective."""

    kind: str  # send, receive or collective
    name: str  # of the function
    number: int  # of those of this rank
    rank: int
    communicator: Communicator
    peer: int  # a rank of the communicator: the other half's, or the root; negative as in the trace
    tag: int
    sent: int  # bytes
    received: int  # of a message: the room for it
    has_request: bool
    is_cancelled: bool = False
    other: Communication | None = None  # the other half of the message

    @property
    def partner(self) -> int:
        """The peer's place among all ranks of the communicator."""
        if self.peer < 0:
            return self.peer
        return self.communicator.ranks.index(self.communicator.peers(self.rank)[self.peer])


@dataclass(frozen=True)
class LinkedCall:
    """A call, with what begins in it, and what ends."""

    call: Call
    begun: list[Communication]
    ended: list[Communication]
    named: tuple[Communicator | None, ...]  # the communicators that it uses or frees
    made: Communicator | None


def linked_calls(trace: Trace) -> dict[int, list[LinkedCall]]:
    """Of each rank; sends and receives know each other. Raises CommlensError for too many: all are
    in memory at once."""
    calls = sum(times.count for rank in trace.ranks for times in rank.times)
    if calls > _MOST_CALLS:
        raise CommlensError(
            f"the trace has {format_count(calls)} calls, of which each is held in memory:"
            f" {format_count(_MOST_CALLS)} are the most; record a shorter run"
        )
    whole = world(trace)
    made = made_communicators(trace, whole)
    walked = {
        rank.rank: [*_Walk(trace, rank, whole, made[rank.rank]).calls()] for rank in trace.ranks
    }
    _match(walked)
    return walked


def used_slots(trace: Trace, call: Call) -> tuple[int, ...]:
    """Those of the requests that the call is given."""
    letters, fields = call.letters, call.event.fields
    return (fields[0],) if letters.startswith("q") else trace.array(fields[1])


def ended_slots(trace: Trace, call: Call) -> list[int]:
    """Those that the call starts, completes, frees or cancels."""
    last, slots = call.event.fields[-1], used_slots(trace, call)
    if call.letters.endswith("f"):
        return [*slots] if last else []
    if call.letters.endswith("i"):
        return [slots[last]] if last >= 0 else []
    if call.letters.endswith("I"):
        return [slots[index] for index in trace.array(last)]
    return [*slots]


class _Walk:
    """The calls of one rank."""

    def __init__(
        self, trace: Trace, rank: Rank, whole: Communicator, made: list[Communicator | None]
    ) -> None:
        self._trace = trace
        self._rank = rank
        self._made = iter(made)
        self._known = {0: whole, 1: Communicator(((rank.rank,),), "MPI_COMM_SELF")}
        self._numbers = count()
        self._slots: dict[int, list[Communication]] = {}
        self._persistent: dict[int, Call] = {}
        self._matched: dict[int, list[Communication]] = {}  # by MPI_Mprobe, until they are received

    def calls(self) -> Iterator[LinkedCall]:
        for call in calls_of(self._trace, self._rank):
            named = self._numbered(call, "cF")
            begun, ended = self._link(call)
            made = self._numbered(call, "C")
            yield LinkedCall(call, begun, ended, named, made[0] if made else None)

    def _numbered(self, call: Call, letters: str) -> tuple[Communicator | None, ...]:
        """The communicators in the fields with these letters."""
        fields = zip(call.letters, call.event.fields)
        return tuple(self._known.get(value) for letter, value in fields if letter in letters)

    def _link(self, call: Call) -> tuple[list[Communication], list[Communication]]:
        letters, fields = call.letters, call.event.fields
        if "C" in letters:
            self._make(call)
        elif letters.startswith("F"):
            self._known.pop(fields[0], None)
        elif "m" in letters:
            return self._receive_matched(call)
        elif "s" in letters or letters.startswith("q"):
            return self._use_requests(call)
        elif "c" in letters:
            if call.name.removesuffix("_c").endswith("_init"):
                self._persistent[fields[-1]] = call
                return [], []
            return self._transfer(call)
        return [], []

    def _make(self, call: Call) -> None:
        try:
            made = next(self._made)
        except StopIteration:
            raise CommlensError(
                f"rank {self._rank.rank}: {call.name} is not called by all of its ranks"
            ) from None
        if made is not None:
            self._known[call.event.fields[call.letters.index("C")]] = made

    def _transfer(self, call: Call) -> tuple[list[Communication], list[Communication]]:
        begun = [*self._communications(call)]
        if "M" in call.letters:
            self._matched[call.event.fields[3]] = begun
            return [], []
        if "Q" not in call.letters:
            return begun, begun
        self._slots[call.event.fields[-1]] = begun
        return begun, []

    def _receive_matched(self, call: Call) -> tuple[list[Communication], list[Communication]]:
        begun = self._matched.pop(call.event.fields[3], [])
        for own in begun:
            own.name, own.has_request = call.name, "Q" in call.letters
            own.received = _Sizes(self._trace, call).of(0)
        if "Q" not in call.letters:
            return begun, begun
        self._slots[call.event.fields[-1]] = begun
        return begun, []

    def _use_requests(self, call: Call) -> tuple[list[Communication], list[Communication]]:
        slots = ended_slots(self._trace, call)
        if call.name in ("MPI_Start", "MPI_Startall"):
            begun = []
            for slot in slots:
                if slot in self._persistent:
                    self._slots[slot] = [*self._communications(self._persistent[slot])]
                    begun += self._slots[slot]
            return begun, []
        if call.name == "MPI_Cancel":
            for own in self._slots.get(slots[0], []):
                own.is_cancelled = True
            return [], []
        if call.name == "MPI_Request_free":
            self._persistent.pop(slots[0], None)
        return [], [own for slot in slots for own in self._slots.pop(slot, [])]

    def _communications(self, call: Call) -> Iterator[Communication]:
        letters, fields = call.letters, call.event.fields
        communicator = self._known.get(fields[letters.index("c")])
        if communicator is None:
            raise CommlensError(
                f"rank {self._rank.rank}: {call.name} in a communicator that nothing has made"
            )
        sizes = _Sizes(self._trace, call)

        def operation(kind: str, peer: int, tag: int, sent: int, received: int) -> Communication:
            return Communication(
                kind, call.name, next(self._numbers), self._rank.rank, communicator, peer, tag,
                sent, received, "Q" in letters,
            )  # fmt: skip

        if "t" not in letters:
            root = fields[letters.index("r")] if "r" in letters else -1
            yield operation(
                "collective", root, 0, *sizes.of_collective(self._rank.rank, communicator)
            )
            return
        ranks = [fields[at] for at, letter in enumerate(letters) if letter == "r"]
        tags = [fields[at] for at, letter in enumerate(letters) if letter == "t"]
        if "endrecv" in call.name:
            both = sizes.of(0), sizes.of(5 if letters.count("n") == 2 else 0)
        else:
            both = (sizes.of(0),) * 2 if "n" in letters else (0, 0)
        is_receive = "recv" in call.name.lower() or "M" in letters
        if ("probe" in call.name.lower() and "M" not in letters) or (
            letters[-1] == "f" and not fields[-1]
        ):
            return
        if (not is_receive or "endrecv" in call.name) and ranks[0] != -1:
            yield operation("send", ranks[0], tags[0], both[0], 0)
        if is_receive and ranks[-1] != -1:
            yield operation("receive", ranks[-1], tags[-1], 0, both[1])


class _Sizes:
    """Bytes of the buffers of a call."""

    def __init__(self, trace: Trace, call: Call) -> None:
        self._trace = trace
        self._call = call

    def of(self, at: int) -> int:
        """Of the buffer that is this field, without regard to how many blocks there are."""
        letters, fields = self._call.letters, self._call.event.fields
        arrays = self._trace.arrays
        if letters[at + 1] == "n":
            return max(fields[at + 1], 0) * self._type(fields[at + 2])
        if fields[at + 1] < 0:
            return 0
        counts = arrays[fields[at + 1]]
        kind = at + 2 + letters[at + 2 :].index("y" if "y" in letters else "T")
        if letters[kind] == "T":
            return sum(counts) * self._type(fields[kind])
        return sum(n * self._type(own) for n, own in zip(counts, arrays[fields[kind]]))

    def _type(self, number: int) -> int:
        return self._trace.types[number].size if number >= 0 else 0

    def of_collective(self, rank: int, communicator: Communicator) -> tuple[int, int]:
        """What the rank sends, and what it receives; a block for itself counts."""
        letters, fields = self._call.letters, self._call.event.fields
        name = self._call.name.lower()
        buffers = [at for at, letter in enumerate(letters) if letter == "b"]
        if not buffers:
            return 0, 0
        peers = communicator.peers(rank)
        root = fields[letters.index("r")] if "r" in letters else 0
        is_root = root == -3 or (root >= 0 and peers[root] == rank)  # -3: MPI_ROOT
        if len(buffers) == 1:  # a broadcast
            size = self.of(0)
            return (size, 0) if is_root else (0, size)
        if letters.startswith("bb"):
            return self._of_reduction(name, len(peers), is_root)
        sent, received = (self.of(at) for at in buffers)
        if fields[buffers[0]] == 1:  # MPI_IN_PLACE
            sent = received
        if fields[buffers[1]] == 1:
            received = sent
        blocks = [len(peers) if letters[at + 1] == "n" else 1 for at in buffers]
        if "alltoall" in name:
            return sent * blocks[0], received * blocks[1]
        if "scatter" in name:
            return sent * blocks[0] if is_root else 0, received
        return sent, received * blocks[1] if "r" not in letters or is_root else 0

    def _of_reduction(self, name: str, peers: int, is_root: bool) -> tuple[int, int]:
        size = self.of(1)
        if "scatter_block" in name:
            return size * peers, size
        if "reduce_scatter" in name:
            return size, size // peers
        return size, size if "allreduce" in name or "scan" in name or is_root else 0


Key = tuple[Communicator, int, int]


def _match(walked: Mapping[int, list[LinkedCall]]) -> None:
    """Messages of one sender with one tag come in the order in which they are sent."""
    sends: dict[Key, dict[int, list[Communication]]] = defaultdict(lambda: defaultdict(list))
    receives: list[Communication] = []
    for own in (own for rank in walked.values() for step in rank for own in step.begun):
        if own.kind == "send":
            to = own.communicator.peers(own.rank)[own.peer]
            sends[own.communicator, to, own.tag][own.rank].append(own)
        elif own.kind == "receive":
            receives.append(own)
    for lists in sends.values():
        for waiting in lists.values():
            waiting.reverse()  # the first one is the last
    exact = [own for own in receives if own.peer >= 0 and own.tag >= 0]
    wild = [own for own in receives if own.peer == _ANY or own.tag == _ANY_TAG]
    for own in sorted(exact, key=lambda own: own.is_cancelled):
        source = own.communicator.peers(own.rank)[own.peer]
        _pair(own, sends[own.communicator, own.rank, own.tag][source])
    for own in wild:
        _pair(own, _first(own, sends))


def _first(
    own: Communication, sends: Mapping[Key, Mapping[int, list[Communication]]]
) -> list[Communication]:
    """Messages that this receive of any may have taken: of the sender of the smallest rank."""
    for (communicator, rank, tag), lists in sends.items():
        if communicator is own.communicator and rank == own.rank and own.tag in (tag, _ANY_TAG):
            for source, waiting in lists.items():
                if waiting and own.peer in (_ANY, communicator.peers(rank).index(source)):
                    return waiting
    return []


def _pair(receive: Communication, waiting: list[Communication]) -> None:
    if waiting:
        send = waiting.pop()
        send.other, receive.other = receive, send
