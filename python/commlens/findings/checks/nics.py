"""Hardware: network adapters, and the links of adapters and GPUs to the machine"""

from __future__ import annotations

from commlens.base.text import format_number, plural
from commlens.findings.checks.entries import known_gpus
from commlens.findings.finding import Quote
from commlens.findings.rule import Observation, Seen, observed, rule
from commlens.findings.view import NotApplicable, View, not_seen
from commlens.machine.nics import NetworkAdapter
from commlens.machine.pci import PciLink

_INFINIBAND = "InfiniBand"
_ENCODING = 128 / 130  # of PCI Express from generation 3 on
_FIRST_ENCODED = 8.0  # GT/s of generation 3
_FAR = "SYS"


def _quote(nic: NetworkAdapter, line: str) -> Quote:
    device, _, port = nic.name.partition(":")
    folder = (
        f"/sys/class/infiniband/{device}/ports/{port}"
        if nic.rdma
        else (f"/sys/class/net/{nic.name}")
    )
    return Quote(folder, line)


@rule(
    "no-nic-up",
    "warning",
    "no fast network adapter has a link",
    needs=("machine", "fast adapter"),
    when="links of adapters for InfiniBand, RoCE and Slingshot",
    fix="Ask the administrator to look at cables, switch and subnet manager (`ibstat`, `ip "
    "link`): messages between nodes take another network, or none.",
)
def no_nic_up(view: View) -> Seen:
    nics = view.machine.nics.fast
    if not any(nic.is_up for nic in nics):
        first = nics[0]
        yield observed(
            f"{plural(len(nics), 'port')} for messages between nodes, and no link "
            f"({first.name}: {first.state or 'unknown'})",
            *(_quote(nic, f"state: {nic.state}") for nic in nics),
        )


@rule(
    "nic-down",
    "note",
    "a network adapter has no link, and others of its kind have",
    needs=("machine", "fast adapter"),
    when="adapters of one kind, of which some have a link",
    fix="Ask the administrator whether it should have one (cable, switch, subnet manager); keep "
    "libraries from trying it: `UCX_NET_DEVICES={others}`, `NCCL_IB_HCA={hcas}`.",
)
def nic_down(view: View) -> Seen:
    nics = view.machine.nics.fast
    for nic in nics:
        alike = [one for one in nics if one.model == nic.model and one.is_up]
        if not nic.is_up and alike:
            names = [one.name for one in alike]
            yield observed(
                f"{nic.name} has no link ({nic.state or 'unknown'}), and "
                f"{', '.join(names)} of its kind {'has' if len(names) == 1 else 'have'} one",
                _quote(nic, f"state: {nic.state}"),
                words={
                    "others": ",".join(names),
                    "hcas": ",".join(dict.fromkeys(one.partition(":")[0] for one in names)),
                },
            )


@rule(
    "nic-slow",
    "warning",
    "a network adapter's link is slower than it could be",
    needs=("machine", "fast adapter"),
    when="rates of links, against those of adapters of one kind, and their lanes",
    fix="Ask the administrator to look at the cable and at the errors of the port (`ibstat`, "
    "`mlxlink -d {device}`, `ethtool`).",
)
def nic_slow(view: View) -> Seen:
    nics = [one for one in view.machine.nics.fast if one.is_up and one.rate_Gbps]
    if not nics:
        raise NotApplicable("none has a link")
    for nic in nics:
        rate = nic.rate_Gbps or 0.0
        best = max(one.rate_Gbps or 0.0 for one in nics if one.model == nic.model)
        why = ""
        if rate < best:
            why = f"others of its kind run at {format_number(best)}"
        elif nic.link_layer == _INFINIBAND and nic.lanes == 1:
            why = "it uses one lane of its cable"
        if why:
            lanes = f" ({nic.lanes}X)" if nic.lanes else ""
            yield observed(
                f"{nic.name} runs at {format_number(rate)} Gb/s, and {why}",
                _quote(nic, f"rate: {rate:g} Gb/sec{lanes}"),
                words={"device": nic.name.partition(":")[0]},
            )


@rule(
    "nic-exceeds-slot",
    "note",
    "a network adapter is faster than its slot",
    needs=("machine", "fast adapter", "physical"),
    when="rates of adapters, against those of their PCI Express links",
    fix="Nothing but another slot or card makes it faster: its ceiling is that of the slot.",
)
def nic_exceeds_slot(view: View) -> Seen:
    nics = [
        one for one in view.machine.nics.fast if one.is_up and one.rate_Gbps and _rate(one.link)
    ]
    if not nics:
        raise not_seen("the kernel does not know the rates of any adapter and its slot")
    for nic in nics:
        # What is narrow or slow for another reason has a finding of its own.
        possible = _rate(nic.link) if not is_narrow(nic.link) and not is_slow(nic.link) else 0
        if possible and (nic.rate_Gbps or 0) > possible:
            yield observed(
                f"{nic.name} has a rate of {format_number(nic.rate_Gbps or 0)} Gb/s, and its slot "
                f"carries {format_number(possible)} ({nic.link.width} lanes of "
                f"{nic.link.GTps:g} GT/s)",
                Quote(
                    f"/sys/bus/pci/devices/{nic.pci}/current_link_speed", f"{nic.link.GTps:g} GT/s"
                ),
            )


def _rate(link: PciLink) -> float:
    """In Gb/s, in one direction; 0 where it is unknown."""
    if link.width is None or link.GTps is None:
        return 0.0
    return link.width * link.GTps * (_ENCODING if link.GTps >= _FIRST_ENCODED else 0.8)


@rule(
    "nic-far-from-gpus",
    "note",
    "GPUs have no network adapter at their socket",
    needs=("machine", "GPU on the bus", "fast adapter"),
    when="which network adapter is near which GPU",
    fix="Nothing but another slot changes it. Where several ranks share a node, those of the near "
    "GPUs ({near}) should exchange most with other nodes.",
)
def nic_far_from_gpus(view: View) -> Seen:
    gpus = view.machine.gpus
    nics = [one for one in view.machine.nics.fast if one.is_up and one.distances]
    if not nics:
        raise not_seen("the kernel does not report where adapters and GPUs are")
    far = [
        address
        for address in gpus.installed
        if all(nic.distances.get(address) == _FAR for nic in nics)
    ]
    near = [address for address in gpus.installed if address not in far]
    if far:
        yield observed(
            f"{plural(len(far), 'GPU')} of {len(gpus.installed)} reach every network adapter "
            f"through another socket ({', '.join(far)})",
            *(
                Quote(f"/sys/bus/pci/devices/{nic.pci}/numa_node", f"{nic.numa_node}")
                for nic in nics
            ),
            words={"near": ", ".join(near) or "none"},
        )


def _width(address: str | None, link: PciLink) -> Quote:
    folder = f"/sys/bus/pci/devices/{address}"
    return Quote(f"{folder}/current_link_width", f"{link.width} (of {link.possible_width})")


def is_narrow(link: PciLink) -> bool:
    return link.width is not None and link.width < (link.possible_width or 0)


def is_slow(link: PciLink) -> bool:
    return link.GTps is not None and link.GTps < (link.possible_GTps or 0)


@rule(
    "pci-link-narrow",
    "warning",
    "a PCI Express link has fewer lanes than card and slot have",
    needs=("machine", "physical"),
    when="lanes of the PCI Express links of GPUs and network adapters",
    fix="Ask the administrator to reseat the card, riser or cable, and to look for errors of "
    "its link (`dmesg | grep -i aer`).",
)
def pci_link_narrow(view: View) -> Seen:
    cards = [(str(gpu), gpu.pci, gpu.link) for gpu in view.machine.gpus.gpus]
    cards += [(nic.name, nic.pci, nic.link) for nic in view.machine.nics.fast]
    if not cards:
        raise NotApplicable("there is no GPU, and no adapter for InfiniBand, RoCE or Slingshot")
    if all(link.width is None for _, _, link in cards):
        raise not_seen("the kernel does not know the width of any link")
    for name, address, link in cards:
        if is_narrow(link):
            yield observed(
                f"The PCI Express link of {name} has {plural(link.width or 0, 'lane')}, and card "
                f"and slot have {link.possible_width}",
                _width(address, link),
            )


@rule(
    "gpu-link-slow",
    "note",
    "the PCI Express link of a busy GPU is slower than it could be",
    needs=("machine", "GPU of the driver", "physical"),
    when="speeds of the PCI Express links of GPUs that are not idle",
    fix="Look again while a program copies (`nvidia-smi -q -d PERFORMANCE`): idle GPUs lower the "
    "speed. If it stays, ask the administrator to look at the slot's setting in the BIOS.",
)
def gpu_link_slow(view: View) -> Seen:
    busy = [gpu for gpu in known_gpus(view.machine, "is_idle") if not gpu.is_idle]
    if not busy:
        raise NotApplicable("idle GPUs lower the speed of their links")
    for gpu in busy:
        if is_slow(gpu.link):
            yield _slow(str(gpu), gpu.pci, gpu.link)


@rule(
    "nic-link-slow",
    "warning",
    "the PCI Express link of a network adapter is slower than card and slot are",
    needs=("machine", "fast adapter", "physical"),
    when="speeds of the PCI Express links of network adapters",
    fix="Ask the administrator to look at the slot's speed in the BIOS, and to reseat the card.",
)
def nic_link_slow(view: View) -> Seen:
    nics = view.machine.nics.fast
    if all(nic.link.GTps is None for nic in nics):
        raise not_seen("the kernel does not know the speed of any link")
    for nic in nics:
        if is_slow(nic.link):
            yield _slow(nic.name, nic.pci, nic.link)


def _slow(name: str, address: str | None, link: PciLink) -> Observation:
    return observed(
        f"The PCI Express link of {name} runs at {link.GTps:g} GT/s, and card and slot can do "
        f"{link.possible_GTps:g}",
        Quote(f"/sys/bus/pci/devices/{address}/current_link_speed", f"{link.GTps:g} GT/s"),
    )
