"""The files that the ranks of a job wrote (src/profile/rank_file.cpp), merged over ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from commlens.base.text import ranges
from commlens.model.profile import (
    INITIALIZATION,
    Communicators,
    Ending,
    Function,
    MemoryKind,
    ProfiledRank,
    Region,
    RegionFunction,
    SizeBin,
    ThreadLevel,
)


class RankCounters(msgspec.Struct, frozen=True):
    """The counters of a function, also within a region."""

    name: str
    calls: int
    time_ns: int
    bytes: int


class RankFunction(RankCounters, frozen=True):
    """All counters of a function."""

    group: str
    max_ns: int
    waiting_ns: int
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


class RankRegion(msgspec.Struct, frozen=True):
    """The counters of a region."""

    name: str
    entries: int
    time_ns: int
    functions: list[RankCounters]


# Of a rank without any.
_NO_COUNTERS = RankCounters("", 0, 0, 0)
_NO_FUNCTION = RankFunction("", 0, 0, 0, "", 0, 0, (0, 0, 0, 0), [], {})
_NO_REGION = RankRegion("", 0, 0, [])


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
        alone = {entry.name for entry in self.functions if entry.group == INITIALIZATION}
        is_shared = self.thread_level == "multiple" and function not in alone
        return nanoseconds / 1e9 / (max(1, self.threads) if is_shared else 1)


def merge_functions(files: Sequence[RankFile]) -> list[Function]:
    """The functions of all ranks; their arrays have a value per rank."""
    groups = {function.name: function.group for file in files for function in file.functions}
    by_rank = [{function.name: function for function in file.functions} for file in files]
    merged = []
    for name, group in groups.items():
        ranks = [functions.get(name, _NO_FUNCTION) for functions in by_rank]
        pairs = list(zip(files, ranks))
        memory: Counter[MemoryKind] = Counter()
        for rank in ranks:
            memory.update(rank.memory)
        function = Function(
            name=name,
            group=group,
            calls=[rank.calls for rank in ranks],
            time_s=[file.seconds(rank.time_ns, name) for file, rank in pairs],
            max_s=[rank.max_ns / 1e9 for rank in ranks],
            waiting_s=[file.seconds(rank.waiting_ns) for file, rank in pairs],
            bytes=[rank.bytes for rank in ranks],
            communicators=_communicators(ranks),
            memory=dict(memory),
            sizes=_sizes(ranks),
        )
        merged.append(function)
    return merged


def _communicators(ranks: Sequence[RankFunction]) -> Communicators:
    known = [rank.communicators for rank in ranks if rank.communicators[0]]
    if not known:
        return Communicators()
    calls, sizes, smallest, largest = zip(*known)
    return Communicators(
        mean_size=sum(sizes) / sum(calls), min_size=min(smallest), max_size=max(largest)
    )


def _sizes(ranks: Sequence[RankFunction]) -> list[SizeBin]:
    calls: Counter[int] = Counter()
    for rank in ranks:
        for bits, count in rank.bins:
            calls[bits] += count
    return [
        SizeBin(from_bytes=2**bits // 2, to_bytes=2**bits - 1, calls=calls[bits])
        for bits in sorted(calls)
    ]


def merge_regions(files: Sequence[RankFile]) -> list[Region]:
    """The regions of all ranks; their arrays have a value per rank."""
    by_rank = [{region.name: region for region in file.regions} for file in files]
    merged = []
    for name in dict.fromkeys(name for regions in by_rank for name in regions):
        ranks = [regions.get(name, _NO_REGION) for regions in by_rank]
        counters = [{entry.name: entry for entry in rank.functions} for rank in ranks]
        functions = []
        for function in dict.fromkeys(function for by_name in counters for function in by_name):
            per_rank = [rank.get(function, _NO_COUNTERS) for rank in counters]
            pairs = zip(files, per_rank)
            counts = RegionFunction(
                name=function,
                calls=[rank.calls for rank in per_rank],
                time_s=[file.seconds(rank.time_ns, function) for file, rank in pairs],
                bytes=[rank.bytes for rank in per_rank],
            )
            functions.append(counts)
        times = [file.seconds(rank.time_ns) for file, rank in zip(files, ranks)]
        entries = [rank.entries for rank in ranks]
        merged.append(Region(name=name, entries=entries, time_s=times, functions=functions))
    return merged
