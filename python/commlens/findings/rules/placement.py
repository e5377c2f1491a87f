"""Placement of ranks, and clocks and power limits of their GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from os import cpu_count
from socket import gethostname

from commlens.base.text import plural
from commlens.findings.facts import SHORTEST_HOST_MESSAGE
from commlens.findings.finding import Evidence, Setting
from commlens.findings.rule import Seen, observation
from commlens.findings.view import (
    Crowd,
    View,
    cost_of,
    crowds,
    grouped,
    has_number,
    is_on_gpu,
    is_worth,
    on_gpu_of,
    so_in,
    text_of,
)
from commlens.machine.gpus import Gpu
from commlens.model import Record, Start
from commlens.model.interference import programs_of, why_busy
from commlens.model.profile import mean
from commlens.model.start import Device, count_numbers

_LONGEST = 60  # characters of a list of cores
_LOWERED = 0.99  # of the default limit: drivers round


def busy_machine(view: View) -> Seen:
    by_job = grouped(view.busy, lambda record: (_hosts(record.start), _has_slurm(record.start)))
    for (_, has_slurm), records in by_job.items():
        programs = ", ".join(programs_of(records)) or "other programs"
        yield observation(
            Evidence(text_of(records[0].start), tuple(records)),
            which="srun" if has_slurm else "",
            programs=programs,
            why=why_busy(records[0]),
            cases=so_in(records),
        )


def _hosts(start: Start) -> frozenset[str]:
    return frozenset(place.host for place in start.placement)


def _has_slurm(start: Start) -> bool:
    return "SLURM_JOB_ID" in start.environment


def ranks_share_cores(view: View) -> Seen:
    for profile in view.profiles:
        crowded = crowds([(place.host, place.cpus) for place in profile.placement])
        queued = mean(profile.queued_s)
        if crowded and is_worth(profile, queued):
            yield observation(*cost_of(profile, queued), which="program", crowd=_crowd(crowded))
    for start, records in view.launches:
        if crowded := crowds([(place.host, place.cores) for place in start.placement]):
            evidence = Evidence(text_of(start), records)
            yield observation(evidence, setting=_bound_to_cores(start), crowd=_crowd(crowded))


def _bound_to_cores(start: Start) -> Setting | None:
    """For those launchers that are known by the MPI library."""
    if "Open MPI" in start.mpi:
        words: tuple[str, ...] = ("--map-by", "core", "--bind-to", "core")
        return Setting({}, words, SHORTEST_HOST_MESSAGE)
    is_mpich = "MPICH" in start.mpi
    return Setting({}, ("-bind-to", "core"), SHORTEST_HOST_MESSAGE) if is_mpich else None


def _crowd(crowded: Sequence[Crowd]) -> str:
    host, ranks, processors = crowded[0]
    others = f" and {plural(len(crowded) - 1, 'more node')}" if len(crowded) > 1 else ""
    return f"{plural(ranks, 'rank')} on {plural(processors, 'processor')} of {host}{others}"


def ranks_wait_for_processors(view: View, share: float) -> Seen:
    for profile in view.profiles:
        queued, longest = mean(profile.queued_s), max(profile.queued_s)
        crowded = crowds([(place.host, place.cpus) for place in profile.placement])
        if not crowded and is_worth(profile, queued, share):
            place = profile.placement[profile.queued_s.index(longest)]
            yield observation(*cost_of(profile, queued, share), place=place, longest=longest)


def too_few_cores(view: View, most_threads: int) -> Seen:
    for start, records in view.launches:
        threads, why = _threads(start, records)
        counts = [(place, count_numbers([place.cores])) for place in start.placement if place.cores]
        few = [(place, count) for place, count in counts if count < threads]
        if few and threads <= most_threads:
            place, count = few[0]
            there = [other.cores for other in start.placement if other.host == place.host]
            processors, is_all = _processors_of(place.host, there)
            is_enough = processors >= len(there) * threads
            yield observation(
                Evidence(text_of(start), records),
                which="" if is_enough else "a smaller job" if is_all else "a larger node",
                start=start,
                place=place,
                processors_of_host=processors,
                processors_needed=len(there) * threads,
                ranks=max(1, processors // threads),
                cores=place.cores[:_LONGEST],
                processors=count,
                why=why,
                few=few,
                threads=threads,
            )


def _processors_of(host: str, cores: Sequence[str]) -> tuple[int, bool]:
    """How many processors of a host are known by those of its ranks, and whether it has no more."""
    known, here = count_numbers(cores), cpu_count() if host == gethostname() else None
    is_unbound = len(cores) > 1 and len(set(cores)) == 1
    return max(known, here or 0), is_unbound or here is not None


def _threads(start: Start, records: Sequence[Record]) -> tuple[int, str]:
    """The most that a rank is known to have, and how it is known."""
    text = start.environment.get("OMP_NUM_THREADS", "").partition(",")[0]
    wanted = int(text) if text.isdecimal() and len(text) < 6 else 0
    on_host = (record for record in records if record.parts and not is_on_gpu(record.memory))
    streams = max((len(record.alone_s) for record in on_host), default=0)
    if wanted >= streams:
        return wanted, f"OMP_NUM_THREADS is {wanted}"
    return streams, f"its {streams} streams have a thread each"


def far_from_gpu(view: View) -> Seen:
    for start, records in view.launches:
        placed = [(place, place.device.numa_node) for place in start.placement if place.device]
        known = [(place, node) for place, node in placed if node >= 0 and place.numa_nodes]
        far = [place for place, node in known if not has_number(place.numa_nodes, node)]
        if far and (on_gpu := on_gpu_of(records)):
            nodes = far[0].numa_nodes[:_LONGEST]
            evidence = Evidence(text_of(start), on_gpu)
            yield observation(evidence, start=start, place=far[0], nodes=nodes, far=far)


def ranks_share_gpu(view: View) -> Seen:
    for start, records in view.launches:
        placed = [place for place in start.placement if place.device]
        by_gpu = grouped(placed, lambda place: (place.host, place.device and place.device.uuid))
        shared = [places for places in by_gpu.values() if len(places) > 1]
        if shared and (on_gpu := on_gpu_of(records)):
            yield observation(Evidence(text_of(start), on_gpu), ranks=shared[0], first=shared[0][0])


def gpu_clocks_changed(view: View, change: float) -> Seen:
    for start, records in view.launches:
        clocked = [record for record in records if _least(record) > 0]
        if len(clocked) < 2:
            continue
        low, high = min(clocked, key=_least), max(clocked, key=_least)
        share = 1 - _least(low) / _least(high)
        if share > change:
            clocks = (record.gpu_clock for record in clocked if record.gpu_clock)
            limits = {limit for clock in clocks for limit in clock.limits}
            yield observation(
                Evidence(text_of(start), (low, high)),
                launch=text_of(start),
                lowest=_least(low),
                highest=_least(high),
                share=share,
                why=f"; limited by: {', '.join(sorted(limits))}" if limits else "",
            )


def gpu_power_limit_lowered(view: View) -> Seen:
    for start, records in view.launches:
        lowered = [place for place in start.placement if place.device and is_lowered(place.device)]
        if lowered and (on_gpu := on_gpu_of(records)):
            yield observation(
                Evidence(text_of(start), on_gpu), start=start, lowered=lowered, first=lowered[0]
            )


def _least(record: Record) -> float:
    return record.gpu_clock.least_MHz if record.gpu_clock else 0.0


def is_lowered(gpu: Device | Gpu) -> bool:
    """Of its power limit; what is unknown is not."""
    now, usual = gpu.power_limit_W, gpu.default_power_limit_W
    return now is not None and usual is not None and now < _LOWERED * usual
