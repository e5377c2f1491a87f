"""The kernel: its version, its modules, and what it allows between processes and devices."""

from collections.abc import Iterator
from typing import Optional

from commlens.base.text import whole_number
from commlens.machine.libraries import numbers_in
from commlens.machine.system import PartView, System, group_in, line, line_of

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
    modules = list(_modules(system)) if system.names(_BUILT_IN) else None
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


def _modules(system: System) -> Iterator[str]:
    """Loaded, as in /proc/modules, or built into the kernel."""
    lines = (system.read("/proc/modules") or "").splitlines()
    present = {line.partition(" ")[0] for line in lines} | set(system.names(_BUILT_IN))
    return (name for name in MODULES if name in present)


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
