"""Placement of ranks"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import format_time, plural
from commlens.findings.disturbance import Crowd, crowds, is_on_gpu
from commlens.findings.finding import Evidence, Setting
from commlens.findings.rule import Observation, rule
from commlens.findings.view import LEAST_SHARE, View, cost_of, on_gpu_of, text_of, total_of
from commlens.model import Place, Record, Start
from commlens.model.profile import mean
from commlens.model.start import count_numbers, ranges_of

_LOST_CORES_SHARE = 0.05
_MOST_THREADS = 1024  # of a rank: a larger number is none
_LONGEST = 60  # characters of a list of cores


@rule(
    "ranks-share-cores",
    "warning",
    "ranks share cores",
    needs=("records", "profile"),
    when="some ranks of a host have fewer processors than they are, all together or those of one "
    f"binding; in a profiled program, where waiting for one costs {LEAST_SHARE:.0%} of its time.",
    fix="Launch no more ranks than there are cores, and bind each to its own: "
    "`--map-by core --bind-to core` (mpirun), `--cpu-bind=cores` (srun).",
)
def ranks_share_cores(view: View) -> Iterator[Observation]:
    for profile in view.profiles:
        crowded = crowds([(place.host, place.cpus) for place in profile.placement])
        queued = mean(profile.queued_s)
        if crowded and queued >= LEAST_SHARE * total_of(profile):
            yield Observation(
                f"Ranks share cores ({_crowd(crowded)}) and wait for one while they could run",
                *cost_of(profile, queued),
            )
    for start, records in view.launches:
        if crowded := crowds([(place.host, place.cores) for place in start.placement]):
            yield Observation(
                f"Ranks share cores ({_crowd(crowded)}): times show the scheduler as much as the "
                "communication",
                Evidence(text_of(start), records),
                setting=_bound_to_cores(start),
            )


def _bound_to_cores(start: Start) -> Setting | None:
    """For those launchers that are known by the MPI library."""
    shown_by = ("latency", "--bytes", "1", "--memory", "host", "--transport", "mpi")
    if "Open MPI" in start.mpi:
        return Setting({}, ("--map-by", "core", "--bind-to", "core"), shown_by)
    return Setting({}, ("-bind-to", "core"), shown_by) if "MPICH" in start.mpi else None


def _crowd(crowded: Sequence[Crowd]) -> str:
    host, ranks, processors = crowded[0]
    others = f" and {plural(len(crowded) - 1, 'more node')}" if len(crowded) > 1 else ""
    return f"{plural(ranks, 'rank')} on {plural(processors, 'processor')} of {host}{others}"


@rule(
    "ranks-wait-for-processors",
    "warning",
    "ranks wait for processors that others use",
    needs="profile",
    when=f"in a profiled program, ranks could run and waited for {_LOST_CORES_SHARE:.0%} of the "
    "time, though there is a processor for each.",
    fix="Other programs run there (`top` lists them), or a rank has more threads than it has "
    "processors (OMP_NUM_THREADS): times of this run say little about the program.",
)
def ranks_wait_for_processors(view: View) -> Iterator[Observation]:
    for profile in view.profiles:
        queued = mean(profile.queued_s)
        crowded = crowds([(place.host, place.cpus) for place in profile.placement])
        if crowded or queued < _LOST_CORES_SHARE * total_of(profile):
            continue
        place = profile.placement[profile.queued_s.index(max(profile.queued_s))]
        yield Observation(
            "Ranks wait for a processor while they could run, though there is one for each (rank "
            f"{place.rank} on {place.host} for {format_time(max(profile.queued_s))})",
            *cost_of(profile, queued),
        )


@rule(
    "too-few-cores",
    "warning",
    "a rank is bound to fewer cores than it has threads",
    needs="records",
    when="OMP_NUM_THREADS is larger than the number of processors that a rank may run on, or "
    "streams that should overlap in host memory, which have a thread each, are more than these.",
    fix="Bind each rank to as many cores as it has threads: `--map-by slot:PE={threads} "
    "--bind-to core` (mpirun), `--cpus-per-task={threads} --cpu-bind=cores` (srun).",
)
def too_few_cores(view: View) -> Iterator[Observation]:
    for start, records in view.launches:
        threads, why = _threads(start, records)
        few = [
            place
            for place in start.placement
            if place.cores and count_numbers([place.cores]) < threads
        ]
        if not few or threads > _MOST_THREADS:
            continue
        first = few[0]
        yield Observation(
            f"Rank {first.rank} on {first.host} may run on "
            f"{plural(count_numbers([first.cores]), 'processor')} ({first.cores[:_LONGEST]}), and "
            f"{why}; so {len(few)} of {plural(start.ranks, 'rank')}",
            Evidence(text_of(start), records),
            words={"threads": str(threads)},
        )


def _threads(start: Start, records: Sequence[Record]) -> tuple[int, str]:
    """The most that a rank is known to have, and how it is known."""
    text = start.environment.get("OMP_NUM_THREADS", "").partition(",")[0]
    wanted = int(text) if text.isdecimal() and len(text) < 6 else 0
    own = (record for record in records if record.parts and not is_on_gpu(record.memory))
    streams = max((len(record.alone_s) for record in own), default=0)
    if wanted >= streams:
        return wanted, f"OMP_NUM_THREADS is {wanted}"
    return streams, f"its {streams} streams have a thread each"


@rule(
    "far-from-gpu",
    "warning",
    "a rank runs on another NUMA node than its GPU",
    needs="records",
    when="the NUMA node of a rank's GPU is none of those of its cores, as recorded.",
    fix="Bind the rank to cores of node {node}: `numactl --cpunodebind={node} "
    "--membind={node}`, `--map-by numa --bind-to numa` (mpirun) or `--gpu-bind=closest` (srun).",
)
def far_from_gpu(view: View) -> Iterator[Observation]:
    for start, records in view.launches:
        far = [place for place in start.placement if _is_far(place)]
        on_gpu = on_gpu_of(records) if far else ()
        if not on_gpu:
            continue
        place = far[0]
        node = place.device.numa_node if place.device else -1
        yield Observation(
            f"Rank {place.rank} runs on NUMA node {place.numa_nodes[:_LONGEST]} of {place.host}, "
            f"and its GPU is at node {node}; so {len(far)} of "
            f"{plural(start.ranks, 'rank')}",
            Evidence(text_of(start), on_gpu),
            words={"node": str(node)},
        )


def _is_far(place: Place) -> bool:
    if place.device is None or place.device.numa_node < 0 or not place.numa_nodes:
        return False
    node = place.device.numa_node
    return not any(first <= node <= last for first, last in ranges_of(place.numa_nodes))


@rule(
    "ranks-share-gpu",
    "warning",
    "ranks share a GPU",
    needs="records",
    when="two ranks of a launch have the same GPU, and its memory was measured.",
    fix="Start at most as many ranks as there are GPUs. Where they must share one, start its "
    "multi-process service (`nvidia-cuda-mps-control -d`).",
)
def ranks_share_gpu(view: View) -> Iterator[Observation]:
    for start, records in view.launches:
        by_gpu: dict[tuple[str, str], list[Place]] = {}
        for place in start.placement:
            if place.device:
                by_gpu.setdefault((place.host, place.device.uuid), []).append(place)
        shared = [places for places in by_gpu.values() if len(places) > 1]
        on_gpu = on_gpu_of(records) if shared else ()
        if on_gpu:
            first = shared[0][0]
            gpu = f"GPU {first.device.ordinal} ({first.device.name})" if first.device else "a GPU"
            yield Observation(
                f"{plural(len(shared[0]), 'rank')} share {gpu} of {first.host}: their times "
                "include each other's work",
                Evidence(text_of(start), on_gpu),
            )
