"""How many GPUs and RDMA adapters the files of the kernel show: what libraries have to do with."""

from __future__ import annotations

import re

import msgspec

from commlens.machine.system import System

_NVIDIA = re.compile(r"nvidia\d+")


class DeviceView(msgspec.Struct, frozen=True):
    nvidia_gpus: int = 0
    amd_gpus: int = 0
    rdma: tuple[str, ...] = ()  # mlx5_0, hfi1_0 ...

    @property
    def gpus(self) -> int:
        return self.nvidia_gpus + self.amd_gpus

    @property
    def mellanox(self) -> tuple[str, ...]:
        return tuple(name for name in self.rdma if name.startswith("mlx"))


def look(system: System) -> DeviceView:
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
