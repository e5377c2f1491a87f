"""Hardware: network adapters, and the links of adapters and GPUs to the machine"""

from __future__ import annotations

from commlens.base.text import format_number, plural
from commlens.findings import Quote
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.checks.hardware import known
from commlens.findings.machine_view import DoctorView
from commlens.findings.registry import Observation
from commlens.machine.nics import Nic
from commlens.machine.pci import PciLink

NO_NIC = "there is no adapter for InfiniBand, RoCE or Slingshot"
_INFINIBAND = "InfiniBand"
_ENCODING = 128 / 130  # of PCI Express from generation 3 on
_FIRST_ENCODED = 8.0  # GT/s of generation 3
_FAR = "SYS"
_VIRTUAL = "a virtual machine does not show the slots of its host"


def fast(view: DoctorView) -> list[Nic]:
    """Those that an application's messages are meant for: RDMA, or Slingshot."""
    return [one for one in view.machine.nics.nics if one.rdma or one.name.startswith("hsn")]


def _quote(nic: Nic, line: str) -> Quote:
    device, _, port = nic.name.partition(":")
    folder = (
        f"/sys/class/infiniband/{device}/ports/{port}"
        if nic.rdma
        else (f"/sys/class/net/{nic.name}")
    )
    return Quote(folder, line)


@check(
    "no-nic-up",
    "problem",
    about="hardware",
    title="no fast network adapter has a link",
    looks_at="links of adapters for InfiniBand, RoCE and Slingshot",
    fix="Ask the administrator to look at cables, switch and subnet manager (`ibstat`, `ip "
    "link`): messages between nodes take another network, or none.",
)
def no_nic_up(view: DoctorView) -> Seen:
    nics = fast(view)
    if not nics:
        yield NotApplicable(NO_NIC)
    elif not any(nic.is_up for nic in nics):
        first = nics[0]
        yield Observed(
            f"{plural(len(nics), 'port')} for messages between nodes, and no link "
            f"({first.name}: {first.state or 'unknown'})",
            *(_quote(nic, f"state: {nic.state}") for nic in nics),
        )


@check(
    "nic-down",
    "advice",
    about="hardware",
    title="a network adapter has no link, and others of its kind have",
    looks_at="adapters of one kind, of which some have a link",
    fix="Ask the administrator whether it should have one (cable, switch, subnet manager); keep "
    "libraries from trying it: `UCX_NET_DEVICES={others}`, `NCCL_IB_HCA={hcas}`.",
)
def nic_down(view: DoctorView) -> Seen:
    nics = fast(view)
    if not nics:
        yield NotApplicable(NO_NIC)
    for nic in nics:
        alike = [one for one in nics if one.model == nic.model and one.is_up]
        if not nic.is_up and alike:
            names = [one.name for one in alike]
            yield Observed(
                f"{nic.name} has no link ({nic.state or 'unknown'}), and "
                f"{', '.join(names)} of its kind {'has' if len(names) == 1 else 'have'} one",
                _quote(nic, f"state: {nic.state}"),
                words={
                    "others": ",".join(names),
                    "hcas": ",".join(dict.fromkeys(one.partition(":")[0] for one in names)),
                },
            )


@check(
    "nic-slow",
    "problem",
    about="hardware",
    title="a network adapter's link is slower than it could be",
    looks_at="rates of links, against those of adapters of one kind, and their lanes",
    fix="Ask the administrator to look at the cable and at the errors of the port (`ibstat`, "
    "`mlxlink -d {device}`, `ethtool`).",
)
def nic_slow(view: DoctorView) -> Seen:
    nics = [one for one in fast(view) if one.is_up and one.rate_Gbps]
    if not nics:
        yield NotApplicable(NO_NIC if not fast(view) else "none has a link")
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
            yield Observed(
                f"{nic.name} runs at {format_number(rate)} Gb/s, and {why}",
                _quote(nic, f"rate: {rate:g} Gb/sec{lanes}"),
                words={"device": nic.name.partition(":")[0]},
            )


@check(
    "nic-exceeds-slot",
    "advice",
    about="hardware",
    title="a network adapter is faster than its slot",
    looks_at="rates of adapters, against those of their PCI Express links",
    fix="Nothing but another slot or card makes it faster: its ceiling is that of the slot.",
)
def nic_exceeds_slot(view: DoctorView) -> Seen:
    nics = [one for one in fast(view) if one.is_up and one.rate_Gbps and _rate(one.link)]
    if not nics:
        why = "the kernel does not know the rates of any adapter and its slot"
        yield NotApplicable(NO_NIC) if not fast(view) else not_seen(why)
    elif view.machine.cpus.virtual:
        yield NotApplicable(_VIRTUAL)
        return
    for nic in nics:
        # What is narrow or slow for another reason has a finding of its own.
        possible = _rate(nic.link) if not is_narrow(nic.link) and not is_slow(nic.link) else 0
        if possible and (nic.rate_Gbps or 0) > possible:
            yield Observed(
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


@check(
    "nic-far-from-gpus",
    "advice",
    about="hardware",
    title="GPUs have no network adapter at their socket",
    looks_at="which network adapter is near which GPU",
    fix="Nothing but another slot changes it. Where several ranks share a node, those of the near "
    "GPUs ({near}) should exchange most with other nodes.",
)
def nic_far_from_gpus(view: DoctorView) -> Seen:
    gpus = view.machine.gpus
    nics = [one for one in fast(view) if one.is_up and one.distances]
    if not gpus.installed:
        yield NotApplicable("there is no GPU")
    elif not fast(view):
        yield NotApplicable(NO_NIC)
    elif not nics:
        yield not_seen("the kernel does not tell where adapters and GPUs are")
    else:
        far = [
            address
            for address in gpus.installed
            if all(nic.distances.get(address) == _FAR for nic in nics)
        ]
        near = [address for address in gpus.installed if address not in far]
        if far:
            yield Observed(
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


@check(
    "pci-link-narrow",
    "problem",
    about="hardware",
    title="a PCI Express link has fewer lanes than card and slot have",
    looks_at="lanes of the PCI Express links of GPUs and network adapters",
    fix="Ask the administrator to seat the card, riser or cable anew, and to look for errors of "
    "its link (`dmesg | grep -i aer`).",
)
def pci_link_narrow(view: DoctorView) -> Seen:
    cards = [(str(gpu), gpu.pci, gpu.link) for gpu in view.machine.gpus.gpus]
    cards += [(nic.name, nic.pci, nic.link) for nic in fast(view)]
    if not cards:
        yield NotApplicable(f"there is no GPU, and {NO_NIC}")
    elif view.machine.cpus.virtual:
        yield NotApplicable(_VIRTUAL)
        return
    elif all(link.width is None for _, _, link in cards):
        yield not_seen("the kernel does not know the width of any link")
    for name, address, link in cards:
        if is_narrow(link):
            yield Observed(
                f"The PCI Express link of {name} has {plural(link.width or 0, 'lane')}, and card "
                f"and slot have {link.possible_width}",
                _width(address, link),
            )


@check(
    "gpu-link-slow",
    "advice",
    about="hardware",
    title="the PCI Express link of a busy GPU is slower than it could be",
    looks_at="speeds of the PCI Express links of GPUs that are not idle",
    fix="Look again while a program copies (`nvidia-smi -q -d PERFORMANCE`): idle GPUs lower the "
    "speed. If it stays, ask the administrator to look at the slot's setting in the BIOS.",
)
def gpu_link_slow(view: DoctorView) -> Seen:
    gpus, none = known(view, "is_idle")
    yield from none
    busy = [gpu for gpu in gpus if not gpu.is_idle]
    if gpus and view.machine.cpus.virtual:
        yield NotApplicable(_VIRTUAL)
        return
    if gpus and not busy:
        yield NotApplicable("idle GPUs lower the speed of their links")
    for gpu in busy:
        if is_slow(gpu.link):
            yield _slow(str(gpu), gpu.pci, gpu.link)


@check(
    "nic-link-slow",
    "problem",
    about="hardware",
    title="the PCI Express link of a network adapter is slower than card and slot are",
    looks_at="speeds of the PCI Express links of network adapters",
    fix="Ask the administrator to look at the slot's speed in the BIOS, and to seat the card anew.",
)
def nic_link_slow(view: DoctorView) -> Seen:
    nics = fast(view)
    if not nics:
        yield NotApplicable(NO_NIC)
    elif view.machine.cpus.virtual:
        yield NotApplicable(_VIRTUAL)
        return
    elif all(nic.link.GTps is None for nic in nics):
        yield not_seen("the kernel does not know the speed of any link")
    for nic in nics:
        if is_slow(nic.link):
            yield _slow(nic.name, nic.pci, nic.link)


def _slow(name: str, address: str | None, link: PciLink) -> Observation:
    return Observed(
        f"The PCI Express link of {name} runs at {link.GTps:g} GT/s, and card and slot can do "
        f"{link.possible_GTps:g}",
        Quote(f"/sys/bus/pci/devices/{address}/current_link_speed", f"{link.GTps:g} GT/s"),
    )
