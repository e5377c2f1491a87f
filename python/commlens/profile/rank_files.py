"""The files that ranks wrote (src/profile/rank_file.cpp), merged over ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from commlens.profile.record import (
    Communicators,
    Ending,
    Function,
    MemoryKind,
    Peer,
    Place,
    SizeBin,
    ThreadLevel,
)

_File = TypeVar("_File")


class RankFunction(msgspec.Struct, frozen=True):
    name: str
    group: str
    calls: int
    time_ns: int
    max_ns: int
    waiting_ns: int
    bytes: int
    communicators: tuple[int, int, int, int]  # calls, sum of sizes, smallest, largest
    bins: list[tuple[int, int]]  # bits of the number of bytes, calls
    memory: dict[MemoryKind, int]


class RankCallSite(msgspec.Struct, frozen=True):
    function: str
    address: int
    module: str
    base: int
    calls: int
    time_ns: int
    bytes: int


class RankFile(msgspec.Struct, frozen=True):
    rank: int
    size: int
    host: str
    pid: int
    program: str
    mpi: str
    thread_level: ThreadLevel
    ending: Ending
    total_ns: int
    inside: str
    functions: list[RankFunction]
    dropped_requests: int
    has_peers: bool
    peers: list[tuple[int, int, int]]  # rank, bytes, messages
    dropped_call_sites: int
    call_sites: list[RankCallSite]

    @property
    def place(self) -> Place:
        return Place(
            rank=self.rank, host=self.host, pid=self.pid, ending=self.ending, inside=self.inside
        )


@dataclass(frozen=True)
class RankFiles:
    ranks: list[RankFile] = field(default_factory=list)  # by rank
    environment: dict[str, str] = field(default_factory=dict)


def read_rank_files(folder: Path) -> RankFiles:
    """An incomplete file, of a full disk, is treated as missing."""
    ranks = _read(sorted(folder.glob("rank-*.json")), RankFile)
    environments = _read([folder / "environment.json"], dict[str, str])
    return RankFiles(
        sorted(ranks, key=lambda file: (file.rank, file.host, file.pid)),
        next(iter(environments), {}),
    )


def _read(paths: Iterable[Path], kind: type[_File]) -> list[_File]:
    files = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            files.append(msgspec.json.decode(text, type=kind, strict=False))
        except (OSError, msgspec.DecodeError):
            continue
    return files


def merge_functions(files: Sequence[RankFile]) -> list[Function]:
    groups = {function.name: function.group for file in files for function in file.functions}
    by_rank = [{function.name: function for function in file.functions} for file in files]
    return [
        _merged(name, group, [functions.get(name) for functions in by_rank])
        for name, group in groups.items()
    ]


def _merged(name: str, group: str, ranks: Sequence[RankFunction | None]) -> Function:
    present = [rank for rank in ranks if rank]
    memory: dict[MemoryKind, int] = {}
    for rank in present:
        for kind, calls in rank.memory.items():
            memory[kind] = memory.get(kind, 0) + calls
    return Function(
        name=name,
        group=group,
        calls=[rank.calls if rank else 0 for rank in ranks],
        time_s=[seconds(rank.time_ns) if rank else 0.0 for rank in ranks],
        max_s=[seconds(rank.max_ns) if rank else 0.0 for rank in ranks],
        waiting_s=[seconds(rank.waiting_ns) if rank else 0.0 for rank in ranks],
        bytes=[rank.bytes if rank else 0 for rank in ranks],
        communicators=_communicators([rank.communicators for rank in present]),
        memory=memory,
        sizes=_sizes(own for rank in present for own in rank.bins),
    )


def seconds(nanoseconds: int) -> float:
    return nanoseconds / 1e9


def _communicators(ranks: Sequence[tuple[int, int, int, int]]) -> Communicators:
    known = [rank for rank in ranks if rank[0]]
    if not known:
        return Communicators()
    calls, sizes, smallest, largest = zip(*known)
    return Communicators(
        mean_size=sum(sizes) / sum(calls), min_size=min(smallest), max_size=max(largest)
    )


def _sizes(bins: Iterable[tuple[int, int]]) -> list[SizeBin]:
    calls: dict[int, int] = {}
    for bits, count in bins:
        calls[bits] = calls.get(bits, 0) + count
    return [
        SizeBin(
            from_bytes=0 if bits == 0 else 2 ** (bits - 1),
            to_bytes=2**bits - 1,
            calls=calls[bits],
        )
        for bits in sorted(calls)
    ]


def merge_peers(files: Sequence[RankFile]) -> list[Peer]:
    return [
        Peer(sender=file.rank, receiver=peer, bytes=bytes_, messages=messages)
        for file in files
        for peer, bytes_, messages in file.peers
    ]
