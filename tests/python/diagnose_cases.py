"""Records and profiles for every rule: some in which it speaks, and some in which it is silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Union

from commlens.profile.record import Profile, parse
from sample_applications import make_overlap_record, make_transform_record
from sample_profile import make_profile
from sample_records import make_record, statistic

Lines = Sequence[dict[str, Any]]
Given = Union[Lines, Profile]
SIZES = [8, 64, 512, 4096, 32768]
GPU = {"name": "NVIDIA H200", "pci": "0000:19:00.0", "memory_bytes": 1 << 37}


@dataclass(frozen=True)
class Cases:
    """Of one rule, by what is special about them."""

    speaks: dict[str, Callable[[], Given]]
    silent: dict[str, Callable[[], Given]]


def placement(
    cores: Sequence[str] = ("0-7", "8-15"),
    numa: Sequence[str] = ("0", "1"),
    gpus: Sequence[int] = (0, 1),
    gpu_numa: Sequence[int] = (0, 1),
) -> list[dict[str, Any]]:
    return [
        {
            "rank": rank,
            "host": "node01",
            "cores": cores[rank],
            "numa_nodes": numa[rank],
            "device": {
                **GPU, "ordinal": gpu, "uuid": f"GPU-{gpu}", "numa_node": gpu_numa[rank]
            },
        }
        for rank, gpu in enumerate(gpus)
    ]  # fmt: skip


def sweep(
    times_us: Sequence[float], sizes: Sequence[int] = SIZES, **changes: Any
) -> list[dict[str, Any]]:
    """One transport over sizes, `device` memory of two GPUs."""
    fields = {"memory": "device", "placement": placement(), **changes}
    return [
        make_record(bytes=size, median_us=time, **fields) for size, time in zip(sizes, times_us)
    ]


def both(mpi_us: Sequence[float], other: str, other_us: Sequence[float], **changes: Any) -> Lines:
    return [*sweep(mpi_us, **changes), *sweep(other_us, transport=other, **changes)]


def with_samples(record: dict[str, Any]) -> dict[str, Any]:
    """The same with samples that fit its statistics, between the ends of its interval."""
    time = record["statistics"].get("time_us")
    if time is None:
        return record
    low, high = (time[end] or time["median"] for end in ("ci_low", "ci_high"))
    steps = max(1, time["count"] - 1)
    values = [(low + (high - low) * step / steps) * 1e-6 for step in range(time["count"])]
    return {**record, "samples": {**record["samples"], "values_s": values}}


def without_interval(records: Iterable[dict[str, Any]]) -> Lines:
    """As of too few samples: no test can say that two of them differ."""
    for record in records:
        for one in record["statistics"].values():
            one.update(ci_low=None, ci_high=None, count=3)
    return list(records)


def noisy(records: Lines) -> Lines:
    """With samples from almost nothing to three times the median."""
    for record in records:
        for one in record["statistics"].values():
            middle = one["median"]
            one.update(
                ci_low=0.2 * middle, min=0.1 * middle, ci_high=2.5 * middle,
                p95=3 * middle, p99=3 * middle, max=3 * middle,
            )  # fmt: skip
    return records


def jump(times_us: Sequence[float] = (1.0, 1.0, 5.0, 5.1, 5.2), **changes: Any) -> Lines:
    records = sweep(times_us, **changes)
    for record in records:
        record["ceilings"] = []
    return records


def below(fraction: float, largest: int = 1 << 24, **changes: Any) -> Lines:
    """A sweep whose ceilings are this fraction of the times."""
    sizes = [largest >> 8, largest >> 4, largest]
    records = sweep([10.0, 100.0, 1000.0], sizes, **changes)
    for record, time in zip(records, (10.0, 100.0, 1000.0)):
        record["ceilings"][0].update(fraction=fraction, time_us=fraction * time)
    return records


def starts(first_us: float, second_us: float, **changes: Any) -> Lines:
    both_starts = ((first_us, "one"), (second_us, "two"))
    return [make_record(median_us=time, start=name, **changes) for time, name in both_starts]


def directions(to_us: float, from_us: float) -> Lines:
    return [
        *sweep([to_us] * 5, memory="host:device"),
        *sweep([from_us] * 5, memory="device:host"),
    ]


def overlap(hidden: float, together_us: float = 1.5e6, **changes: Any) -> Lines:
    """A pipeline whose longer stream takes 1 s alone."""
    parts = {("products", "compute"): 1e6, ("sums", "communication"): 0.6e6}
    record = make_overlap_record(
        parts_us=parts, together_us=together_us, memory="device",
        placement=placement(), timeline=None, **changes,
    )  # fmt: skip
    name = "hidden_communication"
    declared = record["start"]["benchmark"]["metrics"]
    declared.append({**declared[-1], "name": name, "label": "hidden", "unit": "",
                     "better": "higher"})  # fmt: skip
    record["statistics"][name] = statistic(hidden)
    return [record]


def transform(made_ms: float, **changes: Any) -> Lines:
    parts = {"local FFT": 6.0, "communication": 8.0, "communicators": made_ms}
    return [make_transform_record(variant=None, parts_ms=parts, **changes)]


def profile(
    *functions: dict[str, Any], cpus: str = "0-7", queued_s: float = 0.0
) -> Callable[[], Profile]:
    """Of four ranks, 10 s each."""
    places = [
        {"rank": rank, "host": "node", "pid": 10 + rank, "ending": "finalized", "inside": "",
         "cpus": cpus, "cpu_s": 1.0, "queued_s": queued_s}
        for rank in range(4)
    ]  # fmt: skip
    line = make_profile(
        ranks=4, placement=places, total_s=[10.0] * 4, functions=list(functions), peers=[]
    )
    return lambda: parse(json.dumps(line))


def function(
    name: str, time_s: float | Sequence[float] = 1.0, calls: int = 1, size: int = 0
) -> dict[str, Any]:
    times = [time_s] * 4 if isinstance(time_s, (int, float)) else list(time_s)
    return {
        "name": name, "group": "collective", "calls": [calls] * 4, "time_s": times,
        "max_s": times, "waiting_s": [0] * 4, "bytes": [calls * size] * 4, "communicators": {},
        "memory": {}, "sizes": [{"from_bytes": size, "to_bytes": 2 * size, "calls": 4 * calls}],
    }  # fmt: skip


def unsteady(records: Lines) -> Lines:
    """With intervals of half the median to both sides."""
    for record in records:
        for one in record["statistics"].values():
            low, high = 0.6 * one["median"], 1.5 * one["median"]
            one.update(min=low, ci_low=low, ci_high=high, p95=high, p99=high, max=high)
    return records


def failed(status: str, **changes: Any) -> Lines:
    check = {"status": status, "checks": 1, "elements": 8, "message": "rank 1, element 3: 7"}
    return [make_record(status="failed", reason="wrong", validation=check, **changes)]


def skipped(transport: str, memory: str = "device", **changes: Any) -> Lines:
    reason = "this library does not take device memory"
    return [
        make_record(
            transport=transport, memory=memory, status="skipped", reason=reason,
            placement=placement(), **changes,
        )
    ]  # fmt: skip


FAST, SLOW = [1.0] * 5, [4.0] * 5
WITH_CCL = {"mpi": "Open MPI 5.0.7", "ccl": "NCCL 2.28.3"}

CASES: dict[str, Cases] = {
    "wrong-results": Cases(
        {"failed": lambda: failed("failed")},
        {"passed": lambda: [make_record()], "an error": lambda: failed("not reached")},
    ),
    "mpi-slower-than-staged": Cases(
        {
            "a sweep": lambda: both(SLOW, "staged", FAST),
            "one size": lambda: both([4.0], "staged", [1.0]),
            "two starts": lambda: [
                *both(SLOW, "staged", FAST, start="one"),
                *both(SLOW, "staged", FAST, start="two"),
            ],
        },
        {
            "faster": lambda: both(FAST, "staged", SLOW),
            "a little": lambda: both([1.4] * 5, "staged", FAST),
            "two sizes in a row": lambda: both([1, 4, 4, 1, 1], "staged", FAST),
            "one start does not": lambda: [
                *both(SLOW, "staged", FAST, start="one"),
                *both(FAST, "staged", FAST, start="two"),
            ],
            "few samples": lambda: without_interval(both(SLOW, "staged", FAST)),
            "noise": lambda: noisy(both(SLOW, "staged", FAST)),
            "host memory": lambda: both(SLOW, "staged", FAST, memory="host"),
            "one rank": lambda: both(SLOW, "staged", FAST, ranks=1, placement=placement()[:1]),
            "a shared GPU": lambda: both(SLOW, "staged", FAST, placement=placement(gpus=(0, 0))),
            "shared cores": lambda: both(
                SLOW, "staged", FAST, placement=placement(cores=("0", "0"))
            ),
        },
    ),
    "mpi-slower-than-ccl": Cases(
        {"a sweep": lambda: both(SLOW, "ccl", FAST)},
        {
            "less than twice": lambda: both([1.9] * 5, "ccl", FAST),
            "few samples": lambda: without_interval(both(SLOW, "ccl", FAST)),
            "noise": lambda: noisy(both(SLOW, "ccl", FAST)),
        },
    ),
    "transport-not-available": Cases(
        {
            "MPI": lambda: skipped("mpi"),
            "a build without NCCL": lambda: skipped("ccl"),
        },
        {
            "host memory": lambda: skipped("mpi", memory="host"),
            "NCCL is there": lambda: skipped("ccl", versions=WITH_CCL),
            "some cases ran": lambda: [
                *skipped("mpi"),
                make_record(memory="device", placement=placement()),
            ],
            "another transport": lambda: skipped("synchronous"),
        },
    ),
    "jump-between-sizes": Cases(
        {
            "up": jump,
            "host memory": lambda: jump(memory="host"),
            "two starts": lambda: [*jump(start="one"), *jump(start="two")],
        },
        {
            "a smooth curve": lambda: jump([1 + size / 500 for size in SIZES]),
            "one slow size": lambda: jump([1, 1, 5, 1, 1]),
            "at the end": lambda: jump([1, 1, 1, 1, 5]),
            "less than twice": lambda: jump([1, 1, 1.9, 1.9, 1.9]),
            "one start does not": lambda: [*jump(start="one"), *jump(FAST, start="two")],
            "uneven steps": lambda: jump(sizes=[8, 64, 4096, 8192, 16384]),
            "few samples": lambda: without_interval(jump()),
            "a restless machine": lambda: unsteady(jump()),
            "noise": lambda: noisy(jump()),
            "the ceiling jumps": lambda: [
                {**record, "ceilings": [{**make_record()["ceilings"][0], "time_us": time}]}
                for record, time in zip(jump(), (0.1, 0.1, 0.5, 0.5, 0.5))
            ],
        },
    ),
    "below-ceiling": Cases(
        {"a fifth": lambda: below(0.2), "host memory": lambda: below(0.2, memory="host")},
        {
            "most of it": lambda: below(0.9),
            "small messages": lambda: below(0.2, largest=1 << 20),
            "another transport reaches it": lambda: [
                *below(0.2),
                *sweep([1.0] * 3, [1 << 16, 1 << 20, 1 << 24], transport="ccl"),
            ],
            "few samples": lambda: without_interval(below(0.2)),
            "a restless machine": lambda: unsteady(below(0.1)),
            "a shared GPU": lambda: below(0.2, placement=placement(gpus=(0, 0))),
        },
    ),
    "direction-slower": Cases(
        {"twice": lambda: directions(4.0, 2.0)},
        {
            "a little": lambda: directions(2.5, 2.0),
            "few samples": lambda: without_interval(directions(4.0, 2.0)),
            "one of them": lambda: sweep(SLOW, memory="host:device"),
        },
    ),
    "starts-differ": Cases(
        {"by a quarter": lambda: starts(15.1, 18.9)},
        {
            "within samples": lambda: starts(15.1, 15.2),
            "a little": lambda: starts(15.1, 16.2),
            "few samples": lambda: without_interval(starts(15.1, 18.9)),
            "a restless machine": lambda: unsteady(starts(15.1, 99.0)),
            "other settings": lambda: [
                make_record(median_us=15.1, start="one"),
                make_record(median_us=18.9, start="two", environment={"UCX_TLS": "sm"}),
            ],
            "other GPUs": lambda: [
                make_record(median_us=15.1, start="one", placement=placement()),
                make_record(median_us=18.9, start="two", placement=placement(gpus=(2, 3))),
            ],
        },
    ),
    "communication-not-hidden": Cases(
        {
            "a tenth": lambda: overlap(0.1),
            "NCCL": lambda: overlap(0.1, transport="ccl"),
        },
        {
            "most of it": lambda: overlap(0.9),
            "nothing to win": lambda: overlap(0.1, together_us=1.01e6),
            "few samples": lambda: without_interval(overlap(0.1)),
            "not asked for": lambda: [
                {**one, "parameters": {**one["parameters"], "overlap": False}}
                for one in overlap(0.1)
            ],
            "one rank": lambda: [
                record
                for record in overlap(0.1)
                for start in [record["start"]]
                if record.update(ranks=1) is None
                and start.update(ranks=1, placement=start["placement"][:1]) is None
            ],
        },
    ),
    "communicators-in-a-loop": Cases(
        {
            "an operation": lambda: transform(4.0),
            "a program": profile(function("MPI_Cart_sub", 0.86, 400)),
        },
        {
            "it costs nothing": lambda: transform(0.01),
            "no calls": lambda: [{**transform(4.0)[0], "calls": {}}],
            "few calls": profile(function("MPI_Cart_sub", 0.86, 4)),
            "cheap calls": profile(function("MPI_Cart_sub", 0.001, 400)),
        },
    ),
    "ranks-share-cores": Cases(
        {
            "all together": lambda: [make_record(placement=placement(cores=("0", "0")))],
            "one binding": lambda: [
                make_record(
                    ranks=3,
                    placement=placement(("0", "0", "8-15"), ("0", "0", "1"), (0, 1, 2), (0, 0, 1)),
                )
            ],
            "a program": profile(cpus="0-1", queued_s=4.0),
        },
        {
            "cores of their own": lambda: [make_record(placement=placement())],
            "unknown": lambda: [make_record(placement=placement(cores=("", "")))],
            "nobody waits": profile(cpus="0-1"),
        },
    ),
    "ranks-wait-for-processors": Cases(
        {"others run there": profile(queued_s=4.0)},
        {"a little": profile(queued_s=0.1), "ranks share cores": profile(cpus="0", queued_s=4.0)},
    ),
    "too-few-cores": Cases(
        {
            "threads": lambda: [
                make_record(placement=placement(), environment={"OMP_NUM_THREADS": "16"})
            ],
            "streams": lambda: [make_overlap_record(memory="host", timeline=None)],
        },
        {
            "enough": lambda: [
                make_record(placement=placement(), environment={"OMP_NUM_THREADS": "8"})
            ],
            "no number": lambda: [make_record(environment={"OMP_NUM_THREADS": "9" * 99})],
            "absurd": lambda: [make_record(environment={"OMP_NUM_THREADS": "99999"})],
            "streams of a GPU": lambda: [make_overlap_record(memory="device", timeline=None)],
        },
    ),
    "far-from-gpu": Cases(
        {"the other node": lambda: sweep(FAST, placement=placement(gpu_numa=(1, 1)))},
        {
            "its node": lambda: sweep(FAST),
            "unknown": lambda: sweep(FAST, placement=placement(gpu_numa=(-1, -1))),
            "host memory": lambda: sweep(FAST, memory="host", placement=placement(gpu_numa=(1, 1))),
        },
    ),
    "ranks-share-gpu": Cases(
        {"one GPU": lambda: sweep(FAST, placement=placement(gpus=(0, 0)))},
        {
            "one each": lambda: sweep(FAST),
            "host memory": lambda: sweep(FAST, memory="host", placement=placement(gpus=(0, 0))),
        },
    ),
    "uneven-work": Cases(
        {"one rank has more": profile(function("MPI_Barrier", [4.0, 4.0, 4.0, 0.0]))},
        {"all alike": profile(function("MPI_Barrier", 4.0))},
    ),
    "many-small-messages": Cases(
        {"sends": profile(function("MPI_Isend", 0.5, 5000, 96))},
        {
            "large ones": profile(function("MPI_Isend", 0.5, 5000, 1 << 20)),
            "few": profile(function("MPI_Isend", 0.5, 50, 96)),
            "cheap": profile(function("MPI_Isend", 0.001, 5000, 96)),
        },
    ),
    "tiny-collectives": Cases(
        {"sums": profile(function("MPI_Allreduce", 1.0, 3000, 8))},
        {
            "arrays": profile(function("MPI_Allreduce", 1.0, 3000, 4096)),
            "few": profile(function("MPI_Allreduce", 1.0, 30, 8)),
        },
    ),
}
