"""Records and profiles in which rules have something to say, and their like."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

from commlens.model.profile import Profile, parse
from sample_applications import make_overlap_record, make_transform_record
from sample_records import make_profile, make_record, statistic

Lines = Sequence[dict[str, Any]]
Given = Union[Lines, Profile]
SIZES = [8, 64, 512, 4096, 32768]
GPU = {"name": "NVIDIA H200", "pci": "0000:19:00.0", "memory_bytes": 1 << 37}
FAST, SLOW = [1.0] * 5, [4.0] * 5
WITH_CCL = {"mpi": "Open MPI 5.0.7", "ccl": "NCCL 2.28.3"}


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


def powered(watts: float, default: float) -> list[dict[str, Any]]:
    places = placement()
    for place in places:
        place["device"].update(power_limit_W=watts, default_power_limit_W=default)
    return places


def clocked(*clocks: float, limits: Sequence[str] = (), **changes: Any) -> Lines:
    """A record of one start for each clock, in MHz."""
    return [
        {
            **make_record(bytes=size, memory="device", placement=placement(), **changes),
            "gpu_clock": {"least_MHz": clock, "highest_MHz": 1980, "limits": list(limits)},
        }
        for size, clock in zip(SIZES, clocks)
    ]


def faulting(faults: float, seconds: float, *variables: str, **changes: Any) -> Lines:
    """A call of 50 us with so many page faults, of so many seconds each."""
    fields = {"median_us": 50, "calls": {"MPI_Reduce": 1.0}, **changes}
    record = make_record(environment=dict.fromkeys(variables, "1048576"), **fields)
    return [{**record, "page_faults": {"per_operation": faults, "seconds": seconds}}]


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


def replays(other_us: float, gaps: str = "cpu", recorded_s: float = 1.0, **facts: float) -> Lines:
    """Replays of a trace over MPI, which take a second, and over another transport."""
    return [
        make_record(
            benchmark="replay",
            parameters={"trace": "program.clt", "gaps": gaps},
            facts={"recorded_s": recorded_s, **facts},
            transport=transport,
            median_us=time_us,
        )
        for transport, time_us in (("mpi", 1e6), ("staged", other_us))
    ]


LINEAR = {"OMPI_MCA_coll_tuned_allreduce_algorithm": "1"}


def selected(
    algorithm: str,
    size: int = 1 << 16,
    ranks: int = 4,
    collective: str = "MPI_Allreduce",
    **changes: Any,
) -> Lines:
    """An allreduce with what Open MPI selected for it."""
    selection = {"pml": "ob1", "coll": "tuned", "collective": collective}
    if algorithm:
        selection["algorithm"] = algorithm
    return [
        make_record(benchmark="allreduce", bytes=size, ranks=ranks, selection=selection, **changes)
    ]


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
        for summary in record["statistics"].values():
            summary.update(ci_low=None, ci_high=None, count=3)
    return list(records)


def noisy(records: Lines) -> Lines:
    """With samples from almost nothing to three times the median."""
    for record in records:
        for summary in record["statistics"].values():
            middle = summary["median"]
            summary.update(
                ci_low=0.2 * middle, min=0.1 * middle, ci_high=2.5 * middle,
                p95=3 * middle, p99=3 * middle, max=3 * middle,
            )  # fmt: skip
    return records


def jump(times_us: Sequence[float] = (1.0, 1.0, 5.0, 5.1, 5.2), **changes: Any) -> Lines:
    return [{**record, "ceilings": []} for record in sweep(times_us, **changes)]


def jump_of_ceilings() -> Lines:
    (ceiling,) = make_record()["ceilings"]
    times_us = (0.1, 0.1, 0.5, 0.5, 0.5)
    return [
        {**record, "ceilings": [{**ceiling, "time_us": time}]}
        for record, time in zip(jump(), times_us)
    ]


def jump_of_page_faults(seconds: float = 1e-6) -> Lines:
    faults = {"page_faults": {"per_operation": 2, "seconds": seconds}}
    return [{**record, **(faults if index >= 2 else {})} for index, record in enumerate(jump())]


def below(
    fraction: float, largest: int = 1 << 24, ceiling: str = "memory copy", **changes: Any
) -> Lines:
    """A sweep whose ceilings are this fraction of the times."""
    sizes = [largest >> 8, largest >> 4, largest]
    records = sweep([10.0, 100.0, 1000.0], sizes, **changes)
    for record, time in zip(records, (10.0, 100.0, 1000.0)):
        record["ceilings"][0].update(name=ceiling, fraction=fraction, time_us=fraction * time)
    return records


def launches(first_us: float, second_us: float, **changes: Any) -> Lines:
    both_launches = ((first_us, "one"), (second_us, "two"))
    return [make_record(median_us=time, start=name, **changes) for time, name in both_launches]


def directions(to_us: float, from_us: float) -> Lines:
    return [
        *sweep([to_us] * 5, memory="host:device"),
        *sweep([from_us] * 5, memory="device:host"),
    ]


def overlap(
    hidden: float, together_us: float = 1.5e6, is_asked_for: bool = True, **changes: Any
) -> Lines:
    """A pipeline whose longer stream takes 1 s alone."""
    parts = {("products", "compute"): 1e6, ("sums", "communication"): 0.6e6}
    record = make_overlap_record(
        parts_us=parts, together_us=together_us, memory="device",
        placement=placement()[: changes.get("ranks", 2)], timeline=None, **changes,
    )  # fmt: skip
    record["parameters"]["overlap"] = is_asked_for
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


def on_device(*values: Any) -> dict[str, Any]:
    """The same function, called with buffers in device memory."""
    return {**function(*values), "memory": {"device": 400}}


def unsteady(records: Lines) -> Lines:
    """With intervals of half the median to both sides."""
    for record in records:
        for summary in record["statistics"].values():
            low, high = 0.6 * summary["median"], 1.5 * summary["median"]
            summary.update(min=low, ci_low=low, ci_high=high, p95=high, p99=high, max=high)
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
