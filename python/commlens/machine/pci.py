"""Devices on the PCI bus, as the kernel lists them below /sys: where they are, and their links."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Literal, Optional

from commlens.machine.system import Seen, System

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
Vendor = Literal["nvidia", "amd"]
_VENDORS: dict[str, Vendor] = {"0x10de": "nvidia", "0x1002": "amd"}
# Display controllers and processing accelerators; the three digits after them differ.
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
_NETWORK_CLASSES = ("0x02",)
_MOST_LANES = 32

# How two devices reach each other, nearest first, in the words of `nvidia-smi topo -m`: over one
# PCI switch, over several, over the root complex, between root complexes of a NUMA node, between
# NUMA nodes.
Distance = Literal["PIX", "PXB", "PHB", "NODE", "SYS"]


class PciLink(Seen, frozen=True, kw_only=True):
    """The PCI Express link of a device, and what it and its slot can do."""

    width: Optional[int] = None  # lanes
    highest_width: Optional[int] = None
    slot_width: Optional[int] = None  # that of the bridge above it, at most
    GTps: Optional[float] = None  # of a lane: 16 is generation 4
    highest_GTps: Optional[float] = None  # noqa: N815
    slot_GTps: Optional[float] = None  # noqa: N815

    @property
    def possible_width(self) -> Optional[int]:
        """What card and slot can do."""
        return min(filter(None, (self.highest_width, self.slot_width)), default=None)

    @property
    def possible_GTps(self) -> Optional[float]:  # noqa: N802
        """What card and slot can do, per lane."""
        return min(filter(None, (self.highest_GTps, self.slot_GTps)), default=None)


class PciDevice(Seen, frozen=True, kw_only=True):
    """A device on the bus."""

    address: str  # 0000:19:00.0
    path: list[str]  # from the root complex down to the device: pci0000:15, 0000:15:01.0 ...
    numa_node: Optional[int] = None
    vendor: Optional[Vendor] = None  # None: another
    driver: Optional[str] = None
    iommu: Optional[str] = None  # type of its domain: identity, DMA, DMA-FQ
    link: PciLink = PciLink()


def normal_address(text: str) -> Optional[str]:
    """`00000000:19:00.0` as the kernel writes it, `0000:19:00.0`."""
    match = _ADDRESS.search(text.lower())
    if match is None:
        return None
    domain, _, rest = match.group().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def device(system: System, address: str) -> Optional[PciDevice]:
    """None where the kernel does not list it, as in some containers."""
    target = system.link(f"{_DEVICES}/{address}")
    if target is None:
        return None
    path = path_of(target)
    parent = path[-2] if len(path) > 1 else ""
    driver = system.link(f"{_DEVICES}/{address}/driver")
    node = _number(_text(system, address, "numa_node"))
    return PciDevice(
        address=address,
        path=path,
        numa_node=None if node is None else int(node),
        vendor=_VENDORS.get(_text(system, address, "vendor")),
        driver=driver.rpartition("/")[2] if driver else None,
        iommu=_text(system, address, "iommu_group/type") or None,
        link=PciLink(
            width=lanes(_number(_text(system, address, "current_link_width"))),
            highest_width=lanes(_number(_text(system, address, "max_link_width"))),
            slot_width=lanes(_number(_text(system, parent, "max_link_width"))),
            GTps=_number(_text(system, address, "current_link_speed")),
            highest_GTps=_number(_text(system, address, "max_link_speed")),
            slot_GTps=_number(_text(system, parent, "max_link_speed")),
        ),
    )


def path_of(target: str) -> list[str]:
    """The root complex and the addresses in a path below /sys/devices, in their order."""
    pieces = target.lower().split("/")
    return [piece for piece in pieces if piece.startswith("pci") or _ADDRESS.fullmatch(piece)]


def gpus(system: System) -> list[PciDevice]:
    """Those of NVIDIA and AMD that are installed, also of GPUs that this process may not use."""
    return [gpu for gpu in _devices(system, _GPU_CLASSES) if gpu.vendor]


def adapters(system: System) -> list[PciDevice]:
    """Network adapters of every kind."""
    return list(_devices(system, _NETWORK_CLASSES))


def _devices(system: System, classes: tuple[str, ...]) -> Iterator[PciDevice]:
    for name in system.names(_DEVICES):
        if _text(system, name, "class").startswith(classes):
            entry = device(system, name)
            if entry is not None:
                yield entry


def distance(first: PciDevice, second: PciDevice) -> Optional[Distance]:
    """How two devices reach each other; None where it is unknown."""
    if not first.path or not second.path or first.path[0] != second.path[0]:
        if first.numa_node is None or second.numa_node is None:
            return None
        return "NODE" if first.numa_node == second.numa_node else "SYS"
    pairs = zip(first.path, second.path)
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    if common <= 1:
        return "PHB"
    # Below the switch that both have, each has the switch's port and itself.
    return "PIX" if max(len(first.path), len(second.path)) - common <= 2 else "PXB"


def _text(system: System, address: str, name: str) -> str:
    return (system.read(f"{_DEVICES}/{address}/{name}") or "").strip() if address else ""


def _number(text: str) -> Optional[float]:
    """`16.0 GT/s PCIe` is 16; `Unknown` and -1 are None."""
    match = re.match(r"\d{1,6}(\.\d{1,6})?(?=\s|$)", text, re.ASCII)
    return float(match.group()) if match else None


def lanes(number: Optional[float]) -> Optional[int]:
    """None for 0 and 63 or 255, which stand for unknown."""
    return int(number) if number is not None and 1 <= number <= _MOST_LANES else None
