"""The machines that records were measured on: what is in them, and what is unusual about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from commlens.base.text import format_days, format_number, plural
from commlens.model import Place, Record, Start

_MOST_MACHINES = 6
_MOST_LINES = 40
_LINKS = ("peer copy", "copy to host")  # ceilings that are a rate of the machine's links
_Gpu = tuple[str, str, str]  # host, UUID and name
_NETWORK_SETTINGS = ("UCX_NET_DEVICES", "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "FI_PROVIDER")


@dataclass
class HostGroup:
    """The launches on the same hosts, and on the same GPUs of them."""

    hosts: set[str] = field(default_factory=set)
    gpus: set[_Gpu] = field(default_factory=set)
    launches: list[Start] = field(default_factory=list)
    rates: dict[str, float] = field(default_factory=dict)  # GB/s, the best of each link's ceiling

    @cached_property
    def widest(self) -> Start:
        """The start that shows most of the machine: the most GPUs, then the most ranks."""
        return max(self.launches, key=lambda start: (len(_gpus(start)), start.ranks))

    @cached_property
    def title(self) -> str:
        """`2 NVIDIA H200 on node01, Open MPI 5.0.7`"""
        start = self.widest
        names = Counter(name for _, _, name in _gpus(start))
        gpus = ", ".join(f"{count:,} {name}" for name, count in names.most_common(2))
        hosts = start.host if start.nodes == 1 else f"{start.nodes:,} nodes from {start.host}"
        return f"{gpus} on {hosts}, {start.mpi}" if gpus else f"{hosts}, {start.mpi}"

    @cached_property
    def nodes(self) -> dict[str, dict[str, list[Place]]]:
        """Of each host the ranks of the widest start, by the GPU that they use, or one by one."""
        nodes: dict[str, dict[str, list[Place]]] = {}
        for place in self.widest.placement:
            user = place.device.uuid if place.device else f"rank {place.rank}"
            nodes.setdefault(place.host, {}).setdefault(user, []).append(place)
        return nodes

    @property
    def when(self) -> str:
        """`3 launches, 2026-11-21`"""
        days = format_days(start.time for start in self.launches)
        return f"{plural(len(self.launches), 'launch')}, {days}"

    @cached_property
    def software(self) -> list[tuple[str, str]]:
        """What and which version, of several how often each."""
        return _counted([start.versions for start in self.launches])

    @cached_property
    def settings(self) -> list[tuple[str, str]]:
        """Variables that change how bytes travel, where any start has them."""
        return _counted([start.settings_of_transport for start in self.launches])

    @cached_property
    def unusual(self) -> list[str]:
        """What may distort results, in sentences; the same of several launches once."""
        counts = Counter(warning for start in self.launches for warning in start.warnings)
        if crowded := sum(start.is_oversubscribed for start in self.launches):
            text = "more ranks than cores on a host: they alternate, and times are of that"
            counts[text] = crowded
        lines = [_often(text, count, len(self.launches)) for text, count in counts.items()]
        differing = [name for name, text in self.software if ";" in text]
        if differing:
            lines.append(f"launches differ in {', '.join(differing)}: compare them with care")
        return lines[:_MOST_LINES]

    @cached_property
    def notes(self) -> list[str]:
        """The notes of its launches, each once."""
        notes = dict.fromkeys(note for start in self.launches for note in start.notes)
        return list(notes)[:_MOST_LINES]

    @property
    def links(self) -> dict[str, str]:
        """`peer copy 368.1 GB/s`, by the name of the ceiling that measured it."""
        return {name: f"{name} {format_number(rate)} GB/s" for name, rate in self.rates.items()}

    @property
    def network(self) -> str:
        """What the settings say of the adapters between nodes."""
        return ", ".join(
            f"{name}={text}" for name, text in self.settings if name in _NETWORK_SETTINGS
        )


def machines(
    launches: Sequence[Start], records: Iterable[Record]
) -> tuple[list[HostGroup], list[str]]:
    """The one with the most launches first; and a sentence if there are too many."""
    groups: list[HostGroup] = []
    unseen = 0
    of_start: dict[str, HostGroup] = {}
    for start in launches:
        hosts, gpus = {place.host for place in start.placement}, set(_gpus(start))
        for machine in groups:
            if hosts & machine.hosts and (not gpus or not machine.gpus or gpus & machine.gpus):
                break
        else:
            if len(groups) == _MOST_MACHINES:
                unseen += 1
                continue
            machine = HostGroup()
            groups.append(machine)
        machine.launches.append(start)
        machine.hosts |= hosts
        machine.gpus |= gpus
        of_start[start.start] = machine
    for record in records:
        for ceiling in record.valid_ceilings:
            group = of_start.get(record.start.start)
            if group and ceiling.name in _LINKS and ceiling.unit == "GB/s" and ceiling.rate:
                group.rates[ceiling.name] = max(ceiling.rate, group.rates.get(ceiling.name, 0.0))
    text = f"shown are the first {_MOST_MACHINES} machines, without those of {unseen:,} launches"
    return sorted(groups, key=lambda group: -len(group.launches)), [text] if unseen else []


def _gpus(start: Start) -> list[_Gpu]:
    """Each once."""
    places = ((place.host, place.device) for place in start.placement)
    return list(dict.fromkeys((host, gpu.uuid, gpu.name) for host, gpu in places if gpu))


def _counted(mappings: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Of each name its value; several with the numbers of launches that have them."""
    values: dict[str, Counter[str]] = {}
    for mapping in mappings:
        for name, value in mapping.items():
            values.setdefault(name, Counter())[value] += 1
    return [
        (name, "; ".join(_often(text, count, len(mappings)) for text, count in uses.most_common(5)))
        for name, uses in islice(values.items(), _MOST_LINES)
    ]


def _often(text: str, count: int, launches: int) -> str:
    return text if count == launches else f"{text} ({count:,} of {plural(launches, 'launch')})"
