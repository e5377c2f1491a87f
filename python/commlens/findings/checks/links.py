"""Hardware: links between GPUs"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import plural
from commlens.findings import Quote
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.checks.hardware import known, quote
from commlens.findings.machine_view import DoctorView
from commlens.findings.registry import Observation
from commlens.machine.links import NvLinks, Pair

_MOST_LINES = 4
_PEERS = "nvidia-smi topo -p2p r"
# What neither a setting nor a repair changes, as nvidia-smi prints it.
_UNSUPPORTED = {
    "CNS": "the chipset does not support it",
    "GNS": "the GPUs do not support it",
    "TNS": "the topology does not support it",
}
_DENIED = {
    "NS": "it is not supported as the machine is set up",
    "DR": "a setting of the driver disables it",
    "U": "the driver does not know why",
}


def _without_access(view: DoctorView, reasons: dict[str, str]) -> Iterator[Observation]:
    own = view.machine.links
    for cell, why in reasons.items():
        pairs = [one for one in own.pairs if one.peer_access == cell]
        if pairs:
            first, count = pairs[0], len(own.pairs)
            more = f" ({len(pairs)} of {plural(count, 'pair')} so)" if count > 1 else ""
            yield Observed(
                f"GPUs {first.first} and {first.second} have no access to each other's memory: "
                f"{why}{more}; messages between them go through host memory",
                *(Quote(_PEERS, f"GPU{one.first} GPU{one.second} {cell}") for one in _few(pairs)),
            )


def _few(pairs: Sequence[Pair]) -> Sequence[Pair]:
    return pairs[:_MOST_LINES]


def _no_pairs(view: DoctorView) -> Seen:
    """Why nothing is known of peer access, if it is not."""
    own, gpus = view.machine.links, view.machine.gpus
    if len(gpus.installed) < 2 and not own.pairs:
        yield NotApplicable("there are no two GPUs")
    elif not any(one.peer_access for one in own.pairs):
        why = own.unseen.get("peer access") or own.unseen.get("links of NVIDIA GPUs")
        yield not_seen(why or "the driver does not tell which GPUs have peer access")


@check(
    "peer-access-denied",
    "problem",
    about="hardware",
    title="GPUs have no access to each other's memory",
    looks_at="peer access between GPUs, where they could have it",
    fix="Ask the administrator: NVLinks that are down, MIG, a missing fabric manager (nvidia-"
    "fabricmanager), a driver's setting, or, in a virtual machine, GPUs that were passed without "
    "their switch. `nvidia-smi topo -p2p r` shows it.",
)
def peer_access_denied(view: DoctorView) -> Seen:
    yield from _no_pairs(view)
    yield from _without_access(view, _DENIED)


@check(
    "peer-access-unsupported",
    "advice",
    about="hardware",
    title="this machine has no peer access between some GPUs",
    looks_at="peer access between GPUs, where hardware decides",
    fix="Place ranks that exchange most on GPUs with peer access (`nvidia-smi topo -p2p r`). "
    "Where the chipset is named, GPUs below one PCI switch or socket may have it, and ACS and "
    "the IOMMU must be off.",
)
def peer_access_unsupported(view: DoctorView) -> Seen:
    yield from _no_pairs(view)
    yield from _without_access(view, _UNSUPPORTED)


@check(
    "nvlink-inactive",
    "problem",
    about="hardware",
    title="NVLinks of a GPU are down",
    looks_at="whether the NVLinks of GPUs are active",
    fix="Ask the administrator to look at `nvidia-smi nvlink -s` and `-e`, at bridges and "
    "switches, and at the fabric manager's log; a reset of the GPUs may train the links again.",
)
def nvlink_inactive(view: DoctorView) -> Seen:
    own, gpus = view.machine.links, view.machine.gpus
    if gpus.vendor != "nvidia":
        yield NotApplicable("there is no GPU of NVIDIA" if gpus.vendor else gpus.why_none)
    elif "NVLinks" in own.unseen:
        yield not_seen(own.unseen["NVLinks"])
    elif not own.nvlinks:
        yield NotApplicable("these GPUs have no NVLink")
    else:
        names = {gpu.index: gpu.name for gpu in gpus.gpus}
        # A switch has a port for each of a GPU's links; bridges and boards may leave some unused.
        switched = {gpu.index for gpu in gpus.gpus if gpu.fabric == "Completed"}
        for one in own.nvlinks:
            alike = [other for other in own.nvlinks if names.get(other.gpu) == names.get(one.gpu)]
            most = max(other.active for other in alike)
            if one.inactive and (one.active < most or one.gpu in switched):
                yield _of_links(one)


def _of_links(one: NvLinks) -> Observation:
    numbers = ", ".join(map(str, one.inactive[:8]))
    return Observed(
        f"{len(one.inactive)} of {one.active + len(one.inactive)} NVLinks of GPU {one.gpu} are "
        "inactive",
        Quote("nvidia-smi nvlink -s", f"GPU {one.gpu}: links {numbers}: <inactive>"),
    )


@check(
    "nvlink-fabric-not-ready",
    "problem",
    about="hardware",
    title="the NVLink fabric is not ready",
    looks_at="whether GPUs have joined the fabric of their NVSwitches",
    fix="Ask the administrator for a running fabric manager of the driver's version (`systemctl "
    "status nvidia-fabricmanager`): until then CUDA programs fail with error 802.",
)
def nvlink_fabric_not_ready(view: DoctorView) -> Seen:
    gpus, none = known(view)
    yield from none
    joined = [gpu for gpu in gpus if gpu.fabric is not None]
    if gpus and not joined:
        yield NotApplicable("there is no NVSwitch that GPUs must join")
    for gpu in joined:
        if gpu.fabric != "Completed":
            yield Observed(
                f"{gpu} has not joined the NVLink fabric: {gpu.fabric}",
                quote(view, gpu, f"fabric state: {gpu.fabric}"),
            )
        elif gpu.fabric_health == "Unhealthy":
            yield Observed(
                f"The NVLink fabric of {gpu} is unhealthy",
                quote(view, gpu, f"fabric health: {gpu.fabric_health}"),
            )


@check(
    "acs-redirects",
    "problem",
    about="hardware",
    title="PCI switches redirect what GPUs send to each other (ACS)",
    looks_at="access control (ACS) of the PCI switches above GPUs",
    fix="Ask the administrator to disable ACS in the BIOS, or for each switch port with `setpci "
    "-s {address} ECAP_ACS+6.w=0000` after every boot.",
)
def acs_redirects(view: DoctorView) -> Seen:
    own = view.machine.links
    if not view.machine.gpus.installed:
        yield NotApplicable("there is no GPU")
    elif view.machine.cpus.virtual:
        yield NotApplicable("in a virtual machine its host decides")
    elif own.redirecting is None:
        yield not_seen(own.unseen.get("ACS", "lspci"))
    elif own.redirecting:
        first = own.redirecting[0]
        yield Observed(
            f"{plural(len(own.redirecting), 'port')} of PCI switches above GPUs send what peers "
            "exchange to the root complex: GPUDirect between GPUs and to network adapters is slow, "
            "or hangs",
            *(
                Quote(f"lspci -vvv -s {one.address}", one.control)
                for one in own.redirecting[:_MOST_LINES]
            ),
            words={"address": first.address},
        )


@check(
    "iommu-translates",
    "advice",
    about="hardware",
    title="an IOMMU translates the addresses that GPUs use",
    looks_at="the IOMMU's domains of GPUs",
    fix="Ask the administrator for the kernel's parameter iommu=pt, or for the IOMMU to be "
    "disabled in the BIOS.",
)
def iommu_translates(view: DoctorView) -> Seen:
    domains = view.machine.links.iommu
    if not view.machine.gpus.installed:
        yield NotApplicable("there is no GPU")
    bad = {address: kind for address, kind in domains.items() if kind.startswith("DMA")}
    if bad:
        yield Observed(
            f"An IOMMU translates the addresses of {len(bad)} of "
            f"{plural(len(view.machine.gpus.installed), 'GPU')}: peer-to-peer over PCI Express is "
            "slower, or not allowed",
            *(
                Quote(f"/sys/bus/pci/devices/{address}/iommu_group/type", kind)
                for address, kind in list(bad.items())[:_MOST_LINES]
            ),
        )
