"""Placement: what needs the machine to be seen; the rest are rules on records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import plural
from commlens.findings.facts import SHORTEST_MESSAGE
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View, not_seen
from commlens.machine.machine import Machine
from commlens.model import Place
from commlens.model.start import count_numbers, ranges_of

_MOST_CORES = 4096  # of a node: a larger list is none


def _placed(view: View) -> Iterator[tuple[Machine, list[Place]]]:
    """Of each node the ranks of each launch that are there; of launches that are alike one.

    Raises NotApplicable where nothing was launched.
    """
    if not view.launches:
        raise NotApplicable("no rank was started")
    known: list[tuple[str, list[Place]]] = []
    for start, _ in view.launches:
        for machine in view.machines:
            own = [one for one in start.placement if _short(one.host) == _short(machine.host)]
            if own and (machine.host, own) not in known:
                known.append((machine.host, own))
                yield machine, own


def _short(host: str) -> str:
    return host.partition(".")[0]


@rule(
    "cpu-quota-below-ranks",
    "warning",
    "a control group gives the ranks less than a processor each",
    needs=("machines", "records"),
    when="processors that the control group of this job gives its ranks",
    fix="Ask for more processors (`--cpus-per-task` of Slurm, `--cpus` of a container), or start "
    "at most {processors} on a node: waiting ranks spin, and use the time of the others up.",
)
def cpu_quota_below_ranks(view: View) -> Seen:
    if not any(machine.cpus.cpu_quota for machine in view.machines):
        raise NotApplicable("no control group limits the time of processors")
    for machine, places in _placed(view):
        quota = machine.cpus.cpu_quota
        if quota is not None and quota.processors < len(places):
            yield observed(
                f"{plural(len(places), 'rank')} have the time of {quota.processors:g} processors "
                "together",
                Quote(quota.path, quota.text),
                where=machine.host,
                words={"processors": plural(max(1, int(quota.processors)), "rank")},
            )


@rule(
    "ranks-share-core",
    "warning",
    "ranks share a core, by its hardware threads",
    needs=("machines", "records"),
    when="whether ranks that are bound have a core each",
    fix="Bind each rank to a core of its own: `--map-by core --bind-to core` (mpirun), "
    "`--cpu-bind=cores --hint=nomultithread` (srun).",
)
def ranks_share_core(view: View) -> Seen:
    if not any(machine.cpus.siblings for machine in view.machines):
        raise not_seen("the kernel does not report which processors are of one core")
    for machine, places in _placed(view):
        cores = _cores(places, machine.cpus.siblings)
        processors = count_numbers([one.cores for one in places])
        # With too few processors the rule over records speaks.
        if cores and len(cores) < len(places) <= processors:
            first = cores[0]
            yield observed(
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


@rule(
    "ranks-share-exclusive-gpu",
    "warning",
    "ranks share a GPU that takes one process",
    needs=("machines", "records"),
    when="ranks of each GPU, where one process at a time may use it",
    fix="Start no more ranks than there are GPUs, one on each, or the multi-process service "
    "(`nvidia-cuda-mps-control -d`).",
)
def ranks_share_exclusive_gpu(view: View) -> Seen:
    exclusive = {
        _plain(gpu.uuid): gpu
        for machine in view.machines
        for gpu in machine.gpus.gpus
        if gpu.uuid and gpu.is_exclusive
    }
    if not exclusive:
        raise NotApplicable("no GPU takes one process only")
    for machine, places in _placed(view):
        for uuid, gpu in exclusive.items():
            own = [one for one in places if one.device and _plain(one.device.uuid) == uuid]
            ranks = [str(one.rank) for one in own]
            if len(ranks) > 1:
                yield observed(
                    f"Ranks {', '.join(ranks)} have {gpu}, whose compute mode "
                    f"is {gpu.compute_mode}",
                    Quote(machine.gpus.source, f"{gpu.pci}: compute_mode: {gpu.compute_mode}"),
                    where=machine.host,
                )


def _plain(uuid: str) -> str:
    """nvidia-smi writes it with dashes, and records without."""
    return uuid.replace("-", "").lower()


@rule(
    "ranks-far-from-nic",
    "note",
    "all ranks run far from the network adapter",
    needs=("machines", "records"),
    when="NUMA nodes of ranks and network adapters, where there are several nodes",
    fix="Bind ranks to cores of NUMA node {node}, where the adapter is: `numactl "
    "--cpunodebind={node}`, `--map-by numa` (mpirun); or use an adapter of their node "
    "(UCX_NET_DEVICES).",
)
def ranks_far_from_nic(view: View) -> Seen:
    if not any(start.nodes > 1 for start, _ in view.launches):
        raise NotApplicable("all ranks are on one node")
    for machine, places in _placed(view):
        nics = [one for one in machine.nics.fast if one.is_up]
        nodes = {nic.numa_node for nic in nics if nic.numa_node is not None}
        lists = [one.numa_nodes for one in places]
        if not nodes or not all(lists):
            continue
        if not any(_has(text, node) for text in lists for node in nodes):
            nic = next(nic for nic in nics if nic.numa_node in nodes)
            yield observed(
                f"All ranks run on NUMA node {', '.join(sorted(set(lists)))}, "
                f"and {nic.name} is at node {nic.numa_node}",
                Quote(f"/sys/bus/pci/devices/{nic.pci}/numa_node", str(nic.numa_node)),
                where=machine.host,
                words={"node": str(nic.numa_node)},
            )


def _has(text: str, number: int) -> bool:
    return any(first <= number <= last for first, last in ranges_of(text))


@rule(
    "one-gpu-visible",
    "note",
    "each rank sees one GPU alone",
    needs=("machines", "records"),
    when="which GPUs each rank sees (CUDA_VISIBLE_DEVICES, --gpus-per-task)",
    fix="Let each rank see all GPUs of its node and choose by its local rank (`cudaSetDevice`): "
    "`unset CUDA_VISIBLE_DEVICES`, no wrapper script that sets it, `--gpus-per-node` instead of "
    "`--gpus-per-task`, `--gpu-bind=none` of Slurm.",
)
def one_gpu_visible(view: View) -> Seen:
    if not any(machine.devices.gpus > 1 for machine in view.machines):
        raise NotApplicable("no node has 2 GPUs")
    for start, _ in view.launches:
        by_host: dict[str, set[tuple[int, str]]] = {}
        for place in start.placement:
            if place.device:
                own = by_host.setdefault(place.host, set())
                own.add((place.device.ordinal, place.device.uuid))
        for host, devices in by_host.items():
            if len({uuid for _, uuid in devices}) > 1 and {one for one, _ in devices} == {0}:
                yield observed(
                    f"{len(devices)} ranks on {host} have GPUs of their own, and each calls its "
                    "own GPU 0: libraries that copy from GPU to GPU only where a rank sees both "
                    "send such messages through host memory",
                    Quote(f"placement of {start.benchmark.name}", _listed(devices)),
                    where=host,
                )
                return
    for machine in view.machines:
        name, value = _visible(machine.environment)
        listed = [one for one in value.split(",") if one]
        if name and len(listed) == 1 and machine.devices.gpus > 1:
            yield observed(
                f"{name}={value} shows 1 of {machine.devices.gpus} GPUs: all ranks of the node "
                "share it, or, where each has another, cannot copy from GPU to GPU",
                Quote("environment", f"{name}={value}"),
                where=machine.host,
                setting=Setting({name: None}, shown_by=SHORTEST_MESSAGE),
            )


def _listed(devices: set[tuple[int, str]]) -> str:
    return ", ".join(f"GPU {ordinal} is {uuid}" for ordinal, uuid in sorted(devices)[:2])


def _visible(environment: dict[str, str]) -> tuple[str, str]:
    names = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    return next(((name, environment[name]) for name in names if environment.get(name)), ("", ""))
