"""Processors, their NUMA nodes, and how many of them this process may use."""

import re
from collections.abc import Iterator
from typing import Optional

from commlens.base.text import printable, whole_number
from commlens.machine.system import PartView, Seen, System, control_groups, line_of
from commlens.model.results import Interference
from commlens.model.start import count_numbers

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_LONGEST = 200
_TOPOLOGY = ("physical_package_id", "core_id", "thread_siblings_list")
_ENDS = ("quota", "period")
_LIST = re.compile(r"(\d{1,6}(-\d{1,6})?(,|$))*")


class NumaNode(Seen, frozen=True, kw_only=True):
    """Processors and memory that are near each other."""

    number: int
    cpus: str  # as in /proc: 0-31,64-95; empty of one that has only memory
    memory_bytes: Optional[int] = None


class Quota(Seen, frozen=True, kw_only=True):
    """Of a control group: how many processors' worth of time it has."""

    processors: float
    path: str  # the file
    text: str  # its content


class CpuView(PartView, frozen=True, kw_only=True):
    """The processors of this machine, and those that this process may use."""

    model: Optional[str] = None
    sockets: Optional[int] = None
    cores: Optional[int] = None
    threads: Optional[int] = None  # processors, in the words of the kernel
    siblings: list[str] = []  # noqa: RUF012 (of each core its processors: 0,64)
    numa: list[NumaNode] = []  # noqa: RUF012 (msgspec copies it)
    memory_bytes: Optional[int] = None
    allowed: Optional[str] = None  # processors that this process may run on: 0-3,8
    cpu_quota: Optional[Quota] = None
    governor: Optional[str] = None  # of the first processor
    frequency_driver: Optional[str] = None
    energy_preference: Optional[str] = None
    load: Optional[Interference] = None  # of those that this process may use
    virtual: Optional[bool] = None  # the processor reports that it runs under a hypervisor

    @property
    def numa_count(self) -> int:
        """How many NUMA nodes there are."""
        return len(self.numa)

    @property
    def allowed_count(self) -> Optional[int]:
        """How many processors this process may run on."""
        return count_numbers([self.allowed]) if self.allowed else None


def look(system: System) -> CpuView:
    """Reads /proc and /sys."""
    unseen: dict[str, str] = {}
    info = system.read("/proc/cpuinfo") or ""
    names = [name for name in system.names(_CPU) if re.fullmatch(r"cpu\d+", name)]
    topology = [
        [line_of(system, f"{_CPU}/{name}/topology/{file}") for file in _TOPOLOGY] for name in names
    ]
    known = [(socket, core) for socket, core, _ in topology if socket and core]
    model = _field(info, "model name") or _field(info, "Model")
    if not known:
        unseen["sockets and cores"] = f"{_CPU} has no topology"
    if model is None:
        unseen["model of the processor"] = "/proc/cpuinfo has no model name"
    flags = _field(info, "flags")
    frequency = f"{_CPU}/cpu0/cpufreq"
    governor = line_of(system, f"{frequency}/scaling_governor")
    if governor is None:
        unseen["frequency governor"] = f"there is no {frequency}/scaling_governor"
    return CpuView(
        model=model,
        sockets=len({socket for socket, _ in known}) or None,
        cores=len(set(known)) or None,
        threads=len(names) or None,
        siblings=list(dict.fromkeys(filter(None, (_list(siblings) for *_, siblings in topology)))),
        numa=list(_numa(system)),
        memory_bytes=_kib(system.read("/proc/meminfo") or "", "MemTotal"),
        allowed=_list(_field(system.read("/proc/self/status") or "", "Cpus_allowed_list")),
        cpu_quota=min(_quotas(system), key=lambda quota: quota.processors, default=None),
        governor=governor,
        frequency_driver=line_of(system, f"{frequency}/scaling_driver"),
        energy_preference=line_of(system, f"{frequency}/energy_performance_preference"),
        load=system.load(),
        virtual="hypervisor" in flags.split() if flags else None,
        unseen=unseen,
    )


def _numa(system: System) -> Iterator[NumaNode]:
    names = [name for name in system.names(_NODE) if re.fullmatch(r"node\d{1,5}", name)]
    for name in sorted(names, key=lambda name: int(name[4:])):
        yield NumaNode(
            number=int(name[4:]),
            cpus=_list(line_of(system, f"{_NODE}/{name}/cpulist")) or "",
            memory_bytes=_kib(system.read(f"{_NODE}/{name}/meminfo") or "", "MemTotal"),
        )


def _quotas(system: System) -> Iterator[Quota]:
    """Of version 2, and of version 1."""
    for folder in control_groups(system, "cpu"):
        both = line_of(system, f"{folder}/cpu.max") or ""
        quota, period = (line_of(system, f"{folder}/cpu.cfs_{end}_us") for end in _ENDS)
        for name, text, ends in (
            ("cpu.max", both, both.split(" ", 1)),
            ("cpu.cfs_quota_us", quota or "", [quota, period]),
        ):
            time, of_time = (*map(whole_number, ends), None)[:2]
            if time and of_time:
                yield Quota(processors=time / of_time, path=f"{folder}/{name}", text=text)


def _field(text: str, name: str) -> Optional[str]:
    match = re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE)
    return printable(match.group(1).strip())[: 20 * _LONGEST] or None if match else None


def _kib(text: str, name: str) -> Optional[int]:
    match = re.search(rf"{name}:\s+(\d{{1,15}}) kB", text)
    return int(match.group(1)) * 1024 if match else None


def _list(text: Optional[str]) -> Optional[str]:
    return text if text and _LIST.fullmatch(text) else None
