"""Hardware: links between GPUs"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import plural
from commlens.findings.finding import Quote
from commlens.findings.rule import Observation, Seen, observed, rule
from commlens.findings.view import NotApplicable, View, not_seen
from commlens.machine.links import Pair

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


def _without_access(view: View, reasons: dict[str, str]) -> Iterator[Observation]:
    own = view.machine.links
    for cell, why in reasons.items():
        pairs = [one for one in own.pairs if one.peer_access == cell]
        if pairs:
            first, count = pairs[0], len(own.pairs)
            more = f" ({len(pairs)} of {plural(count, 'pair')} so)" if count > 1 else ""
            yield observed(
                f"GPUs {first.first} and {first.second} have no access to each other's memory: "
                f"{why}{more}; messages between them go through host memory",
                *(Quote(_PEERS, f"GPU{one.first} GPU{one.second} {cell}") for one in _few(pairs)),
            )


def _few(pairs: Sequence[Pair]) -> Sequence[Pair]:
    return pairs[:_MOST_LINES]


def _require_pairs(view: View) -> None:
    """Raises NotApplicable where nothing is known of peer access."""
    own, gpus = view.machine.links, view.machine.gpus
    if len(gpus.installed) < 2 and not own.pairs:
        raise NotApplicable("there are no two GPUs")
    if not any(one.peer_access for one in own.pairs):
        why = own.unseen.get("peer access") or own.unseen.get("links of NVIDIA GPUs")
        raise not_seen(why or "the driver does not report which GPUs have peer access")


@rule(
    "peer-access-denied",
    "warning",
    "GPUs have no access to each other's memory",
    needs="machine",
    when="peer access between GPUs, where they could have it",
    fix="Ask the administrator: NVLinks that are down, MIG, a missing fabric manager (nvidia-"
    "fabricmanager), a driver's setting, or, in a virtual machine, GPUs that were passed without "
    "their switch. `nvidia-smi topo -p2p r` shows it.",
)
def peer_access_denied(view: View) -> Seen:
    _require_pairs(view)
    yield from _without_access(view, _DENIED)


@rule(
    "peer-access-unsupported",
    "note",
    "this machine has no peer access between some GPUs",
    needs="machine",
    when="peer access between GPUs, where hardware decides",
    fix="Place ranks that exchange most on GPUs with peer access (`nvidia-smi topo -p2p r`). "
    "Where the chipset is named, GPUs below one PCI switch or socket may have it, and ACS and "
    "the IOMMU must be off.",
)
def peer_access_unsupported(view: View) -> Seen:
    _require_pairs(view)
    yield from _without_access(view, _UNSUPPORTED)


@rule(
    "nvlink-inactive",
    "warning",
    "NVLinks of a GPU are down",
    needs=("machine", "GPU of NVIDIA"),
    when="whether the NVLinks of GPUs are active",
    fix="Ask the administrator to look at `nvidia-smi nvlink -s` and `-e`, at bridges and "
    "switches, and at the fabric manager's log; a reset of the GPUs may train the links again.",
)
def nvlink_inactive(view: View) -> Seen:
    own, gpus = view.machine.links, view.machine.gpus
    if "NVLinks" in own.unseen:
        raise not_seen(own.unseen["NVLinks"])
    if not own.nvlinks:
        raise NotApplicable("these GPUs have no NVLink")
    names = {gpu.index: gpu.name for gpu in gpus.gpus}
    # A switch has a port for each of a GPU's links; bridges and boards may leave some unused.
    switched = {gpu.index for gpu in gpus.gpus if gpu.fabric == "Completed"}
    for one in own.nvlinks:
        alike = [other for other in own.nvlinks if names.get(other.gpu) == names.get(one.gpu)]
        most = max(other.active for other in alike)
        if one.inactive and (one.active < most or one.gpu in switched):
            numbers = ", ".join(map(str, one.inactive[:8]))
            yield observed(
                f"{len(one.inactive)} of {one.active + len(one.inactive)} NVLinks of GPU "
                f"{one.gpu} are inactive",
                Quote("nvidia-smi nvlink -s", f"GPU {one.gpu}: links {numbers}: <inactive>"),
            )


@rule(
    "acs-redirects",
    "warning",
    "PCI switches redirect what GPUs send to each other (ACS)",
    needs=("machine", "GPU on the bus"),
    when="access control (ACS) of the PCI switches above GPUs",
    fix="Ask the administrator to disable ACS in the BIOS, or for each switch port with `setpci "
    "-s {address} ECAP_ACS+6.w=0000` after every boot.",
)
def acs_redirects(view: View) -> Seen:
    own = view.machine.links
    if view.machine.cpus.virtual:
        raise NotApplicable("in a virtual machine its host decides")
    if own.redirecting is None:
        raise not_seen(own.unseen.get("ACS", "lspci"))
    if own.redirecting:
        first = own.redirecting[0]
        yield observed(
            f"{plural(len(own.redirecting), 'port')} of PCI switches above GPUs send what peers "
            "exchange to the root complex: GPUDirect between GPUs and to network adapters is slow, "
            "or hangs",
            *(
                Quote(f"lspci -vvv -s {one.address}", one.control)
                for one in own.redirecting[:_MOST_LINES]
            ),
            words={"address": first.address},
        )


@rule(
    "iommu-translates",
    "note",
    "an IOMMU translates the addresses that GPUs use",
    needs=("machine", "GPU on the bus"),
    when="the IOMMU's domains of GPUs",
    fix="Ask the administrator for the kernel's parameter iommu=pt, or for the IOMMU to be "
    "disabled in the BIOS.",
)
def iommu_translates(view: View) -> Seen:
    domains = view.machine.links.iommu
    bad = {address: kind for address, kind in domains.items() if kind.startswith("DMA")}
    if bad:
        yield observed(
            f"An IOMMU translates the addresses of {len(bad)} of "
            f"{plural(len(view.machine.gpus.installed), 'GPU')}: peer-to-peer over PCI Express is "
            "slower, or not allowed",
            *(
                Quote(f"/sys/bus/pci/devices/{address}/iommu_group/type", kind)
                for address, kind in list(bad.items())[:_MOST_LINES]
            ),
        )
