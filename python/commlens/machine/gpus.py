"""GPUs: what their driver says of each, by nvidia-smi, or by the kernel and amd-smi or rocm-smi."""

from typing import Optional

from commlens.machine.pci import PciLink, Vendor
from commlens.machine.view import PartView, Seen


class Gpu(Seen, frozen=True, kw_only=True):
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
    vendor: Optional[Vendor] = None
    driver: Optional[str] = None  # its version
    cuda: Optional[str] = None  # the newest CUDA that the driver supports
    toolkit: Optional[str] = None  # the CUDA toolkit of the nvcc on PATH
    rocm: Optional[str] = None
    gpus: list[Gpu] = []  # noqa: RUF012 (msgspec copies it)
    installed: list[str] = []  # noqa: RUF012 (PCI addresses, whoever may use them)
    source: str = ""  # the command or the files that said it

    @property
    def why_none(self) -> str:
        """Where `gpus` is empty."""
        if not self.installed:
            return "there is no GPU"
        return f"GPUs cannot be seen ({'; '.join(self.unseen.values())})"
