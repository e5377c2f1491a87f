"""Network adapters, and the links of adapters and GPUs to the machine."""

from __future__ import annotations

from collections.abc import Iterable

from commlens.base.text import format_number
from commlens.findings.checks.conditions import known_gpus
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable, not_seen
from commlens.machine.machine import Machine
from commlens.machine.nics import NetworkAdapter
from commlens.machine.pci import PciLink

_INFINIBAND = "InfiniBand"
_ENCODING = 128 / 130  # of PCI Express from generation 3 on
_FIRST_ENCODED = 8.0  # GT/s of generation 3
_FAR = "SYS"


def _quote(nic: NetworkAdapter, line: str) -> Quote:
    device, _, port = nic.name.partition(":")
    path = f"infiniband/{device}/ports/{port}" if nic.rdma else f"net/{nic.name}"
    return Quote(f"/sys/class/{path}", line)


def no_nic_up(machine: Machine) -> Seen:
    nics = machine.nics.fast
    if not any(nic.is_up for nic in nics):
        state = nics[0].state or "unknown"
        yield observed(
            *(_quote(nic, f"state: {nic.state}") for nic in nics), first=nics[0], state=state
        )


def nic_down(machine: Machine) -> Seen:
    nics = machine.nics.fast
    for nic in nics:
        up = [one.name for one in nics if one.model == nic.model and one.is_up]
        if not nic.is_up and up:
            yield observed(
                _quote(nic, f"state: {nic.state}"),
                nic=nic,
                state=nic.state or "unknown",
                up=up,
                have="has" if len(up) == 1 else "have",
                others=",".join(up),
                hcas=",".join(dict.fromkeys(one.partition(":")[0] for one in up)),
            )


def nic_slow(machine: Machine) -> Seen:
    nics = [(one, one.rate_Gbps) for one in machine.nics.fast if one.is_up and one.rate_Gbps]
    if not nics:
        raise NotApplicable("none has a link")
    for nic, rate in nics:
        best = max(other for one, other in nics if one.model == nic.model)
        why = ""
        if rate < best:
            why = f"others of its kind run at {format_number(best)}"
        elif nic.link_layer == _INFINIBAND and nic.lanes == 1:
            why = "it uses one lane of its cable"
        if why:
            lanes = f" ({nic.lanes}X)" if nic.lanes else ""
            quote = _quote(nic, f"rate: {rate:g} Gb/sec{lanes}")
            yield observed(quote, nic=nic, why=why, device=nic.name.partition(":")[0])


def nic_exceeds_slot(machine: Machine) -> Seen:
    up = [one for one in machine.nics.fast if one.is_up]
    nics = [(one, one.rate_Gbps) for one in up if one.rate_Gbps and _rate(one.link)]
    if not nics:
        raise not_seen("the kernel does not know the rates of any adapter and its slot")
    for nic, rate in nics:
        possible = _rate(nic.link)
        # What is narrow or slow for another reason has a finding of its own.
        if rate > possible and not is_narrow(nic.link) and not is_slow(nic.link):
            yield observed(nic=nic, possible=possible)


def _rate(link: PciLink) -> float:
    """In Gb/s, in one direction; 0 where it is unknown."""
    if link.width is None or link.GTps is None:
        return 0.0
    return link.width * link.GTps * (_ENCODING if link.GTps >= _FIRST_ENCODED else 0.8)


def nic_far_from_gpus(machine: Machine) -> Seen:
    nics = [one for one in machine.nics.fast if one.is_up and one.distances]
    if not nics:
        raise not_seen("the kernel does not report where adapters and GPUs are")
    installed = machine.gpus.installed
    far = [one for one in installed if all(nic.distances.get(one) == _FAR for nic in nics)]
    if far:
        nodes = ((f"/sys/bus/pci/devices/{nic.pci}/numa_node", f"{nic.numa_node}") for nic in nics)
        near = [address for address in installed if address not in far]
        yield observed(*(Quote(*node) for node in nodes), far=far, near=near)


def is_narrow(link: PciLink) -> bool:
    return link.width is not None and link.width < (link.possible_width or 0)


def is_slow(link: PciLink) -> bool:
    return link.GTps is not None and link.GTps < (link.possible_GTps or 0)


def pci_link_narrow(machine: Machine) -> Seen:
    cards = [(str(gpu), gpu.pci, gpu.link) for gpu in machine.gpus.gpus]
    cards += [(nic.name, nic.pci, nic.link) for nic in machine.nics.fast]
    if not cards:
        raise NotApplicable("there is no GPU, and no adapter for InfiniBand, RoCE or Slingshot")
    if all(link.width is None for _, _, link in cards):
        raise not_seen("the kernel does not know the width of any link")
    for name, address, link in cards:
        if is_narrow(link):
            yield observed(name=name, pci=address, link=link)


def gpu_link_slow(machine: Machine) -> Seen:
    busy = [gpu for gpu in known_gpus(machine, "is_idle") if not gpu.is_idle]
    if not busy:
        raise NotApplicable("idle GPUs lower the speed of their links")
    return _slow((str(gpu), gpu.pci, gpu.link) for gpu in busy)


def nic_link_slow(machine: Machine) -> Seen:
    nics = machine.nics.fast
    if all(nic.link.GTps is None for nic in nics):
        raise not_seen("the kernel does not know the speed of any link")
    return _slow((nic.name, nic.pci, nic.link) for nic in nics)


def _slow(cards: Iterable[tuple[str, str | None, PciLink]]) -> Seen:
    for name, address, link in cards:
        if is_slow(link):
            yield observed(name=name, pci=address, link=link)
