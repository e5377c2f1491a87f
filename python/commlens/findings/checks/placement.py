"""Placement of ranks: what needs the machine to be seen; the rest are rules over records"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import plural
from commlens.findings import Quote
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.checks.hardware import is_exclusive
from commlens.findings.checks.nics import fast
from commlens.findings.machine_view import DoctorView
from commlens.machine.machine import Machine
from commlens.model import Place
from commlens.model.start import count_numbers, ranges_of

_NO_RANKS = "no rank was started"
_MOST_CORES = 4096  # of a node: a larger list is none


def _placed(view: DoctorView) -> Iterator[tuple[Machine, list[Place]]]:
    """Of each node the ranks of each start that are there; of launches that are alike one."""
    known: list[tuple[str, list[Place]]] = []
    for start, _ in view.launches:
        for machine in view.machines:
            own = [one for one in start.placement if _short(one.host) == _short(machine.host)]
            if own and (machine.host, own) not in known:
                known.append((machine.host, own))
                yield machine, own


def _short(host: str) -> str:
    return host.partition(".")[0]


@check(
    "cpu-quota-below-ranks",
    "problem",
    about="placement",
    title="a control group gives the ranks less than a processor each",
    looks_at="processors that the control group of this job gives its ranks",
    fix="Ask for more processors (`--cpus-per-task` of Slurm, `--cpus` of a container), or start "
    "at most {processors} on a node: waiting ranks spin, and use the time of the others up.",
)
def cpu_quota_below_ranks(view: DoctorView) -> Seen:
    if not any(machine.cpus.cpu_quota for machine in view.machines):
        yield NotApplicable("no control group limits the time of processors")
    elif not view.launches:
        yield NotApplicable(_NO_RANKS)
    for machine, places in _placed(view):
        quota = machine.cpus.cpu_quota
        if quota is not None and quota.processors < len(places):
            yield Observed(
                f"{plural(len(places), 'rank')} have the time of {quota.processors:g} processors "
                "together",
                Quote(quota.path, quota.text),
                where=machine.host,
                words={"processors": plural(max(1, int(quota.processors)), "rank")},
            )


@check(
    "ranks-share-core",
    "problem",
    about="placement",
    title="ranks share a core, by its hardware threads",
    looks_at="whether ranks that are bound have a core each",
    fix="Bind each rank to a core of its own: `--map-by core --bind-to core` (mpirun), "
    "`--cpu-bind=cores --hint=nomultithread` (srun).",
)
def ranks_share_core(view: DoctorView) -> Seen:
    if not view.launches:
        yield NotApplicable(_NO_RANKS)
    elif not any(machine.cpus.siblings for machine in view.machines):
        yield not_seen("the kernel does not tell which processors are of one core")
    for machine, places in _placed(view):
        cores = _cores(places, machine.cpus.siblings)
        processors = count_numbers([one.cores for one in places])
        # With too few processors the rule over records speaks.
        if cores and len(cores) < len(places) <= processors:
            first = cores[0]
            yield Observed(
                f"{plural(len(places), 'rank')} are bound to "
                f"{plural(processors, 'processor')} of {plural(len(cores), 'core')}",
                Quote("/sys/devices/system/cpu", f"thread_siblings_list: {first}"),
                *(Quote("placement", f"rank {one.rank}: {one.cores}") for one in places[:4]),
                where=machine.host,
            )


def _cores(places: Sequence[Place], siblings: Sequence[str]) -> list[str]:
    """Those that the ranks may run on."""
    if not all(one.cores for one in places) or len(siblings) > _MOST_CORES:
        return []
    wanted = [one.cores for one in places]
    total = count_numbers(wanted)
    return [own for own in siblings if count_numbers([*wanted, own]) < total + count_numbers([own])]


@check(
    "ranks-share-exclusive-gpu",
    "problem",
    about="placement",
    title="ranks share a GPU that takes one process",
    looks_at="ranks of each GPU, where one process at a time may use it",
    fix="Start no more ranks than there are GPUs, one on each, or the multi-process service "
    "(`nvidia-cuda-mps-control -d`).",
)
def ranks_share_exclusive_gpu(view: DoctorView) -> Seen:
    exclusive = {
        _plain(gpu.uuid): gpu
        for machine in view.machines
        for gpu in machine.gpus.gpus
        if gpu.uuid and is_exclusive(gpu)
    }
    if not exclusive:
        yield NotApplicable("no GPU takes one process only")
    elif not view.launches:
        yield NotApplicable(_NO_RANKS)
    for machine, places in _placed(view):
        for uuid, gpu in exclusive.items():
            own = [one for one in places if one.device and _plain(one.device.uuid) == uuid]
            ranks = [str(one.rank) for one in own]
            if len(ranks) > 1:
                yield Observed(
                    f"Ranks {', '.join(ranks)} have {gpu}, whose compute mode "
                    f"is {gpu.compute_mode}",
                    Quote(machine.gpus.source, f"{gpu.pci}: compute_mode: {gpu.compute_mode}"),
                    where=machine.host,
                )


def _plain(uuid: str) -> str:
    """nvidia-smi writes it with dashes, and records without."""
    return uuid.replace("-", "").lower()


@check(
    "ranks-far-from-nic",
    "advice",
    about="placement",
    title="all ranks run far from the network adapter",
    looks_at="NUMA nodes of ranks and network adapters, where there are several nodes",
    fix="Bind ranks to cores of NUMA node {node}, where the adapter is: `numactl "
    "--cpunodebind={node}`, `--map-by numa` (mpirun); or use an adapter of their node "
    "(UCX_NET_DEVICES).",
)
def ranks_far_from_nic(view: DoctorView) -> Seen:
    several = [start for start, _ in view.launches if start.nodes > 1]
    if not view.launches:
        yield NotApplicable(_NO_RANKS)
    elif not several:
        yield NotApplicable("all ranks are on one node")
    for machine, places in _placed(view) if several else ():
        own = [one for one in fast(DoctorView([machine])) if one.is_up]
        nodes = {nic.numa_node for nic in own if nic.numa_node is not None}
        lists = [one.numa_nodes for one in places]
        if not nodes or not all(lists):
            continue
        if not any(_has(text, node) for text in lists for node in nodes):
            nic = next(nic for nic in own if nic.numa_node in nodes)
            yield Observed(
                f"All ranks run on NUMA node {', '.join(sorted(set(lists)))}, "
                f"and {nic.name} is at node {nic.numa_node}",
                Quote(f"/sys/bus/pci/devices/{nic.pci}/numa_node", str(nic.numa_node)),
                where=machine.host,
                words={"node": str(nic.numa_node)},
            )


def _has(text: str, number: int) -> bool:
    return any(first <= number <= last for first, last in ranges_of(text))
