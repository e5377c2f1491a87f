"""Reads the files that ranks record into (src/profile/trace/layout.hpp)."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from commlens.base.errors import CommlensError
from commlens.profile.traces.trace import CallTimes, Datatype, Event, ExactTimes, Loop, Node

_MARK = b"CLTRACE\0"
_NO_EVENT = 0xFFFFFFFF
_SECTIONS = ("types", "numbers", "events", "arrays", "nodes", "pool", "exact")
_HEADER = np.dtype(
    [("mark", "S8"), ("version", "u8"), ("is_complete", "u8"), ("changing", "u8"), ("rank", "u8")]
    + [("size", "u8"), ("calls", "u8"), ("dropped", "u8"), ("ticks", "u8"), ("ns_per_tick", "f8")]
    + [(name, "u8") for name in _SECTIONS]
    + [("function_count", "u8"), ("names_at", "u8"), ("names_length", "u8")]
    + [(f"{name}_at", "u8") for name in _SECTIONS]
    + [("node_size", "u8")]
)
_TYPE = np.dtype(
    [("name", "S64"), ("size", "i8"), ("lower_bound", "i8"), ("extent", "i8"), ("pieces", "i8")]
)
_ENTRY = np.dtype([("kind", "u4"), ("first", "u4"), ("count", "u4")])
_EXACT = np.dtype([(name, "u8") for name in ExactTimes._fields])
_TIMES = ("gap", "cpu", "call", "longest_gap", "longest_call", "calls")
_NODE = np.dtype(
    [("hash", "u8"), ("body_hash", "u8"), ("count", "u8"), ("event", "u4"), ("first", "u4")]
    + [("length", "u4"), ("depth", "u4"), ("mark", "u4"), ("previous", "i4")]
    + [("previous_loop", "i4"), ("unused", "u4")]
    + [(name, "u8") for name in _TIMES]
)


@dataclass(frozen=True)
class RankTrace:
    """What one rank has recorded."""

    host: str
    rank: int
    size: int
    seconds: float  # from the end of MPI_Init to MPI_Finalize
    is_complete: bool
    calls: int
    dropped: int
    functions: list[str]
    operations: list[str]
    types: list[Datatype]
    arrays: list[tuple[int, ...]]
    events: list[Event]
    body: tuple[Node, ...]
    times: list[CallTimes]
    exact: list[ExactTimes]


def read_rank(path: Path, host: str) -> RankTrace:
    """Of a rank on that host. Raises CommlensError for a file that is none, or of a rank that was
    killed while it wrote."""
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _Reader(memory, path).read(host)


class _Reader:
    def __init__(self, memory: mmap.mmap, path: Path) -> None:
        self._memory = memory
        header = np.frombuffer(memory, _HEADER, 1)[0]
        if (
            bytes(memory[:8]) != _MARK
            or header["version"] != 1
            or header["node_size"] != _NODE.itemsize
        ):
            raise CommlensError(f"{path}: not the trace of a rank, or of another version")
        if header["changing"]:
            raise CommlensError(f"{path}: the rank was killed while it recorded a call")
        self._header = header
        self._numbers = self._section("numbers", np.dtype("i8"))
        self._pool = self._section("pool", _NODE)
        self._ns = float(header["ns_per_tick"])
        self._times: list[CallTimes] = []

    def _section(
        self, name: str, kind: np.dtype[np.void] | np.dtype[np.int64]
    ) -> npt.NDArray[np.void]:
        count = int(self._header[name])
        return np.frombuffer(self._memory, kind, count, int(self._header[f"{name}_at"]))

    def read(self, host: str) -> RankTrace:
        header = self._header
        begin = int(header["names_at"])
        text = bytes(self._memory[begin : begin + int(header["names_length"])])
        names = text.decode().split("\0")[:-1]
        functions = int(header["function_count"])
        events = [
            Event(int(kind), self._list(first, count))
            for kind, first, count in self._section("events", _ENTRY)
        ]
        arrays = [self._list(first, count) for _, first, count in self._section("arrays", _ENTRY)]
        body = self._body(self._section("nodes", _NODE))
        return RankTrace(
            host,
            int(header["rank"]),
            int(header["size"]),
            float(header["ticks"]) * self._ns * 1e-9,
            bool(header["is_complete"]),
            int(header["calls"]),
            int(header["dropped"]),
            names[:functions],
            names[functions:],
            [
                Datatype(name.decode(), int(size), int(lower), int(extent), int(pieces))
                for name, size, lower, extent, pieces in self._section("types", _TYPE)
            ],
            arrays,
            events,
            body,
            self._times,
            self._exact(),
        )

    def _exact(self) -> list[ExactTimes]:
        kept = self._section("exact", _EXACT)
        columns = ((kept[name] * self._ns).astype("i8").tolist() for name in ExactTimes._fields)
        return [ExactTimes(*times) for times in zip(*columns)]

    def _list(self, first: int, count: int) -> tuple[int, ...]:
        return tuple(self._numbers[first : first + count].tolist())

    def _body(self, nodes: npt.NDArray[np.void]) -> tuple[Node, ...]:
        body: list[Node] = []
        for node in nodes:
            if node["event"] == _NO_EVENT:
                first = int(node["first"])
                inner = self._body(self._pool[first : first + int(node["length"])])
                body.append(Loop(int(node["count"]), inner))
            else:
                body.append(int(node["event"]))
                times = {name: int(node[name] * self._ns) for name in _TIMES if name != "calls"}
                self._times.append(
                    CallTimes(count=int(node["count"]), calls=int(node["calls"]), **times)
                )
        return tuple(body)
