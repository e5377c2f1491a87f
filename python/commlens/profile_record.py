"""What a profiled run left behind: the ranks' files merged into one record, and the figures that are made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import ValidationError

from commlens.schema import validator

MEMORIES = ("host", "pinned", "device", "managed")
FINALIZED = "finalized"
_IS_PROFILE = re.compile(r'\s*\{\s*"profile"\s*:')


@dataclass(frozen=True)
class Imbalance:
    """Of a time over ranks, after L. DeRose, B. Homer and D. Johnson, "Detecting application load imbalance on high end
    massively parallel systems" (Euro-Par 2007)."""

    mean_s: float
    imbalance_s: float  # what the slowest rank takes longer than the mean
    percent: float  # 100 is all the work on one rank, 0 the same on each


def imbalance(mean_s: float, max_s: float, ranks: int) -> Imbalance:
    over = max(0.0, max_s - mean_s)
    percent = 100 * over / max_s * ranks / (ranks - 1) if max_s > 0 and ranks > 1 else 0.0
    return Imbalance(mean_s, over, percent)


def imbalance_of(times_s: Sequence[float]) -> Imbalance:
    return imbalance(mean(times_s), max(times_s, default=0.0), len(times_s))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@dataclass(frozen=True)
class Function:
    """A function of MPI; a sequence has one value a rank."""

    name: str
    group: str
    calls: Sequence[int]
    time_s: Sequence[float]
    max_s: Sequence[float]
    waiting_s: Sequence[float]
    bytes: Sequence[int]
    communicators: Mapping[str, float]
    memory: Mapping[str, int]
    sizes: Sequence[Mapping[str, int]]

    @property
    def time(self) -> Imbalance:
        return imbalance_of(self.time_s)

    @property
    def mean_calls(self) -> float:
        return mean(self.calls)


@dataclass(frozen=True)
class CallSite:
    function: str
    caller: str
    file: str
    line: int
    calls: int
    time_s: float  # of all ranks together
    bytes: int


@dataclass(frozen=True)
class Profile:
    """One profiled run, as far as tables and pictures need it."""

    run: str
    time: str
    command: Sequence[str]
    mpi: str
    ranks: int
    nodes: int
    exit_status: int
    placement: Sequence[Mapping[str, Any]]
    missing_ranks: Sequence[int]
    total_s: Sequence[float]
    functions: Sequence[Function]
    peers: Sequence[Mapping[str, int]]
    call_sites: Sequence[CallSite]
    warnings: Sequence[str]

    @property
    def by_time(self) -> list[Function]:
        return sorted(self.functions, key=lambda function: -function.time.mean_s)

    @property
    def mpi_s(self) -> list[float]:
        """Seconds in MPI, a rank each."""
        return [sum(function.time_s[index] for function in self.functions) for index in range(len(self.total_s))]

    @property
    def outside_s(self) -> list[float]:
        return [max(0.0, total - mpi) for total, mpi in zip(self.total_s, self.mpi_s, strict=True)]

    @property
    def mean_calls(self) -> float:
        return sum(function.mean_calls for function in self.functions)


def is_profile(line: str) -> bool:
    """Whether a line of a records file is a profile: then that is its first field."""
    return _IS_PROFILE.match(line) is not None


def parse(line: str) -> Profile:
    """The profile in one line of JSON. Raises ValueError, which says what is wrong with it."""
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a profile (not JSON: {error.msg})") from None
    try:
        validator("profile").validate(data)
    except ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "the record"
        raise ValueError(f"not a profile of version 1 ({where}: {error.message[:120]})") from None
    return Profile(
        **{name: data[name] for name in _COPIED_FIELDS},
        functions=[Function(**entry) for entry in data["functions"]],
        call_sites=[CallSite(**entry) for entry in data["call_sites"]],
    )


_COPIED_FIELDS = (
    "run", "time", "command", "mpi", "ranks", "nodes", "exit_status", "placement", "missing_ranks", "total_s", "peers",
    "warnings",
)  # fmt: skip


# ---- merging ----


def read_rank_files(folder: Path) -> list[dict[str, Any]]:
    """What the ranks wrote, in the order of ranks; a file that is no JSON, of a full disk, is as if it were missing."""
    files = []
    for path in sorted(folder.glob("rank-*.json")):
        try:
            files.append(json.loads(path.read_text(encoding="utf-8", errors="replace")))
        except (OSError, ValueError):
            continue
    return sorted(files, key=lambda entry: (entry["rank"], entry["host"], entry["pid"]))


def merge(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The part of a record that comes from the ranks; `files` is not empty."""
    ranks = max(entry["size"] for entry in files)
    there = {entry["rank"] for entry in files}
    return {
        "mpi": files[0]["mpi"],
        "program": files[0]["program"],
        "thread_level": files[0]["thread_level"],
        "ranks": ranks,
        "nodes": len({entry["host"] for entry in files}),
        "placement": [{name: entry[name] for name in ("rank", "host", "pid", "ending", "inside")} for entry in files],
        "missing_ranks": [rank for rank in range(ranks) if rank not in there],
        "total_s": [_seconds(entry["total_ns"]) for entry in files],
        "functions": _functions(files),
        "peers": [
            {"from": entry["rank"], "to": to, "bytes": bytes_, "messages": messages}
            for entry in files
            for to, bytes_, messages in entry["peers"]
        ],
    }


def _seconds(nanoseconds: int) -> float:
    return nanoseconds / 1e9


def _functions(files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    for entry in files:
        names |= {function["name"]: function["group"] for function in entry["functions"]}
    by_rank = [{function["name"]: function for function in entry["functions"]} for entry in files]
    return [_function(name, group, [functions.get(name) for functions in by_rank]) for name, group in names.items()]


def _function(name: str, group: str, ranks: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    def each(key: str) -> list[int]:
        return [rank[key] if rank else 0 for rank in ranks]

    present = [rank for rank in ranks if rank]
    return {
        "name": name,
        "group": group,
        "calls": each("calls"),
        "time_s": [_seconds(time) for time in each("time_ns")],
        "max_s": [_seconds(time) for time in each("max_ns")],
        "waiting_s": [_seconds(time) for time in each("waiting_ns")],
        "bytes": each("bytes"),
        "communicators": _communicators([rank["communicators"] for rank in present]),
        "memory": {
            kind: calls
            for kind, calls in zip(
                MEMORIES, map(sum, zip(*(rank["memory"] for rank in present), strict=True)), strict=True
            )
            if calls
        },
        "sizes": _sizes(bin_ for rank in present for bin_ in rank["bins"]),
    }


def _communicators(ranks: Sequence[Sequence[int]]) -> dict[str, float]:
    known = [rank for rank in ranks if rank[0]]
    if not known:
        return {}
    calls = sum(rank[0] for rank in known)
    return {
        "mean_size": sum(rank[1] for rank in known) / calls,
        "min_size": min(rank[2] for rank in known),
        "max_size": max(rank[3] for rank in known),
    }


def _sizes(bins: Iterable[Sequence[int]]) -> list[dict[str, int]]:
    calls: dict[int, int] = {}
    for number, count in bins:
        calls[number] = calls.get(number, 0) + count
    return [
        {"from_bytes": 0 if number == 0 else 2 ** (number - 1), "to_bytes": 2**number - 1, "calls": calls[number]}
        for number in sorted(calls)
    ]
