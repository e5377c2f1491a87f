"""How GPUs reach each other: NVLink, xGMI or PCI Express, and what may stand in the way."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal, Optional, get_args

from commlens.machine import pci
from commlens.machine.pci import Distance, PciDevice
from commlens.machine.system import Output, PartView, Seen, System

Kind = Literal["NVLink", "xGMI", "PIX", "PXB", "PHB", "NODE", "SYS"]

# As nvidia-smi writes them; old drivers say SOC instead of SYS.
_KINDS: dict[str, Kind] = {**{kind: kind for kind in get_args(Distance)}, "SOC": "SYS"}
_MATRIX = ("nvidia-smi", "topo", "-m")
_PEERS = ("nvidia-smi", "topo", "-p2p", "r")
_NVLINKS = ("nvidia-smi", "nvlink", "-s")
_BRIDGES = ("lspci", "-D", "-vvv")
_TIME_LIMIT_S = 8.0
_KFD = "/sys/class/kfd/kfd/topology/nodes"
_XGMI = "11"  # HSA_IOLINK_TYPE_XGMI, of a link's properties

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_NVLINK = re.compile(r"NV\d{1,3}")
_GPU = re.compile(r"GPU(\d{1,4})")
_LINK = re.compile(r"\s+Link (\d{1,3}): (?:(\d{1,6}(?:\.\d+)?) GB/s|<inactive>)", re.IGNORECASE)
_OF_GPU = re.compile(r"GPU (\d{1,4}):")
_BRIDGE = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ", re.IGNORECASE)
_REDIRECTS = ("ReqRedir+", "CmpltRedir+")  # what sends a peer's requests up to the root complex


class Pair(Seen, frozen=True, kw_only=True):
    """Two GPUs, by their indexes, or by their addresses where nothing counts them."""

    first: str
    second: str
    kind: Optional[Kind] = None
    count: Optional[int] = None  # of NVLinks
    # OK; or why the driver allows no access to the other's memory, as nvidia-smi prints it:
    # CNS (chipset), GNS (GPU), TNS (topology), NS (not supported), DR (disabled by its setting).
    peer_access: Optional[str] = None


class NvLinks(Seen, frozen=True, kw_only=True):
    """Those of a GPU."""

    gpu: int
    active: int
    inactive: list[int]
    GBps: Optional[float] = None  # of a link, in each direction


class Bridge(Seen, frozen=True, kw_only=True):
    """A port of a PCI switch above a GPU that sends what its peers exchange to the root complex."""

    address: str
    control: str  # the line of lspci


class LinkView(PartView, frozen=True, kw_only=True):
    """Links between GPUs, and what is in their way."""

    pairs: list[Pair] = []  # noqa: RUF012 (msgspec copies it)
    nvlinks: list[NvLinks] = []  # noqa: RUF012
    redirecting: Optional[list[Bridge]] = None  # by access control (ACS); None: not seen
    iommu: dict[str, str] = {}  # noqa: RUF012 (by a GPU's address: the type of its domain)
    source: str = ""  # of the pairs


def look(system: System) -> LinkView:
    """Asks nvidia-smi and lspci, and reads /sys."""
    installed = pci.gpus(system)
    unseen: dict[str, str] = {}
    matrix = system.run(*_MATRIX, time_limit_s=_TIME_LIMIT_S)
    if matrix.ok:
        pairs, source = _of_nvidia(system, matrix, unseen), matrix.command
    else:
        pairs, source = list(_of_kernel(system, installed)), "/sys/bus/pci/devices"
        if not any(device.driver == "amdgpu" for device in installed):
            unseen["links of NVIDIA GPUs"] = matrix.why_not
    return LinkView(
        pairs=pairs,
        nvlinks=_nvlinks(system, matrix, unseen),
        redirecting=_redirecting(system, installed, unseen),
        iommu={device.address: device.iommu for device in installed if device.iommu},
        source=source,
        unseen=unseen,
    )


def _of_nvidia(system: System, matrix: Output, unseen: dict[str, str]) -> list[Pair]:
    peers = system.run(*_PEERS, time_limit_s=_TIME_LIMIT_S)
    if not peers.ok:
        unseen["peer access"] = peers.why_not
    access = _cells(peers.text) if peers.ok else {}
    return [
        Pair(
            first=first,
            second=second,
            kind="NVLink" if _NVLINK.fullmatch(text) else _KINDS.get(text),
            count=int(text[2:]) if _NVLINK.fullmatch(text) else None,
            peer_access=access.get((first, second)),
        )
        for (first, second), text in _cells(matrix.text).items()
        if int(first) < int(second)
    ]


def _cells(text: str) -> dict[tuple[str, str], str]:
    """Of a matrix with GPUs over its columns: by row and column. NICs are left out."""
    lines = iter(_STYLE.sub("", text).splitlines())
    names: list[str] = []
    for line in lines:
        names = line.split()
        if names and _GPU.fullmatch(names[0]):
            break
    cells_by_pair = {}
    for line in lines:
        row, *cells = line.split() or [""]
        gpu = _GPU.fullmatch(row)
        if gpu is None:
            continue
        for name, cell in zip(names, cells):
            other = _GPU.fullmatch(name)
            if other is not None and cell != "X":
                cells_by_pair[gpu.group(1), other.group(1)] = cell
    return cells_by_pair


def _of_kernel(system: System, installed: Sequence[PciDevice]) -> Iterator[Pair]:
    """By address; those of AMD that have an xGMI link, by that."""
    linked = _xgmi(system)
    for device, other in combinations(installed, 2):
        kind: Optional[Kind] = pci.distance(device, other)
        if frozenset((device.address, other.address)) in linked:
            kind = "xGMI"
        yield Pair(first=device.address, second=other.address, kind=kind)


def _xgmi(system: System) -> set[frozenset[str]]:
    addresses = {node: _address(system, node) for node in system.names(_KFD)}
    linked = set()
    for node, address in addresses.items():
        for link in system.names(f"{_KFD}/{node}/io_links"):
            properties = _properties(system, f"{_KFD}/{node}/io_links/{link}/properties")
            other = addresses.get(properties.get("node_to", ""))
            if properties.get("type") == _XGMI and address and other:
                linked.add(frozenset((address, other)))
    return linked


def _address(system: System, node: str) -> Optional[str]:
    """Of a GPU among the nodes that the driver kfd lists; processors are nodes, too."""
    properties = _properties(system, f"{_KFD}/{node}/properties")
    place, domain = properties.get("location_id", ""), properties.get("domain", "0")
    if not place.isdecimal() or not domain.isdecimal() or properties.get("simd_count") == "0":
        return None
    number = int(place)
    return f"{int(domain):04x}:{number >> 8 & 255:02x}:{number >> 3 & 31:02x}.{number & 7}"


def _properties(system: System, path: str) -> dict[str, str]:
    lines = (line.split() for line in (system.read(path) or "").splitlines())
    return {words[0]: words[1] for words in lines if len(words) == 2}


def _nvlinks(system: System, matrix: Output, unseen: dict[str, str]) -> list[NvLinks]:
    """Where the driver has just not answered, it is not asked again."""
    output = matrix if matrix.missing else system.run(*_NVLINKS, time_limit_s=_TIME_LIMIT_S)
    if not output.ok:
        unseen["NVLinks"] = output.why_not
        return []
    return list(_of_each_gpu(output.text))


def _of_each_gpu(text: str) -> Iterator[NvLinks]:
    gpu: Optional[int] = None
    states: dict[int, list[tuple[int, Optional[float]]]] = {}
    for line in text.splitlines():
        head, link = _OF_GPU.match(line), _LINK.match(line)
        if head:
            gpu = int(head.group(1))
        elif link and gpu is not None:
            rate = float(link.group(2)) if link.group(2) else None
            states.setdefault(gpu, []).append((int(link.group(1)), rate))
    for index, links in states.items():
        rates = [rate for _, rate in links if rate]
        yield NvLinks(
            gpu=index,
            active=len(rates),
            inactive=[number for number, rate in links if not rate],
            GBps=max(rates, default=None),
        )


def _shared_switches(gpus: Sequence[PciDevice], peers: Sequence[PciDevice]) -> set[str]:
    """The ports above GPUs of switches that have another peer below another port. What passes a
    root port goes through the root complex anyway, and a card's own switch has no peers."""
    ports = set()
    for gpu in gpus:
        for depth in range(2, len(gpu.path) - 1):
            above, port = gpu.path[:depth], gpu.path[depth]
            if any(peer.path[:depth] == above and peer.path[depth] != port for peer in peers):
                ports.add(port)
    return ports


def _redirecting(
    system: System, installed: Sequence[PciDevice], unseen: dict[str, str]
) -> Optional[list[Bridge]]:
    """Without root, lspci does not see that part of a bridge."""
    above = _shared_switches(installed, [*installed, *pci.adapters(system)])
    if not above:
        return []
    output = system.run(*_BRIDGES, time_limit_s=_TIME_LIMIT_S)
    if not output.ok:
        unseen["ACS"] = output.why_not
        return None
    denied, bridges, address = False, [], ""
    for line in output.text.splitlines():
        head = _BRIDGE.match(line)
        if head:
            address = pci.normal_address(head.group(1)) or ""
        elif address in above:
            denied = denied or "<access denied>" in line
            if "ACSCtl:" in line and any(word in line for word in _REDIRECTS):
                bridges.append(Bridge(address=address, control=line.strip()))
    if denied:
        unseen["ACS"] = f"{output.command}: access denied; only root sees it"
        return None
    return bridges
