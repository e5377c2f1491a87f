"""Which calls of a trace are in a part of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from commlens.base.errors import CommlensError
from commlens.base.text import ranges
from commlens.profile.traces.communicators import Communicator
from commlens.profile.traces.linked import Communication, LinkedCall
from commlens.profile.traces.operations import (
    CallUse,
    Making,
    Operations,
    Pending,
    has_seen,
)

# Their communicators cannot be reduced to fewer ranks.
_FIXED = ("MPI_Cart_create", "MPI_Graph_create", "MPI_Dist_graph_create", "MPI_Intercomm_create")


@dataclass(frozen=True)
class Window:
    """In ns since the end of MPI_Init, on each rank."""

    begin: int = 0
    end: int | None = None  # None: that of the trace

    def ends_after(self, linked: LinkedCall) -> bool:
        """Whether it does not end before the call has ended."""
        return self.end is None or linked.call.end <= self.end

    def has(self, linked: LinkedCall) -> bool:
        """Whether the whole call is in it."""
        return self.begin <= linked.call.begin and self.ends_after(linked)


class Choice:
    """Marks what is kept. Raises CommlensError for what cannot be replayed without the rest."""

    def __init__(self, found: Operations, ranks: Collection[int], window: Window) -> None:
        self._found = found
        self._ranks = ranks
        self._window = window
        self._maker = {made: making for making in found.makings.values() for made in making.made}
        self._available: dict[Communicator, bool] = {}
        self.communications: set[Communication] = set()
        self.makings: set[Making] = set()
        self._choose_transfers()
        self._choose_persistent()
        self._choose_makings()
        self._freed = self._freed_by_all()

    def keeps(self, rank: int, step: CallUse) -> bool:
        """Whether the call is in the part."""
        linked, call = step.linked, step.linked.call
        if step.part_of:
            return any(own.is_kept for own in step.part_of)
        if call.letters == "F":
            return linked.named[0] in self._freed
        if call.name == "MPI_Buffer_attach":  # later messages need the buffer
            return self._window.ends_after(linked)
        if not self._window.has(linked) or not all(map(self.has, linked.named)):
            return False
        if has_seen(call):
            return step.probed in self.communications
        if "s" in call.letters or call.letters.startswith("q"):
            used = [own for own in step.uses if own is not None]
            return not used or any(own.is_kept for own in used)
        return self._has_peers(rank, linked)

    def has(self, communicator: Communicator | None) -> bool:
        """Whether the part has this communicator."""
        if communicator is None:
            return False
        return communicator not in self._maker or self._maker[communicator] in self.makings

    def _has_peers(self, rank: int, linked: LinkedCall) -> bool:
        """Whether the ranks with which it would exchange messages are kept."""
        call, communicator = linked.call, linked.named[0] if linked.named else None
        if communicator is None or "t" not in call.letters:
            return True
        peers = communicator.peers(rank)
        fields = zip(call.letters, call.event.fields)
        return all(peers[f] in self._ranks for letter, f in fields if letter == "r" and f >= 0)

    def _is_inside(self, held: Pending) -> bool:
        is_closed = not held.is_open or self._window.end is None
        return (
            held.rank in self._ranks
            and is_closed
            and all(map(self._window.has, held.calls))
            and self._can_be_made(held.communicator)
        )

    def _can_be_made(self, communicator: Communicator) -> bool:
        """Whether its kept ranks make it before the window ends."""
        if communicator not in self._available:
            making = self._maker.get(communicator)
            self._available[communicator] = making is None or self._is_made(making)
        return self._available[communicator]

    def _is_made(self, making: Making) -> bool:
        kept = [own for own in making.arrivals.values() if own.rank in self._ranks]
        is_in_time = all(
            (not own.is_open or self._window.end is None)
            and all(map(self._window.ends_after, own.calls))
            for own in kept
        )
        return is_in_time and all(map(self._can_be_made, making.sources))

    def _choose_transfers(self) -> None:
        inside = [own for own in self._found.transfers() if self._is_inside(own)]
        parts = {part for own in inside for part in own.parts}
        arrived = Counter(own.key for own in inside)
        for own in inside:
            if own.key is not None:
                kept = own.parts if arrived[own.key] == len(own.communicator.ranks) else []
            else:
                kept = [
                    part
                    for part in own.parts
                    if (part.other in parts if part.other else part.is_cancelled)
                ]
            self.communications.update(kept)
            own.is_kept = bool(kept) or not own.parts
        self._refuse_unknown_matches()

    def _refuse_unknown_matches(self) -> None:
        """A wildcard that is still in the trace may have taken one of several messages. They are
        kept all, or none."""
        wild: dict[tuple[Communicator, int], list[Communication]] = defaultdict(list)
        free: dict[tuple[Communicator, int], list[Communication]] = defaultdict(list)
        for part in (part for own in self._found.transfers() for part in own.parts):
            if part.kind == "receive" and _is_wild(part):
                wild[part.communicator, part.rank].append(part)
            elif part.kind == "send" and (part.other is None or _is_wild(part.other)):
                to = part.communicator.peers(part.rank)[part.peer]
                free[part.communicator, to].append(part)
        for (communicator, rank), receives in wild.items():
            sends = free[communicator, rank]
            kept = {own in self.communications for own in [*receives, *sends]}
            if len({(own.rank, own.tag) for own in sends}) > 1 and len(kept) > 1:
                raise CommlensError(
                    f"rank {rank}: {receives[0].name} with MPI_ANY_SOURCE or MPI_ANY_TAG: the "
                    "trace does not record which message was received, and the cut has only some "
                    "of those that match; choose another time or other ranks"
                )

    def _choose_persistent(self) -> None:
        """Those that are started; of the others, those that are made in the window."""
        every = [*self._found.persistent()]
        started = {own.key for own in every if any(use.is_kept for use in own.operations)}
        arrived = Counter(own.key for own in every if self._is_inside(own))
        for own in every:
            if own.rank not in self._ranks:
                continue
            if own.key is not None:
                is_whole = arrived[own.key] == len(own.communicator.ranks)
                own.is_kept = own.key in started or is_whole
            else:
                is_started = any(use.is_kept for use in own.operations)
                own.is_kept = is_started or (
                    self._is_inside(own) and self._has_peers(own.rank, own.calls[0])
                )

    def _choose_makings(self) -> None:
        for held in self._found.held:
            if held.is_kept:
                self._need(held.communicator)
        for making in self._found.makings.values():
            kept = [own for own in making.arrivals.values() if own.rank in self._ranks]
            is_inside = all(self._window.has(own.calls[0]) for own in kept)
            if kept and is_inside and self._is_made(making) and not self._lost(making):
                self._keep(making)

    def _need(self, communicator: Communicator) -> None:
        making = self._maker.get(communicator)
        if making is None:
            return
        if lost := self._lost(making):
            raise CommlensError(
                f"{making.name} needs all ranks of its communicator, and rank {ranges(lost)} is "
                f"not kept; write --ranks {ranges({*self._ranks, *lost})}"
            )
        self._keep(making)

    def _keep(self, making: Making) -> None:
        if making not in self.makings:
            self.makings.add(making)
            for own in making.arrivals.values():
                own.is_kept = own.rank in self._ranks
            for needed in making.sources:
                self._need(needed)

    def _lost(self, making: Making) -> list[int]:
        """Ranks without which what it makes, or what that is made from, cannot be."""
        ranks: set[int] = set()
        if making.name.startswith(_FIXED):
            ranks |= {rank for own in making.sources - {making.bridge} for rank in own.ranks}
        for source in making.sources:
            if source in self._maker:
                ranks |= {*self._lost(self._maker[source])}
        return sorted(ranks - {*self._ranks})

    def _freed_by_all(self) -> set[Communicator]:
        """What all kept ranks free in time."""
        frees: Counter[Communicator] = Counter()
        for rank in self._ranks:
            for step in self._found.steps[rank]:
                own = step.linked.named[0] if step.linked.call.letters == "F" else None
                if own is not None and self.has(own) and self._window.ends_after(step.linked):
                    frees[own] += 1
        return {own for own, n in frees.items() if n == len({*own.ranks} & {*self._ranks})}


def _is_wild(receive: Communication) -> bool:
    return receive.peer == -2 or receive.tag == -1  # MPI_ANY_SOURCE, MPI_ANY_TAG
