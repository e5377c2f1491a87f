"""Folds the calls of a rank into loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Union

from commlens.profile.traces.trace import CallTimes, Loop, Node

_LONGEST = 5_000  # nodes of the body of a loop
_TRIES = 32  # earlier places of a node that may be the end of the iteration before
_LARGEST = {"longest_gap", "longest_call"}  # of several calls; the others are sums
_TIMES = [own.name for own in fields(CallTimes)]
Kind = Union[int, tuple[int, int]]  # an event; or a loop: its count, and the number of its body


@dataclass
class _Folded:
    """An event or a loop, and the times of its leaves."""

    kind: Kind
    times: list[CallTimes]

    def add(self, times: Iterable[CallTimes]) -> None:
        self.times = [_together(one, other) for one, other in zip(self.times, times)]


def _together(one: CallTimes, other: CallTimes) -> CallTimes:
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in _TIMES)
    return CallTimes(*(max(a, b) if name in _LARGEST else a + b for name, a, b in pairs))


class Folding:
    """What was added, in loops: what is repeated at once becomes one, or its next iteration."""

    def __init__(self) -> None:
        self._bodies: list[tuple[Kind, ...]] = []  # of loops
        self._numbers: dict[tuple[Kind, ...], int] = {}  # of the bodies
        self._row: list[_Folded] = []
        self._places: dict[Kind, list[int]] = defaultdict(list)  # in the row, of each kind
        self._loops: dict[Kind, list[int]] = defaultdict(list)  # by the last kind of their body

    def add(self, event: int, times: CallTimes) -> None:
        """Of one execution of the event."""
        self._push(event, [times])
        while self._continue_loop() or self._make_loop():
            pass

    def result(self) -> tuple[tuple[Node, ...], list[CallTimes]]:
        """The body, and the times of its leaves."""
        body = tuple(self._node(own.kind) for own in self._row)
        return body, [times for own in self._row for times in own.times]

    def _node(self, kind: Kind) -> Node:
        if isinstance(kind, int):
            return kind
        count, body = kind
        return Loop(count, tuple(self._node(own) for own in self._bodies[body]))

    def _push(self, kind: Kind, times: list[CallTimes]) -> None:
        place = len(self._row)
        self._row.append(_Folded(kind, times))
        self._places[kind].append(place)
        if isinstance(kind, tuple):
            self._loops[self._bodies[kind[1]][-1]].append(place)

    def _pop(self, count: int) -> list[CallTimes]:
        """Removes the last nodes. Their times."""
        removed = self._row[len(self._row) - count :]
        for own in reversed(removed):
            self._row.pop()
            self._places[own.kind].pop()
            if isinstance(own.kind, tuple):
                self._loops[self._bodies[own.kind[1]][-1]].pop()
                if not self._places[own.kind]:
                    del self._places[own.kind]
        return [times for own in removed for times in own.times]

    def _continue_loop(self) -> bool:
        """Whether the last nodes are an iteration of the loop before them."""
        end = len(self._row)
        for place in reversed(self._loops[self._row[-1].kind][-_TRIES:]):
            count, body = self._row[place].kind  # type: ignore[misc]
            kinds = self._bodies[body]
            if end - 1 - place == len(kinds) and self._is_row(place + 1, kinds):
                self._replace(len(kinds), 1, (count + 1, body))
                return True
        return False

    def _make_loop(self) -> bool:
        """Whether the last nodes are those before them once more."""
        end = len(self._row)
        for place in reversed(self._places[self._row[-1].kind][-_TRIES - 1 : -1]):
            length = end - 1 - place
            if length > min(end // 2, _LONGEST):
                return False
            kinds = tuple(own.kind for own in self._row[end - length :])
            if self._is_row(end - 2 * length, kinds):
                number = self._numbers.setdefault(kinds, len(self._bodies))
                if number == len(self._bodies):
                    self._bodies.append(kinds)
                self._replace(length, length, (2, number))
                return True
        return False

    def _is_row(self, begin: int, kinds: Sequence[Kind]) -> bool:
        return all(self._row[begin + at].kind == kind for at, kind in enumerate(kinds))

    def _replace(self, length: int, before: int, loop: Kind) -> None:
        """By a loop: the last nodes, an iteration, and those before it."""
        last = self._pop(length)
        self._push(loop, self._pop(before))
        self._row[-1].add(last)
