"""What the operating system lets a process have: memory, files, cores."""

import re
from typing import Optional

import msgspec

from commlens.base.text import whole_number
from commlens.machine.system import System, control_groups, line_of

_LINE = re.compile(r"^(Max [a-z ]+?)\s{2,}(\S+)\s+(\S+)", re.MULTILINE)
_LIMITS = "/proc/self/limits"
_MEMORY_FILES = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


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


def look(system: System) -> LimitView:
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
    found = []
    for folder in control_groups(system, "memory"):
        for names in _MEMORY_FILES:
            limit, used = (whole_number(line_of(system, f"{folder}/{name}")) for name in names)
            # Version 1 has the largest number of pages for `unlimited`.
            if limit is not None and used is not None and limit < 2**60:
                kept = _of_files(system.read(f"{folder}/memory.stat") or "")
                found.append(CgroupMemory(limit, max(0, used - kept), f"{folder}/{names[0]}"))
    return min(found, key=lambda one: one.limit, default=None)


def _of_files(statistics: str) -> int:
    """Bytes; version 1 has them of the group and, as total_, of those in it."""
    found = dict(re.findall(r"^((?:total_)?(?:in)?active_file) (\d+)$", statistics, re.MULTILINE))
    names = ("total_active_file", "total_inactive_file")
    if names[0] not in found:
        names = ("active_file", "inactive_file")
    return sum(int(found.get(name, "0")) for name in names)
