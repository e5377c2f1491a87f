"""Kernel and driver"""

from __future__ import annotations

import re

from commlens.findings import Quote
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.machine_view import DoctorView
from commlens.findings.selection import uses_ucx
from commlens.machine.kernel import KernelView
from commlens.machine.machine import Machine

_MODULES = "/proc/modules"
_YAMA = "/proc/sys/kernel/yama/ptrace_scope"
_PEERMEM_SINCE = (11, 4)  # CUDA: before it, Mellanox's nv_peer_memory
_PEERMEM = ("nvidia_peermem", "nv_peer_mem")
_ONE_COPY = ("knem", "xpmem")


def _absent(*names: str) -> Quote:
    return Quote(_MODULES, f"no {' and no '.join(names)}")


def _version(text: str | None) -> tuple[int, int] | None:
    found = re.match(r"(\d{1,4})\.(\d{1,4})", text or "")
    return (int(found.group(1)), int(found.group(2))) if found else None


def _no_direct_rdma(machine: Machine) -> NotApplicable | None:
    """Where no GPU of NVIDIA and adapter of Mellanox are, whose drivers a module connects."""
    if machine.gpus.vendor != "nvidia":
        why = "there is no GPU of NVIDIA" if machine.gpus.vendor else machine.gpus.why_none
        return NotApplicable(why)
    if not any((nic.driver or nic.name).startswith("mlx") for nic in machine.nics.rdma):
        return NotApplicable("there is no adapter that needs it (of Mellanox)")
    if machine.kernel.modules is None:
        return not_seen(machine.kernel.unseen.get("kernel modules", _MODULES))
    return None


@check(
    "gpu-driver-silent",
    "problem",
    about="kernel and driver",
    title="the GPUs' driver does not answer",
    looks_at="whether the driver knows the GPUs that are installed",
    fix="Ask the administrator: the kernel's module is not loaded or not of the version of the "
    "driver's libraries, or a GPU has failed (`dmesg | grep -i nvrm`, or `amdgpu`).",
)
def gpu_driver_silent(view: DoctorView) -> Seen:
    gpus = view.machine.gpus
    why = next(iter(gpus.unseen.values()), "")
    if not gpus.installed:
        yield NotApplicable("there is no GPU")
    elif not gpus.gpus and why.endswith("not installed"):
        yield not_seen(why)
    elif not gpus.gpus:
        command, _, said = why.partition(": ")
        yield Observed(
            f"{len(gpus.installed)} GPUs are installed, and their driver shows none",
            Quote(command, said),
        )


@check(
    "nvidia-peermem-missing",
    "problem",
    about="kernel and driver",
    title="the network adapter cannot reach GPU memory: nvidia_peermem is not loaded",
    looks_at="modules for GPUDirect RDMA (nvidia_peermem, nv_peer_mem), where GPUs of NVIDIA and "
    "InfiniBand or RoCE are",
    fix={
        "": "Ask the administrator for `modprobe nvidia_peermem`, at every boot (/etc/modules-"
        "load.d): it is part of the driver. UCX_IB_GPU_DIRECT_RDMA says whether UCX uses it.",
        "old": "Ask the administrator for nv_peer_memory of Mellanox, as the driver is older than "
        "CUDA 11.4, or for a newer driver, which brings nvidia_peermem.",
    },
)
def nvidia_peermem_missing(view: DoctorView) -> Seen:
    machine = view.machine
    none = _no_direct_rdma(machine)
    if none:
        yield none
    elif not any(machine.kernel.has(name) for name in _PEERMEM) and not machine.kernel.dmabuf:
        cuda = _version(machine.gpus.cuda)
        yield Observed(
            "Neither nvidia_peermem nor nv_peer_mem is loaded, and kernel and driver have no "
            "dma-buf for it: messages from GPU memory to other nodes go through host memory",
            _absent(*_PEERMEM),
            kind="old" if cuda and cuda < _PEERMEM_SINCE else "",
        )


@check(
    "dmabuf-instead-of-peermem",
    "advice",
    about="kernel and driver",
    title="GPUDirect RDMA depends on dma-buf: nvidia_peermem is not loaded",
    looks_at="whether GPU memory reaches the network adapter by dma-buf only",
    fix="Use libraries that know dma-buf: NCCL, and UCX from 1.14 on. Whether they use it is seen "
    "with `UCX_LOG_LEVEL=debug` or `NCCL_DEBUG=INFO`; UCX of some versions needs nvidia_peermem "
    "even so (`modprobe nvidia_peermem`).",
)
def dmabuf_instead_of_peermem(view: DoctorView) -> Seen:
    machine = view.machine
    none = _no_direct_rdma(machine)
    if none:
        yield none
    elif not any(machine.kernel.has(name) for name in _PEERMEM) and machine.kernel.dmabuf:
        yield Observed(
            f"nvidia_peermem is not loaded, and kernel {machine.kernel.release} and the open "
            "driver have dma-buf in its place",
            _absent("nvidia_peermem"),
            Quote("/proc/driver/nvidia/version", machine.kernel.nvidia or ""),
        )


@check(
    "nv-peer-memory-deprecated",
    "advice",
    about="kernel and driver",
    title="the deprecated nv_peer_mem is loaded",
    looks_at="which module does GPUDirect RDMA: from CUDA 11.4 on nvidia_peermem",
    fix="Ask the administrator to remove nv_peer_memory and to load nvidia_peermem, which comes "
    "with the driver.",
)
def nv_peer_memory_deprecated(view: DoctorView) -> Seen:
    machine = view.machine
    cuda = _version(machine.gpus.cuda)
    none = _no_direct_rdma(machine)
    if none:
        yield none
    elif machine.kernel.has("nv_peer_mem") and cuda and cuda >= _PEERMEM_SINCE:
        yield Observed(
            f"nv_peer_mem is loaded, and the driver is of CUDA {machine.gpus.cuda}",
            Quote(_MODULES, "nv_peer_mem"),
        )


@check(
    "gdrdrv-missing",
    "problem",
    about="kernel and driver",
    title="gdrcopy is installed, and its module gdrdrv is not loaded",
    looks_at="the module gdrdrv, where the library of gdrcopy is",
    fix="Ask the administrator for `modprobe gdrdrv`: without it short messages of GPU memory "
    "take the long way, tens of microseconds.",
)
def gdrdrv_missing(view: DoctorView) -> Seen:
    machine = view.machine
    if none := _no_gdrcopy(machine):
        yield none
    elif not machine.ucx.gdrcopy:
        yield NotApplicable("the loader finds no libgdrapi")
    elif not machine.kernel.has("gdrdrv"):
        yield Observed(
            "UCX may use gdrcopy, and gdrdrv is not loaded: it copies short messages from and to "
            "GPU memory with cudaMemcpy",
            Quote("the loader", machine.ucx.gdrcopy),
            _absent("gdrdrv"),
        )


@check(
    "gdrcopy-library-missing",
    "problem",
    about="kernel and driver",
    title="gdrdrv is loaded, and the loader does not find gdrcopy's library",
    looks_at="the library of gdrcopy, where its module gdrdrv is loaded",
    fix="Add the folder of libgdrapi.so.2 to LD_LIBRARY_PATH of all ranks (`mpirun -x "
    "LD_LIBRARY_PATH`), or ask the administrator to install it.",
)
def gdrcopy_library_missing(view: DoctorView) -> Seen:
    machine = view.machine
    if none := _no_gdrcopy(machine):
        yield none
    elif not machine.kernel.has("gdrdrv"):
        yield NotApplicable("gdrdrv is not loaded")
    elif not machine.ucx.gdrcopy:
        yield Observed(
            "gdrdrv is loaded, and the loader does not find libgdrapi.so.2: UCX copies short "
            "messages from and to GPU memory with cudaMemcpy, which takes tens of microseconds",
            Quote(_MODULES, "gdrdrv"),
        )


@check(
    "gdrcopy-missing",
    "advice",
    about="kernel and driver",
    title="gdrcopy is not installed",
    looks_at="gdrcopy, where GPUs of NVIDIA are and MPI uses UCX",
    fix="Ask the administrator for gdrcopy (module and library), and for a UCX that is configured "
    "with it: it makes short messages of GPU memory several times faster.",
)
def gdrcopy_missing(view: DoctorView) -> Seen:
    machine = view.machine
    if none := _no_gdrcopy(machine):
        yield none
    elif not machine.kernel.has("gdrdrv") and not machine.ucx.gdrcopy:
        yield Observed(
            "Neither the module gdrdrv nor the library of gdrcopy is here: UCX copies short "
            "messages from and to GPU memory with cudaMemcpy",
            _absent("gdrdrv"),
            Quote("the loader", "no libgdrapi.so.2"),
        )


def _no_gdrcopy(machine: Machine) -> NotApplicable | None:
    if machine.gpus.vendor != "nvidia":
        why = "there is no GPU of NVIDIA" if machine.gpus.vendor else machine.gpus.why_none
        return NotApplicable(why)
    if not machine.ucx.library:
        return NotApplicable(machine.ucx.why_not_seen or "the MPI library does not use UCX")
    if not uses_ucx(machine):
        return NotApplicable("MPI does not use UCX here")
    if machine.kernel.modules is None:
        return not_seen(machine.kernel.unseen.get("kernel modules", _MODULES))
    return None


@check(
    "ptrace-scope-forbids-cma",
    "problem",
    about="kernel and driver",
    title="ranks of a node may not read each other's memory (CMA)",
    looks_at="ptrace_scope of the kernel (2 and 3 forbid CMA), where neither knem nor xpmem is",
    fix="Ask the administrator for `sysctl kernel.yama.ptrace_scope=0` (or 1, with which MPI "
    "libraries help themselves), or for xpmem.",
)
def ptrace_scope_forbids_cma(view: DoctorView) -> Seen:
    kernel = view.machine.kernel
    if kernel.ptrace_scope is None:
        yield NotApplicable(f"the kernel does not restrict it: there is no {_YAMA}")
    elif _forbids(kernel) and not any(kernel.has(name) for name in _ONE_COPY):
        yield Observed(
            f"ptrace_scope is {kernel.ptrace_scope}, which forbids CMA, and neither knem nor xpmem "
            "is loaded: large messages of host memory within a node are copied twice",
            Quote(_YAMA, str(kernel.ptrace_scope)),
            _absent(*_ONE_COPY),
        )


@check(
    "cma-forbidden",
    "advice",
    about="kernel and driver",
    title="CMA is forbidden, and another module is in its place",
    looks_at="ptrace_scope of the kernel, where knem or xpmem is loaded",
    fix="Choose the one that is there: for Open MPI `--mca smsc xpmem` or `--mca smsc knem`, for "
    "UCX it is chosen by itself if UCX was built with it.",
)
def cma_forbidden(view: DoctorView) -> Seen:
    kernel = view.machine.kernel
    loaded = [name for name in _ONE_COPY if kernel.has(name)]
    if kernel.ptrace_scope is None:
        yield NotApplicable(f"the kernel does not restrict it: there is no {_YAMA}")
    elif _forbids(kernel) and loaded:
        yield Observed(
            f"ptrace_scope is {kernel.ptrace_scope}, which forbids CMA; {' and '.join(loaded)} "
            "can do the same, if the MPI library was built with it",
            Quote(_YAMA, str(kernel.ptrace_scope)),
            Quote(_MODULES, ", ".join(loaded)),
        )


def _forbids(kernel: KernelView) -> bool:
    """With 1, processes allow it to each other, which MPI libraries do (PR_SET_PTRACER)."""
    scope = kernel.ptrace_scope or 0
    return scope >= 3 or (scope == 2 and not kernel.may_trace)


@check(
    "driver-older-than-cuda",
    "problem",
    about="kernel and driver",
    title="the driver is older than the CUDA toolkit",
    looks_at="CUDA of the driver, against that of nvcc",
    fix="Load a module of CUDA {driver} or older, or ask the administrator for a driver of CUDA "
    "{toolkit}; for some GPUs the package cuda-compat makes do.",
)
def driver_older_than_cuda(view: DoctorView) -> Seen:
    gpus = view.machine.gpus
    driver, toolkit = _version(gpus.cuda), _version(gpus.toolkit)
    if driver is None:
        yield NotApplicable(gpus.why_none if not gpus.gpus else "it is no driver of NVIDIA")
    elif toolkit is None:
        yield NotApplicable("no nvcc is on PATH")
    # Within a major version a newer toolkit's programs run on an older driver.
    elif toolkit[0] > driver[0]:
        yield Observed(
            f"The driver supports CUDA up to {gpus.cuda}, and nvcc is that of CUDA "
            f"{gpus.toolkit}: its programs do not run (CUDA driver version is insufficient)",
            Quote(gpus.source, f"cuda_version: {gpus.cuda}"),
            Quote("nvcc --version", f"release {gpus.toolkit}"),
            words={"driver": gpus.cuda or "", "toolkit": gpus.toolkit or ""},
        )


@check(
    "numa-balancing-on",
    "advice",
    about="kernel and driver",
    title="the kernel moves memory between NUMA nodes",
    looks_at="automatic NUMA balancing of the kernel",
    fix="Ask the administrator for `sysctl kernel.numa_balancing=0`: ranks that are bound to "
    "cores gain nothing from it, and its page faults disturb measurements.",
)
def numa_balancing_on(view: DoctorView) -> Seen:
    machine = view.machine
    path = "/proc/sys/kernel/numa_balancing"
    if machine.kernel.numa_balancing is None:
        yield not_seen(path)
    elif machine.kernel.numa_balancing and len(machine.cpus.numa) > 1:
        yield Observed(
            "The kernel moves pages between NUMA nodes, as it sees them used",
            Quote(path, "1"),
        )
