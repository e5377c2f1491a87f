"""A trace in memory: what docs/trace.md says of the file."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar, Union

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Datatype:
    """A type of MPI, or one that the program has made."""

    name: str  # of a type of MPI; else empty
    size: int
    lower_bound: int
    extent: int
    pieces: int  # contiguous pieces; 0: unknown


@dataclass(frozen=True)
class Event:
    """A function and its fields, one for each letter of the function."""

    function: int
    fields: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """What is executed several times."""

    count: int
    body: tuple[Node, ...]


Node = Union[int, Loop]  # an event, by its number


@dataclass(frozen=True)
class CallTimes:
    """Of the executions of one place; in ns."""

    count: int
    gap: int
    cpu: int
    call: int
    longest_gap: int
    longest_call: int
    calls: int  # more than `count` for tests without result that follow each other


class ExactTimes(NamedTuple):
    """Of one execution of a place; in ns."""

    gap: int
    cpu: int
    call: int


@dataclass(frozen=True)
class Rank:
    """What a rank has done, and when."""

    rank: int
    body: int  # the number of its body
    times: list[CallTimes]  # of the leaves of the body, in their order
    exact: list[ExactTimes] = field(default_factory=list)  # of what is executed first


@dataclass
class Trace:
    """What is in a file. Numbers in it are places in these lists."""

    header: dict[str, object] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)  # name, a blank, letters of the fields
    operations: list[str] = field(default_factory=list)
    types: list[Datatype] = field(default_factory=list)
    arrays: list[tuple[int, ...]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    bodies: list[tuple[Node, ...]] = field(default_factory=list)
    ranks: list[Rank] = field(default_factory=list)

    def array(self, number: int) -> tuple[int, ...]:
        """The array of a field; empty where that is not significant."""
        return self.arrays[number] if number >= 0 else ()


def leaves(body: tuple[Node, ...]) -> Iterator[int]:
    """The events of a body in their order, each place once."""
    for node in body:
        if isinstance(node, Loop):
            yield from leaves(node.body)
        else:
            yield node


def executed(body: tuple[Node, ...], place: int = 0) -> Iterator[tuple[int, int]]:
    """The events of a body as often as they are executed, each with the number of its leaf."""
    for node in body:
        if isinstance(node, Loop):
            for _ in range(node.count):
                yield from executed(node.body, place)
            place += sum(1 for _ in leaves(node.body))
        else:
            yield node, place
            place += 1


class Once(Generic[Item]):
    """A list that has each item once."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._numbers: dict[Item, int] = {}

    def number(self, item: Item) -> int:
        """Its place in the list."""
        number = self._numbers.setdefault(item, len(self.items))
        if number == len(self.items):
            self.items.append(item)
        return number


def renumbered(
    body: tuple[Node, ...], numbers: Mapping[int, int] | Sequence[int]
) -> tuple[Node, ...]:
    """The body with other numbers of its events."""
    return tuple(
        Loop(node.count, renumbered(node.body, numbers))
        if isinstance(node, Loop)
        else numbers[node]
        for node in body
    )
