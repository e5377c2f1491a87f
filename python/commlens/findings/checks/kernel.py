"""Kernel and driver"""

from __future__ import annotations

from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View, not_seen
from commlens.machine.libraries import numbers_in

_MODULES = "/proc/modules"
_PEERMEM_SINCE = (11, 4)  # CUDA: before it, Mellanox's nv_peer_memory
_PEERMEM = ("nvidia_peermem", "nv_peer_mem")


def _absent(*names: str) -> Quote:
    return Quote(_MODULES, f"no {' and no '.join(names)}")


@rule(
    "gpu-driver-silent",
    "warning",
    "the GPUs' driver does not answer",
    needs=("machine", "GPU on the bus"),
    when="whether the driver knows the GPUs that are installed",
    fix="Ask the administrator: the kernel's module is not loaded or not of the version of the "
    "driver's libraries, or a GPU has failed (`dmesg | grep -i nvrm`, or `amdgpu`).",
)
def gpu_driver_silent(view: View) -> Seen:
    gpus = view.machine.gpus
    why = next(iter(gpus.unseen.values()), "")
    if not gpus.gpus and why.endswith("not installed"):
        raise not_seen(why)
    if not gpus.gpus:
        command, _, said = why.partition(": ")
        yield observed(
            f"{len(gpus.installed)} GPUs are installed, and their driver shows none",
            Quote(command, said),
        )


@rule(
    "nvidia-peermem-missing",
    "warning",
    "the network adapter cannot reach GPU memory: nvidia_peermem is not loaded",
    needs=("machine", "GPU of NVIDIA", "adapter for peer memory", "modules"),
    when="modules for GPUDirect RDMA (nvidia_peermem, nv_peer_mem), where GPUs of NVIDIA and "
    "InfiniBand or RoCE are",
    fix={
        "": "Ask the administrator for `modprobe nvidia_peermem`, at every boot (/etc/modules-"
        "load.d): it is part of the driver. UCX_IB_GPU_DIRECT_RDMA decides whether UCX uses it.",
        "old": "Ask the administrator for nv_peer_memory of Mellanox, as the driver is older than "
        "CUDA 11.4, or for a newer driver, which brings nvidia_peermem.",
    },
)
def nvidia_peermem_missing(view: View) -> Seen:
    machine = view.machine
    if not any(machine.kernel.has(name) for name in _PEERMEM) and not machine.kernel.dmabuf:
        cuda = numbers_in(machine.gpus.cuda)[:2]
        yield observed(
            "Neither nvidia_peermem nor nv_peer_mem is loaded, and kernel and driver have no "
            "dma-buf for it: messages from GPU memory to other nodes go through host memory",
            _absent(*_PEERMEM),
            kind="old" if cuda and cuda < _PEERMEM_SINCE else "",
        )


@rule(
    "nv-peer-memory-deprecated",
    "note",
    "the deprecated nv_peer_mem is loaded",
    needs=("machine", "GPU of NVIDIA", "adapter for peer memory", "modules"),
    when="which module does GPUDirect RDMA: from CUDA 11.4 on nvidia_peermem",
    fix="Ask the administrator to remove nv_peer_memory and to load nvidia_peermem, which comes "
    "with the driver.",
)
def nv_peer_memory_deprecated(view: View) -> Seen:
    machine = view.machine
    cuda = numbers_in(machine.gpus.cuda)[:2]
    if machine.kernel.has("nv_peer_mem") and cuda and cuda >= _PEERMEM_SINCE:
        yield observed(
            f"nv_peer_mem is loaded, and the driver is of CUDA {machine.gpus.cuda}",
            Quote(_MODULES, "nv_peer_mem"),
        )


@rule(
    "driver-older-than-cuda",
    "warning",
    "the driver is older than the CUDA toolkit",
    needs="machine",
    when="CUDA of the driver, against that of nvcc",
    fix="Load a module of CUDA {driver} or older, or ask the administrator for a driver of CUDA "
    "{toolkit}; for some GPUs the package cuda-compat makes do.",
)
def driver_older_than_cuda(view: View) -> Seen:
    gpus = view.machine.gpus
    driver, toolkit = numbers_in(gpus.cuda), numbers_in(gpus.toolkit)
    if not driver:
        raise NotApplicable(gpus.why_none if not gpus.gpus else "it is no driver of NVIDIA")
    elif not toolkit:
        raise NotApplicable("no nvcc is on PATH")
    # Within a major version a newer toolkit's programs run on an older driver.
    elif toolkit[0] > driver[0]:
        yield observed(
            f"The driver supports CUDA up to {gpus.cuda}, and nvcc is that of CUDA "
            f"{gpus.toolkit}: its programs do not run (CUDA driver version is insufficient)",
            Quote(gpus.source, f"cuda_version: {gpus.cuda}"),
            Quote("nvcc --version", f"release {gpus.toolkit}"),
            words={"driver": gpus.cuda or "", "toolkit": gpus.toolkit or ""},
        )
