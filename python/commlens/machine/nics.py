"""Network adapters that carry an application's messages, as the kernel lists them below /sys."""

import re
from collections.abc import Iterator
from typing import Optional

import msgspec

from commlens.machine import pci
from commlens.machine.pci import Distance, PciDevice, PciLink
from commlens.machine.system import PartView, Seen, System, line_of

_RDMA = "/sys/class/infiniband"
_NET = "/sys/class/net"
_ETHERNET = "Ethernet"
_RATE = re.compile(r"(\d{1,6}(?:\.\d+)?) Gb/sec(?: \((\d{1,2})X)?")


class NetworkAdapter(Seen, frozen=True, kw_only=True):
    """A port of an adapter; `mlx5_0:1` is also its name in UCX_NET_DEVICES."""

    name: str
    rdma: bool  # has an RDMA device; others are network interfaces only
    interfaces: list[str] = []  # noqa: RUF012 (network interfaces of the same device)
    link_layer: Optional[str] = None  # InfiniBand, Ethernet
    rate_Gbps: Optional[float] = None  # noqa: N815
    lanes: Optional[int] = None  # of the cable
    state: Optional[str] = None  # ACTIVE, DOWN, INIT ...; up, down ... of an interface
    physical_state: Optional[str] = None  # LinkUp, Polling, Disabled ...
    model: Optional[str] = None  # vendor and device numbers: 0x15b3:0x1021
    pci: Optional[str] = None
    numa_node: Optional[int] = None
    driver: Optional[str] = None
    link: PciLink = PciLink()
    distances: dict[str, Distance] = {}  # noqa: RUF012 (by the address of a GPU)

    def __str__(self) -> str:
        return self.name

    @property
    def is_up(self) -> bool:
        """Whether the port has a link."""
        return (self.state or "").upper() in ("ACTIVE", "UP")


class NicView(PartView, frozen=True, kw_only=True):
    """The ports of all network adapters of hardware."""

    nics: list[NetworkAdapter] = []  # noqa: RUF012 (msgspec copies it)

    @property
    def mellanox(self) -> list[NetworkAdapter]:
        """InfiniBand and RoCE, by the names of their driver."""
        rdma = (nic for nic in self.nics if nic.rdma)
        return [nic for nic in rdma if (nic.driver or nic.name).startswith("mlx")]

    @property
    def fast(self) -> list[NetworkAdapter]:
        """Those that an application's messages are meant for: RDMA, or Slingshot."""
        return [nic for nic in self.nics if nic.rdma or nic.name.startswith("hsn")]


def look(system: System) -> NicView:
    """Reads /sys."""
    gpus = pci.gpus(system)
    rdma = [nic for name in system.names(_RDMA) for nic in _ports(system, name, gpus)]
    known = {interface for nic in rdma for interface in nic.interfaces}
    plain = [
        nic for name in system.names(_NET) if name not in known for nic in _net(system, name, gpus)
    ]
    unseen = {}
    if not rdma:
        unseen["RDMA devices"] = f"{_RDMA}: none"
    if not plain and not known:
        unseen["network interfaces"] = f"{_NET}: none of hardware"
    return NicView(nics=rdma + plain, unseen=unseen)


def _ports(system: System, name: str, gpus: list[PciDevice]) -> Iterator[NetworkAdapter]:
    folder = f"{_RDMA}/{name}"
    for port in system.names(f"{folder}/ports") or ["1"]:
        port_folder = f"{folder}/ports/{port}"
        rate = _RATE.match(line_of(system, f"{port_folder}/rate") or "")
        nic = NetworkAdapter(
            name=f"{name}:{port}",
            rdma=True,
            interfaces=system.names(f"{folder}/device/net"),
            link_layer=line_of(system, f"{port_folder}/link_layer"),
            rate_Gbps=float(rate.group(1)) if rate else None,
            lanes=int(rate.group(2)) if rate and rate.group(2) else None,
            state=_state(system, f"{port_folder}/state"),
            physical_state=_state(system, f"{port_folder}/phys_state"),
        )
        yield _placed(nic, system, folder, gpus)


def _net(system: System, name: str, gpus: list[PciDevice]) -> Iterator[NetworkAdapter]:
    """Of hardware: bridges, tunnels and the loopback have no device below /sys."""
    folder = f"{_NET}/{name}"
    target = system.link(f"{folder}/device")
    if target is None:
        return
    speed = line_of(system, f"{folder}/speed") or ""  # Mb/s; -1 without a link
    nic = NetworkAdapter(
        name=name,
        rdma=False,
        interfaces=[name],
        link_layer=_ETHERNET if line_of(system, f"{folder}/type") == "1" else None,
        rate_Gbps=int(speed) / 1000 if speed.isdecimal() and len(speed) < 10 else None,
        state=line_of(system, f"{folder}/operstate"),
    )
    yield _placed(nic, system, folder, gpus)


def _placed(
    nic: NetworkAdapter, system: System, folder: str, gpus: list[PciDevice]
) -> NetworkAdapter:
    # Its device is the last on the way to it; /sys has links to both the device and its class.
    addresses = pci.path_of(system.link(folder) or "")[1:]
    device = pci.device(system, addresses[-1]) if addresses else None
    if device is None:
        return nic
    ids = [line_of(system, f"{folder}/device/{name}") for name in ("vendor", "device")]
    far = {gpu.address: pci.distance(device, gpu) for gpu in gpus}
    return msgspec.structs.replace(
        nic,
        pci=device.address,
        model=":".join(filter(None, ids)) or None,
        numa_node=device.numa_node,
        driver=device.driver,
        link=device.link,
        distances={address: kind for address, kind in far.items() if kind},
    )


def _state(system: System, path: str) -> Optional[str]:
    """`4: ACTIVE` is ACTIVE."""
    text = line_of(system, path)
    return text.partition(":")[2].strip() or text if text else None
