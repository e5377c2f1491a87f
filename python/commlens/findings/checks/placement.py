"""What of the placement needs the machine to be seen; the rest are rules on records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.findings.disturbance import has_number
from commlens.findings.facts import SHORTEST_MESSAGE
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Observation, Seen, observed
from commlens.findings.view import NotApplicable, View, not_seen
from commlens.machine.machine import Machine
from commlens.model import Place
from commlens.model.start import count_numbers

_MOST_CORES = 4096  # of a node: a larger list is none
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


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
        processors = count_numbers([one.cores for one in places])
        # With too few processors the rule over records speaks.
        if cores and len(cores) < len(places) <= processors:
            yield observed(
                Quote("/sys/devices/system/cpu", f"thread_siblings_list: {cores[0]}"),
                *(Quote("placement", f"rank {one.rank}: {one.cores}") for one in places[:4]),
                where=machine.host,
                ranks=places,
                processors=processors,
                cores=cores,
            )


def _cores(places: Sequence[Place], siblings: Sequence[str]) -> list[str]:
    """Those that the ranks may run on."""
    if not all(one.cores for one in places) or len(siblings) > _MOST_CORES:
        return []
    wanted = [one.cores for one in places]
    total = count_numbers(wanted)
    return [own for own in siblings if count_numbers([*wanted, own]) < total + count_numbers([own])]


def ranks_share_exclusive_gpu(view: View) -> Seen:
    every = [gpu for machine in view.machines for gpu in machine.gpus.gpus]
    exclusive = {_plain(gpu.uuid): gpu for gpu in every if gpu.uuid and gpu.is_exclusive}
    if not exclusive:
        raise NotApplicable("no GPU takes one process only")
    for machine, places in _placed(view):
        for uuid, gpu in exclusive.items():
            own = [one for one in places if one.device and _plain(one.device.uuid) == uuid]
            if len(own) > 1:
                ranks = [str(one.rank) for one in own]
                source = machine.gpus.source
                yield observed(where=machine.host, ranks=ranks, gpu=gpu, source=source)


def _plain(uuid: str) -> str:
    """nvidia-smi writes it with dashes, and records without."""
    return uuid.replace("-", "").lower()


def ranks_far_from_nic(view: View) -> Seen:
    if not any(start.nodes > 1 for start, _ in view.launches):
        raise NotApplicable("all ranks are on one node")
    for machine, places in _placed(view):
        nics = [one for one in machine.nics.fast if one.is_up and one.numa_node is not None]
        lists = [one.numa_nodes for one in places]
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
        listed = [one for one in values.get(name, "").split(",") if one]
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
        by_host: dict[str, set[tuple[int, str]]] = {}
        for place in start.placement:
            if place.device:
                own = by_host.setdefault(place.host, set())
                own.add((place.device.ordinal, place.device.uuid))
        for host, devices in by_host.items():
            if len({uuid for _, uuid in devices}) > 1 and {one for one, _ in devices} == {0}:
                listed = [f"GPU {ordinal} is {uuid}" for ordinal, uuid in sorted(devices)[:2]]
                quote = Quote(f"placement of {start.benchmark.name}", ", ".join(listed))
                yield observed(quote, where=host, ranks=len(devices), host=host)
