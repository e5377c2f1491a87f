"""The files that the ranks of a job wrote (src/profile/rank_file.cpp), merged over ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from commlens.base.text import ranges
from commlens.model.profile import (
    INITIALIZATION,
    Communicators,
    Ending,
    Function,
    MemoryKind,
    Peer,
    ProfiledRank,
    Region,
    RegionFunction,
    SizeBin,
    ThreadLevel,
)


class RankFunction(msgspec.Struct, frozen=True):
    """The counters of a function."""

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


class RankFrame(msgspec.Struct, frozen=True):
    """A frame of the stack: an address, and the module that is loaded at `base`."""

    address: int
    module: str
    base: int


class RankCallSite(msgspec.Struct, frozen=True):
    """The counters of a call site."""

    function: str
    frames: list[RankFrame]  # of the caller, then of its callers
    calls: int
    time_ns: int
    waiting_ns: int
    bytes: int


class RankRegionFunction(msgspec.Struct, frozen=True):
    """The counters of a function within a region."""

    name: str
    calls: int
    time_ns: int


class RankRegion(msgspec.Struct, frozen=True):
    """The counters of a region."""

    name: str
    entries: int
    time_ns: int
    functions: list[RankRegionFunction]


class RankFile(msgspec.Struct, frozen=True):
    """The file of a rank, as src/profile/rank_file.cpp writes it."""

    rank: int
    size: int
    host: str
    pid: int
    program: str
    mpi: str
    thread_level: ThreadLevel
    ending: Ending
    job: str  # the launcher's name for it; empty: it has none
    parent: int  # process
    loaded_ns: int  # start of the process, since 1970
    threads: int  # that called MPI, at a time
    cpu_ns: int
    queued_ns: int
    cpus: list[int]
    total_ns: int
    inside: list[str]
    functions: list[RankFunction]
    dropped_requests: int
    has_peers: bool
    peers: list[tuple[int, int, int]]  # rank, bytes, messages
    dropped_call_sites: int
    call_sites: list[RankCallSite]
    dropped_regions: int
    regions: list[RankRegion]
    environment: dict[str, str]  # of rank 0

    @property
    def started_s(self) -> float:
        """When the process started, in seconds since 1970."""
        return self.loaded_ns / 1e9

    @property
    def ended_s(self) -> float:
        """When the process ended, in seconds since 1970."""
        return (self.loaded_ns + self.total_ns) / 1e9

    @property
    def place(self) -> ProfiledRank:
        """The rank as a profile has it."""
        return ProfiledRank(
            rank=self.rank,
            host=self.host,
            pid=self.pid,
            ending=self.ending,
            inside=", ".join(self.inside),
            threads=max(1, self.threads),
            cpu_s=self.cpu_ns / 1e9,
            queued_s=self.queued_ns / 1e9,
            cpus=ranges(self.cpus),
        )

    def seconds(self, nanoseconds: int, function: str = "") -> float:
        """Per thread, where threads can be in MPI at the same time: a share of the total time.
        One thread starts and ends MPI for all."""
        is_shared = self.thread_level == "multiple" and function not in self._initializing
        return nanoseconds / 1e9 / (max(1, self.threads) if is_shared else 1)

    @property
    def _initializing(self) -> set[str]:
        return {own.name for own in self.functions if own.group == INITIALIZATION}


def merge_functions(files: Sequence[RankFile]) -> list[Function]:
    """The functions of all ranks; their arrays have a value per rank."""
    groups = {function.name: function.group for file in files for function in file.functions}
    by_rank = [{function.name: function for function in file.functions} for file in files]
    return [
        _merged(name, group, files, [functions.get(name) for functions in by_rank])
        for name, group in groups.items()
    ]


def _merged(
    name: str, group: str, files: Sequence[RankFile], ranks: Sequence[RankFunction | None]
) -> Function:
    present = [rank for rank in ranks if rank]
    memory: dict[MemoryKind, int] = {}
    for rank in present:
        for kind, calls in rank.memory.items():
            memory[kind] = memory.get(kind, 0) + calls
    pairs = list(zip(files, ranks))
    return Function(
        name=name,
        group=group,
        calls=[rank.calls if rank else 0 for rank in ranks],
        time_s=[file.seconds(rank.time_ns, name) if rank else 0.0 for file, rank in pairs],
        max_s=[rank.max_ns / 1e9 if rank else 0.0 for rank in ranks],
        waiting_s=[file.seconds(rank.waiting_ns) if rank else 0.0 for file, rank in pairs],
        bytes=[rank.bytes if rank else 0 for rank in ranks],
        communicators=_communicators([rank.communicators for rank in present]),
        memory=memory,
        sizes=_sizes(own for rank in present for own in rank.bins),
    )


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
    """The pairs of ranks with at least one message, in ascending order."""
    return [
        Peer(sender=file.rank, receiver=peer, bytes=bytes_, messages=messages)
        for file in files
        for peer, bytes_, messages in file.peers
    ]


def merge_regions(files: Sequence[RankFile]) -> list[Region]:
    """The regions of all ranks; their arrays have a value per rank."""
    names = dict.fromkeys(region.name for file in files for region in file.regions)
    return [_region(name, files) for name in names]


def _region(name: str, files: Sequence[RankFile]) -> Region:
    ranks = [next((own for own in file.regions if own.name == name), None) for file in files]
    by_rank = [{own.name: own for own in rank.functions} if rank else {} for rank in ranks]
    functions = dict.fromkeys(function for own in by_rank for function in own)
    return Region(
        name=name,
        entries=[rank.entries if rank else 0 for rank in ranks],
        time_s=[file.seconds(rank.time_ns) if rank else 0.0 for file, rank in zip(files, ranks)],
        functions=[
            RegionFunction(
                name=function,
                calls=[own[function].calls if function in own else 0 for own in by_rank],
                time_s=[
                    file.seconds(own[function].time_ns) if function in own else 0.0
                    for file, own in zip(files, by_rank)
                ],
            )
            for function in functions
        ],
    )
