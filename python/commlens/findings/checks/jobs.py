"""How nodes differ, how the ranks of short runs are placed there, and how these runs ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.errors import status_text
from commlens.findings.checks.conditions import ONE_NODE, compared
from commlens.findings.facts import SHORTEST_MESSAGE
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Observation, Seen, observed
from commlens.findings.view import NotApplicable, View, grouped, has_number, not_seen
from commlens.jobs.probe import GpuSupport
from commlens.machine.machine import Machine
from commlens.model import Place
from commlens.model.start import count_numbers

_MOST_CORES = 4096  # of a node: a larger list is none
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def nodes_missing(view: View) -> Seen:
    hosts = sorted({machine.host for machine in view.machines})
    if view.nodes < 2:
        raise NotApplicable(ONE_NODE)
    if len(hosts) < view.nodes:
        yield observed(asked=view.nodes, hosts=hosts, first=hosts[:8], answers=len(view.machines))


def nodes_differ_in_settings(view: View, of_node: str) -> Seen:
    """`of_node`: variables that are of each node other than they must be."""

    def facts(machine: Machine) -> dict[str, str]:
        info = machine.mpi.open_mpi
        files = info.from_files if info else ()
        variables = machine.environment.items()
        differing = {name: value for name, value in variables if name not in of_node.split()}
        return {
            **{f"The setting {setting.name} in a file": setting.value for setting in files},
            **{f"The setting {name}": value for name, value in differing.items()},
        }

    return compared(view, facts)


def _placed(view: View) -> Iterator[tuple[Machine, list[Place]]]:
    """Of each node the ranks of each launch that are there; of launches that are alike one.

    Raises NotApplicable where nothing was launched.
    """
    if not view.launches:
        raise NotApplicable("no rank was started")
    known: list[tuple[str, list[Place]]] = []
    for start, _ in view.launches:
        for machine in view.machines:
            places = [rank for rank in start.placement if _short(rank.host) == _short(machine.host)]
            if places and (machine.host, places) not in known:
                known.append((machine.host, places))
                yield machine, places


def _short(host: str) -> str:
    return host.partition(".")[0]


def cpu_quota_below_ranks(view: View) -> Seen:
    if not any(machine.cpus.cpu_quota for machine in view.machines):
        raise NotApplicable("no control group limits the time of processors")
    for machine, places in _placed(view):
        quota = machine.cpus.cpu_quota
        if quota is not None and quota.processors < len(places):
            yield observed(
                where=machine.host, ranks=places, quota=quota, most=max(1, int(quota.processors))
            )


def ranks_share_core(view: View) -> Seen:
    if not any(machine.cpus.siblings for machine in view.machines):
        raise not_seen("the kernel does not report which processors are of one core")
    for machine, places in _placed(view):
        cores = _cores(places, machine.cpus.siblings)
        processors = count_numbers([place.cores for place in places])
        # With too few processors the rule over records speaks.
        if cores and len(cores) < len(places) <= processors:
            yield observed(
                Quote("/sys/devices/system/cpu", f"thread_siblings_list: {cores[0]}"),
                *(Quote("placement", f"rank {place.rank}: {place.cores}") for place in places[:4]),
                where=machine.host,
                ranks=places,
                processors=processors,
                cores=cores,
            )


def _cores(places: Sequence[Place], siblings: Sequence[str]) -> list[str]:
    """Those that the ranks may run on."""
    if not all(place.cores for place in places) or len(siblings) > _MOST_CORES:
        return []
    wanted = [place.cores for place in places]
    total = count_numbers(wanted)
    return [
        core for core in siblings if count_numbers([*wanted, core]) < total + count_numbers([core])
    ]


def ranks_share_exclusive_gpu(view: View) -> Seen:
    every = [gpu for machine in view.machines for gpu in machine.gpus.gpus]
    exclusive = {_plain(gpu.uuid): gpu for gpu in every if gpu.uuid and gpu.is_exclusive}
    if not exclusive:
        raise NotApplicable("no GPU takes one process only")
    for machine, places in _placed(view):
        for uuid, gpu in exclusive.items():
            sharing = [
                place for place in places if place.device and _plain(place.device.uuid) == uuid
            ]
            if len(sharing) > 1:
                ranks = [str(place.rank) for place in sharing]
                source = machine.gpus.source
                yield observed(where=machine.host, ranks=ranks, gpu=gpu, source=source)


def _plain(uuid: str) -> str:
    """nvidia-smi writes it with dashes, and records without."""
    return uuid.replace("-", "").lower()


def ranks_far_from_nic(view: View) -> Seen:
    if not any(start.nodes > 1 for start, _ in view.launches):
        raise NotApplicable("all ranks are on one node")
    for machine, places in _placed(view):
        nics = [nic for nic in machine.nics.fast if nic.is_up and nic.numa_node is not None]
        lists = [place.numa_nodes for place in places]
        far = not any(has_number(text, nic.numa_node) for text in lists for nic in nics)
        if nics and all(lists) and far:
            yield observed(where=machine.host, nodes=sorted(set(lists)), nic=nics[0])


def one_gpu_visible(view: View) -> Seen:
    if not any(machine.devices.gpus > 1 for machine in view.machines):
        raise NotApplicable("no node has 2 GPUs")
    by_wrapper = next(_by_wrapper(view), None)
    if by_wrapper:
        yield by_wrapper
        return
    for machine in view.machines:
        values = {name: machine.environment.get(name, "") for name in _VISIBLE}
        name = next((name for name, value in values.items() if value), "")
        listed = [device for device in values.get(name, "").split(",") if device]
        if len(listed) == 1 and machine.devices.gpus > 1:
            yield observed(
                Quote("environment", f"{name}={values[name]}"),
                where=machine.host,
                which="by a variable",
                setting=Setting({name: None}, shown_by=SHORTEST_MESSAGE),
                variable=f"{name}={values[name]}",
                gpus=machine.devices.gpus,
            )


def _by_wrapper(view: View) -> Iterator[Observation]:
    for start, _ in view.launches:
        for host, places in grouped(start.placement, lambda place: place.host).items():
            gpus = {(place.device.ordinal, place.device.uuid) for place in places if place.device}
            if len(gpus) > 1 and {ordinal for ordinal, _ in gpus} == {0}:
                listed = [f"GPU {ordinal} is {uuid}" for ordinal, uuid in sorted(gpus)[:2]]
                quote = Quote(f"placement of {start.benchmark.name}", ", ".join(listed))
                yield observed(quote, where=host, ranks=len(gpus), host=host)


def short_runs(view: View, ending: str) -> Seen:
    """The first of those that ended so, with all their names."""
    verdict = view.runs.verdict
    is_explained = verdict is not None and verdict.support is GpuSupport.BROKEN
    failures = [failure for failure in view.runs.failures if failure.ending == ending]
    if failures and not (ending == "failed" and is_explained):
        first = failures[0]
        said = first.said[-1:] if ending == "slow" else first.said
        yield observed(
            *(Quote(f"commlens run {first.benchmark}", line[:300]) for line in said),
            failures=failures,
            names=[failure.benchmark for failure in failures],
            benchmark=first.benchmark,
            status=first.status,
            meaning=status_text(first.status),
        )


def mpi_fails_on_gpu_memory(view: View) -> Seen:
    verdict = view.runs.verdict
    if verdict is None:
        raise NotApplicable("no GPU memory was given to MPI")
    if verdict.support in (GpuSupport.UNSUPPORTED, GpuSupport.BROKEN):
        yield observed(
            sentence=verdict.sentence.rstrip("."),
            variables=", ".join(f"{name}={value}" for name, value in verdict.fix.items()),
            which="" if verdict.fix else "no setting helps",
            setting=Setting(verdict.fix, shown_by=SHORTEST_MESSAGE) if verdict.fix else None,
        )
