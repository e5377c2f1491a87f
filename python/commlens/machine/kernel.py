"""The kernel: its version, its modules, what it allows between processes and devices, and what it
lets a process have: memory and files."""

import re
from typing import Optional

import msgspec

from commlens.base.text import whole_number
from commlens.machine.libraries import numbers_in
from commlens.machine.system import PartView, System, control_groups, group_in, line, line_of

# Those that move bytes between GPUs, NICs and processes. The kernel writes `-` as `_`.
MODULES = (
    "amdgpu", "gdrdrv", "ib_uverbs", "knem", "nv_peer_mem", "nvidia", "nvidia_peermem", "xpmem",
)  # fmt: skip
_DMABUF_KERNEL = (5, 12)  # the first in which drivers of NICs register memory by dma-buf
_DMABUF_DRIVER = (515,)  # of NVIDIA, with CUDA 11.7: its open kernel modules export dma-bufs
_CAP_SYS_PTRACE = 19
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
_NVIDIA = "/proc/driver/nvidia/version"
_BUILT_IN = "/sys/module"  # those with parameters, and all that are loaded
_HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
_CONTAINERS = ("/.dockerenv", "/run/.containerenv", "/.singularity.d/runscript")
_LINE = re.compile(r"^(Max [a-z ]+?)\s{2,}(\S+)\s+(\S+)", re.MULTILINE)
_LIMITS = "/proc/self/limits"
_MEMORY_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


class KernelView(PartView, frozen=True, kw_only=True):
    """The kernel's version, modules and settings."""

    release: Optional[str] = None
    modules: Optional[list[str]] = None  # of MODULES those that are loaded
    nvidia: Optional[str] = None  # the first line of the driver's own file
    nvidia_is_open: Optional[bool] = None  # open kernel modules or proprietary ones
    dmabuf: Optional[bool] = None  # kernel and driver could pass GPU memory to a NIC by dma-buf
    ptrace_scope: Optional[int] = None  # Yama; None: this kernel has none
    may_trace: Optional[bool] = None  # this process has CAP_SYS_PTRACE
    thp: Optional[str] = None  # transparent huge pages: always, madvise, never
    huge_pages: Optional[int] = None
    numa_balancing: Optional[bool] = None
    container: Optional[str] = None  # what shows that this is one

    @property
    def forbids_cma(self) -> bool:
        """Whether processes may not read each other's memory.

        With ptrace_scope 1 they allow it to each other, which MPI libraries do (PR_SET_PTRACER).
        """
        scope = self.ptrace_scope or 0
        return scope >= 3 or (scope == 2 and not self.may_trace)

    @property
    def copiers(self) -> tuple[str, ...]:
        """The modules that copy between processes in one go, in the place of CMA."""
        return tuple(name for name in ("knem", "xpmem") if self.has(name))

    def has(self, module: str) -> bool:
        """Whether one of MODULES is loaded."""
        return module in (self.modules or ())

    @property
    def why_no_modules(self) -> str:
        """Where they cannot be seen."""
        return self.unseen.get("kernel modules", "/proc/modules")


def look(system: System) -> KernelView:
    """Reads /proc and /sys."""
    unseen: dict[str, str] = {}
    release = line_of(system, "/proc/sys/kernel/osrelease")
    # Loaded, as in /proc/modules, or built into the kernel.
    lines = (system.read("/proc/modules") or "").splitlines()
    built_in = system.names(_BUILT_IN)
    present = {line.partition(" ")[0] for line in lines} | set(built_in)
    modules = [name for name in MODULES if name in present] if built_in else None
    if modules is None:
        unseen["kernel modules"] = f"there is no {_BUILT_IN}"
    nvidia = line((system.read(_NVIDIA) or "").partition("\n")[0]) or None
    scope = line_of(system, _YAMA) or ""
    if not scope.isdecimal():
        unseen["ptrace_scope"] = f"there is no {_YAMA}"
    balancing = whole_number(line_of(system, "/proc/sys/kernel/numa_balancing"))
    effective = group_in(system.read("/proc/self/status"), r"^CapEff:\s*([0-9a-fA-F]{1,16})$")
    return KernelView(
        release=release,
        modules=modules,
        nvidia=nvidia,
        nvidia_is_open="Open Kernel Module" in nvidia if nvidia else None,
        dmabuf=_dmabuf(release, nvidia, modules),
        ptrace_scope=int(scope) if scope.isdecimal() and len(scope) < 4 else None,
        may_trace=bool(int(effective, 16) >> _CAP_SYS_PTRACE & 1) if effective else None,
        thp=group_in(system.read(_HUGE), r"\[(always|madvise|never)\]"),
        huge_pages=whole_number(line_of(system, "/proc/sys/vm/nr_hugepages")),
        numa_balancing=None if balancing is None else balancing > 0,
        container=_container(system),
        unseen=unseen,
    )


def _dmabuf(
    release: Optional[str], nvidia: Optional[str], modules: Optional[list[str]]
) -> Optional[bool]:
    version = numbers_in(release)[:2]
    if not version or modules is None:
        return None
    is_new = version >= _DMABUF_KERNEL
    if nvidia:
        return is_new and "Open Kernel Module" in nvidia and numbers_in(nvidia) >= _DMABUF_DRIVER
    return is_new if "amdgpu" in modules else None


def _container(system: System) -> Optional[str]:
    for name in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "container"):
        if system.environment.get(name):
            return f"{name} is set"
    return next((path for path in _CONTAINERS if system.read(path) is not None), None)


class Limit(msgspec.Struct, frozen=True):
    """A limit of this process, as /proc shows it."""

    soft: Optional[int]  # None: unlimited
    hard: Optional[int]
    line: str  # as it stands in the file
    place: str = _LIMITS

    def __str__(self) -> str:
        return "unlimited" if self.soft is None else str(self.soft)

    @property
    def highest(self) -> str:
        """To what a process may raise it."""
        return "unlimited" if self.hard is None else str(self.hard)


class SharedMemory(msgspec.Struct, frozen=True):
    """The file system /dev/shm."""

    bytes: int
    free: int
    line: str  # of df
    is_writable: bool


class CgroupMemory(msgspec.Struct, frozen=True):
    """Bytes of memory of a control group."""

    limit: int
    used: int  # without what the kernel keeps of files, and gives back
    place: str  # the file of the limit

    @property
    def free(self) -> int:
        """Bytes that are left."""
        return max(0, self.limit - self.used)


class LimitView(msgspec.Struct, frozen=True):
    """None: cannot be seen."""

    locked_memory: Optional[Limit] = None
    open_files: Optional[Limit] = None
    stack: Optional[Limit] = None
    address_space: Optional[Limit] = None
    processes: Optional[Limit] = None
    shared_memory: Optional[SharedMemory] = None
    cgroup_memory: Optional[CgroupMemory] = None  # where it is limited


def look_at_limits(system: System) -> LimitView:
    """Reads /proc and /sys, and asks df."""
    text = system.read(_LIMITS) or ""
    limits = {
        match[1]: Limit(whole_number(match[2]), whole_number(match[3]), " ".join(match[0].split()))
        for match in _LINE.finditer(text)
    }
    return LimitView(
        limits.get("Max locked memory"),
        limits.get("Max open files"),
        limits.get("Max stack size"),
        limits.get("Max address space"),
        limits.get("Max processes"),
        _shared_memory(system),
        _cgroup_memory(system),
    )


def _shared_memory(system: System) -> Optional[SharedMemory]:
    output = system.run("df", "-Pk", "/dev/shm")
    line = output.text.splitlines()[-1] if output.ok and output.text.strip() else ""
    columns = line.split()
    if len(columns) < 6 or not (columns[1].isdecimal() and columns[3].isdecimal()):
        return None
    size, free = int(columns[1]) * 1024, int(columns[3]) * 1024
    writable = system.run("test", "-w", "/dev/shm")
    return SharedMemory(size, free, " ".join(columns), bool(writable.missing) or writable.ok)


def _cgroup_memory(system: System) -> Optional[CgroupMemory]:
    """The tightest of the groups that this process is in: of version 2, or 1."""
    groups = []
    for folder in control_groups(system, "memory"):
        for names in _MEMORY_FILES:
            limit, used = (whole_number(line_of(system, f"{folder}/{name}")) for name in names)
            # Version 1 has the largest number of pages for `unlimited`.
            if limit is not None and used is not None and limit < 2**60:
                kept = _of_files(system.read(f"{folder}/memory.stat") or "")
                groups.append(CgroupMemory(limit, max(0, used - kept), f"{folder}/{names[0]}"))
    return min(groups, key=lambda group: group.limit, default=None)


def _of_files(statistics: str) -> int:
    """Bytes; version 1 has them of the group and, as total_, of those in it."""
    counts = dict(re.findall(r"^((?:total_)?(?:in)?active_file) (\d+)$", statistics, re.MULTILINE))
    names = ("total_active_file", "total_inactive_file")
    if names[0] not in counts:
        names = ("active_file", "inactive_file")
    return sum(int(counts.get(name, "0")) for name in names)
