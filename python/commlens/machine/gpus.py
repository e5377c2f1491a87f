"""GPUs: how many the files of the kernel show, and what their driver reports of each."""

import platform
import re
from typing import Optional

import msgspec

from commlens.machine.pci import PciLink, Vendor
from commlens.machine.system import PartView, Seen, System
from commlens.model.results import SharedGpu

_NVIDIA = re.compile(r"nvidia\d+")


class Gpu(Seen, frozen=True, kw_only=True):
    """One GPU, as its driver describes it."""

    index: int  # as nvidia-smi, or the kernel, counts them
    name: Optional[str] = None
    uuid: Optional[str] = None
    pci: Optional[str] = None
    numa_node: Optional[int] = None
    memory_bytes: Optional[int] = None
    uncorrected_errors: Optional[int] = None  # of memory, since the driver was loaded
    repair_pending: Optional[bool] = None  # rows or pages to be replaced by the next reset
    repair_failed: Optional[bool] = None
    recovery: Optional[str] = None  # what it needs to work again: None, Reset, Reboot ...
    # What lowers the clock, in the words of nvidia-smi: `hw thermal slowdown`, `gpu idle`.
    clock_limits: Optional[list[str]] = None
    clock_MHz: Optional[float] = None  # noqa: N815
    highest_clock_MHz: Optional[float] = None  # noqa: N815
    power_limit_W: Optional[float] = None  # noqa: N815
    default_power_limit_W: Optional[float] = None  # noqa: N815
    utilization_percent: Optional[float] = None  # lately, by all programs
    programs: list[str] = []  # noqa: RUF012 (that compute on it)
    link: PciLink = PciLink()
    is_idle: Optional[bool] = None
    persistence: Optional[bool] = None
    compute_mode: Optional[str] = None  # Default, Exclusive_Process, Prohibited
    mig: Optional[bool] = None
    partition: Optional[str] = None  # of AMD: SPX, CPX ...
    fabric: Optional[str] = None  # of NVSwitch: Completed, In Progress
    fabric_health: Optional[str] = None  # Healthy, Unhealthy

    @property
    def is_exclusive(self) -> Optional[bool]:
        """Whether one process at a time may use it."""
        return self.compute_mode.startswith("Exclusive") if self.compute_mode else None

    def __str__(self) -> str:
        """`GPU 0 (0000:19:00.0, NVIDIA H100 80GB HBM3)`"""
        known = ", ".join(filter(None, (self.pci, self.name)))
        return f"GPU {self.index} ({known})" if known else f"GPU {self.index}"


class GpuView(PartView, frozen=True, kw_only=True):
    """The GPUs that the driver shows, those that are installed, and their software."""

    vendor: Optional[Vendor] = None
    driver: Optional[str] = None  # its version
    cuda: Optional[str] = None  # the newest CUDA that the driver supports
    toolkit: Optional[str] = None  # the CUDA toolkit of the nvcc on PATH
    rocm: Optional[str] = None
    gpus: list[Gpu] = []  # noqa: RUF012 (msgspec copies it)
    installed: list[str] = []  # noqa: RUF012 (PCI addresses, whoever may use them)
    source: str = ""  # the command or the files that said it

    @property
    def use(self) -> tuple[SharedGpu, ...]:
        """How much programs use them, in the words of a record."""
        return tuple(
            SharedGpu(
                platform.node(), gpu.index, tuple(gpu.programs), gpu.utilization_percent / 100
            )
            for gpu in self.gpus
            if gpu.utilization_percent is not None
        )

    @property
    def hidden(self) -> int:
        """How many are installed that this process may not use."""
        return len(self.installed) - len(self.gpus)

    @property
    def why_none(self) -> str:
        """Where `gpus` is empty."""
        if not self.installed:
            return "there is no GPU"
        return f"GPUs cannot be seen ({'; '.join(self.unseen.values())})"


class DeviceView(msgspec.Struct, frozen=True):
    """How many GPUs and RDMA adapters the files of the kernel show to any library."""

    nvidia_gpus: int = 0
    amd_gpus: int = 0
    rdma: tuple[str, ...] = ()  # mlx5_0, hfi1_0 ...

    @property
    def gpus(self) -> int:
        """Of both vendors."""
        return self.nvidia_gpus + self.amd_gpus

    @property
    def mellanox(self) -> tuple[str, ...]:
        """The adapters of Mellanox, by the names of their driver."""
        return tuple(name for name in self.rdma if name.startswith("mlx"))


def count_devices(system: System) -> DeviceView:
    """Counts what is in /dev and /sys."""
    devices = [name for name in system.names("/dev") if _NVIDIA.fullmatch(name)]
    kernel = system.names("/proc/driver/nvidia/gpus")
    return DeviceView(
        nvidia_gpus=max(len(devices), len(kernel)),
        amd_gpus=_amd_gpus(system) if "kfd" in system.names("/dev") else 0,
        rdma=tuple(system.names("/sys/class/infiniband")),
    )


def _amd_gpus(system: System) -> int:
    """The nodes of the kernel's list that compute and are no processor."""
    folder = "/sys/class/kfd/kfd/topology/nodes"
    texts = (system.read(f"{folder}/{node}/properties") or "" for node in system.names(folder))
    return sum(re.search(r"^simd_count [1-9]", text, re.MULTILINE) is not None for text in texts)
