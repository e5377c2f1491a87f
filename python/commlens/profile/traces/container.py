"""Writes and reads the file of a trace (docs/trace.md)."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from commlens.base.errors import CommlensError
from commlens.base.inputs import open_input
from commlens.profile.traces.relative import absolute, least_ranks, relative
from commlens.profile.traces.trace import (
    CallTimes,
    Datatype,
    Event,
    ExactTimes,
    Loop,
    Node,
    Rank,
    Trace,
)

MARK = b"commlens trace 1\n"
_HEAD = struct.Struct("<BII")
_ITEMS = 10_000  # of a list in one block
_DEEPEST = 64
Item = TypeVar("Item")


class _Writer:
    """The content of a block."""

    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, value: int) -> None:
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def signed(self, value: int) -> None:
        self.number(2 * value if value >= 0 else -2 * value - 1)

    def text(self, value: str) -> None:
        coded = value.encode()
        self.number(len(coded))
        self.data += coded

    def nodes(self, body: tuple[Node, ...]) -> None:
        self.number(len(body))
        for node in body:
            if isinstance(node, Loop):
                self.number(2 * node.count)
                self.nodes(node.body)
            else:
                self.number(2 * node + 1)


def written(trace: Trace) -> bytes:
    """The content of the file."""
    trace = relative(trace)
    least = least_ranks(trace)
    header = {**trace.header, **({"least_ranks": least} if least else {})}
    parts = [MARK, _block("H", lambda out: out.text(json.dumps(header)))]
    parts += _lists("F", trace.functions, _Writer.text)
    parts += _lists("O", trace.operations, _Writer.text)
    parts += _lists("T", trace.types, _write_type)
    parts += _lists("A", trace.arrays, _write_array)
    parts += _lists("E", trace.events, _write_event)
    parts += [_block("B", lambda out, body=body: out.nodes(body)) for body in trace.bodies]
    for rank in trace.ranks:
        parts.append(_block("R", lambda out, rank=rank: _write_rank(out, rank)))
        for begin in range(0, len(rank.exact), _ITEMS):
            parts.append(_block("X", lambda out, rank=rank, at=begin: _write_exact(out, rank, at)))
    return b"".join(parts)


def _block(letter: str, write: Callable[..., None]) -> bytes:
    out = _Writer()
    write(out)
    return _HEAD.pack(ord(letter), len(out.data), _checksum(letter, out.data)) + bytes(out.data)


def _checksum(letter: str, content: bytes | bytearray) -> int:
    """Of the letter and the content, so that a block is not taken for one of another kind."""
    return zlib.crc32(content, zlib.crc32(letter.encode("latin-1")))


def _lists(letter: str, items: list[Any], write: Callable[..., None]) -> Iterator[bytes]:
    """Blocks of a list that continue each other."""

    def content(out: _Writer, part: list[Any]) -> None:
        out.number(len(part))
        for item in part:
            write(out, item)

    for begin in range(0, len(items), _ITEMS):
        part = items[begin : begin + _ITEMS]
        yield _block(letter, lambda out, part=part: content(out, part))


def _write_type(out: _Writer, kind: Datatype) -> None:
    out.text(kind.name)
    out.number(kind.size)
    out.signed(kind.lower_bound)
    out.number(kind.extent)
    out.number(kind.pieces)


def _write_array(out: _Writer, numbers: Iterable[int]) -> None:
    listed = list(numbers)
    out.number(len(listed))
    for number in listed:
        out.signed(number)


def _write_event(out: _Writer, event: Event) -> None:
    out.number(event.function)
    _write_array(out, event.fields)


def _write_rank(out: _Writer, rank: Rank) -> None:
    out.number(rank.rank)
    out.number(rank.body)
    for times in rank.times:
        more = times.calls - times.count
        out.number(2 * times.gap + (more > 0))
        if more:
            out.number(more)
        out.signed(times.gap - times.cpu)
        out.number(times.call)
        if times.calls > 1:
            out.number(times.longest_gap)
            out.number(times.longest_call)


def _write_exact(out: _Writer, rank: Rank, begin: int) -> None:
    part = rank.exact[begin : begin + _ITEMS]
    out.number(rank.rank)
    out.number(len(part))
    for gap, cpu, call in part:
        out.number(gap)
        out.signed(gap - cpu)
        out.number(call)


class _Reader:
    """The content of a block. Raises ValueError where it ends too early or is not as described."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        value = shift = 0
        while True:
            if self._at == len(self._data) or shift > 63:
                raise ValueError("a number without an end")
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.number()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def text(self) -> str:
        length = self._length()
        self._at += length
        return self._data[self._at - length : self._at].decode()

    def listed(self, read: Callable[[_Reader], Item]) -> list[Item]:
        return [read(self) for _ in range(self._length())]

    def nodes(self, depth: int = 0) -> tuple[Node, ...]:
        if depth > _DEEPEST:
            raise ValueError(f"loops deeper than {_DEEPEST}")
        return tuple(self.listed(lambda own: own.node(depth)))

    def node(self, depth: int) -> Node:
        number = self.number()
        if number % 2 == 1:
            return number // 2
        if number == 0:
            raise ValueError("a loop without iterations")
        return Loop(number // 2, self.nodes(depth + 1))

    def end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("a block that is too long")

    def _length(self) -> int:
        """Of what follows, an item of which takes a byte at least."""
        length = self.number()
        if length > len(self._data) - self._at:
            raise ValueError("a list without an end")
        return length


def read(path: Path) -> Trace:
    """The trace, as far as its blocks are whole: `header["cut"]` is true where the last one is not.
    Raises CommlensError for a file that is none, or that was changed."""
    with open_input(path, kind="a trace", most_bytes=sys.maxsize) as stream:
        data = stream.read()
    if not data.startswith(MARK):
        raise CommlensError(f"{path}: not a trace (commlens profile --trace FILE makes one)")
    trace, at = Trace(), len(MARK)
    try:
        while at + _HEAD.size <= len(data):
            code, length, check = _HEAD.unpack_from(data, at)
            begin = at + _HEAD.size
            if begin + length > len(data):
                break
            content = data[begin : begin + length]
            if _checksum(chr(code), content) != check:
                raise ValueError("a block that was changed")
            _take(trace, chr(code), _Reader(content))
            at = begin + length
        _check(trace)
        trace = absolute(trace)
    except (ValueError, UnicodeDecodeError) as error:
        raise CommlensError(f"{path}: not a whole trace: {error}") from None
    if at != len(data):
        trace.header["cut"] = True
    return trace


def _take(trace: Trace, letter: str, content: _Reader) -> None:
    if letter == "H":
        header = json.loads(content.text())
        if not isinstance(header, dict):
            raise ValueError("a header that is no object")
        trace.header = header
    elif letter == "F":
        trace.functions += content.listed(_Reader.text)
    elif letter == "O":
        trace.operations += content.listed(_Reader.text)
    elif letter == "T":
        trace.types += content.listed(_read_type)
    elif letter == "A":
        trace.arrays += content.listed(lambda own: tuple(own.listed(_Reader.signed)))
    elif letter == "E":
        trace.events += content.listed(_read_event)
    elif letter == "B":
        trace.bodies.append(content.nodes())
    elif letter == "R":
        trace.ranks.append(_read_rank(content, trace))
    elif letter == "X":
        number = content.number()
        if not trace.ranks or trace.ranks[-1].rank != number:
            raise ValueError(f"times of rank {number} without its trace")
        trace.ranks[-1].exact.extend(content.listed(_read_exact))
    else:
        raise ValueError(f"a block of type {letter!r}")
    content.end()


def _read_type(content: _Reader) -> Datatype:
    return Datatype(
        content.text(), content.number(), content.signed(), content.number(), content.number()
    )


def _read_event(content: _Reader) -> Event:
    return Event(content.number(), tuple(content.listed(_Reader.signed)))


def _read_rank(content: _Reader, trace: Trace) -> Rank:
    rank, body = content.number(), content.number()
    if body >= len(trace.bodies):
        raise ValueError(f"rank {rank} without its body")
    counts = _executions(trace.bodies[body], 1, len(trace.events))
    return Rank(rank, body, [_read_times(content, count) for count in counts])


def _read_times(content: _Reader, count: int) -> CallTimes:
    """Of a leaf that was executed so often."""
    coded = content.number()
    calls = count + (content.number() if coded % 2 else 0)
    gap = coded // 2
    cpu = gap - content.signed()
    call = content.number()
    longest = (content.number(), content.number()) if calls > 1 else (gap, call)
    return CallTimes(count, gap, cpu, call, *longest, calls)


def _read_exact(content: _Reader) -> ExactTimes:
    gap = content.number()
    return ExactTimes(gap, gap - content.signed(), content.number())


def _check(trace: Trace) -> None:
    """That numbers of functions and events exist, and calls have their fields."""
    if any(event.function >= len(trace.functions) for event in trace.events):
        raise ValueError("an event of an unknown function")
    fields = [len(function.partition(" ")[2]) for function in trace.functions]
    if any(len(event.fields) != fields[event.function] for event in trace.events):
        raise ValueError("a call has not as many fields as its function")
    for body in trace.bodies:
        for _ in _executions(body, 1, len(trace.events)):
            pass


def _executions(body: tuple[Node, ...], times: int, events: int) -> Iterator[int]:
    """How often each leaf is executed."""
    for node in body:
        if isinstance(node, Loop):
            yield from _executions(node.body, times * node.count, events)
        elif node < events:
            yield times
        else:
            raise ValueError("a body with an unknown event")
