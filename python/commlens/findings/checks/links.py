"""Links between GPUs."""

from __future__ import annotations

from commlens.base.text import plural
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable, not_seen
from commlens.machine.machine import Machine

_MOST_LINES = 4
_PEERS = "nvidia-smi topo -p2p r"


def peer_access(machine: Machine, **reasons: str) -> Seen:
    """`reasons`: why a pair has none, by what nvidia-smi prints of it."""
    own = machine.links
    if len(machine.gpus.installed) < 2 and not own.pairs:
        raise NotApplicable("there are no two GPUs")
    if not any(one.peer_access for one in own.pairs):
        why = own.unseen.get("peer access") or own.unseen.get("links of NVIDIA GPUs")
        raise not_seen(why or "the driver does not report which GPUs have peer access")
    for cell, why in reasons.items():
        pairs = [one for one in own.pairs if one.peer_access == cell]
        if pairs:
            count = len(own.pairs)
            more = f" ({len(pairs)} of {plural(count, 'pair')} so)" if count > 1 else ""
            lines = [f"GPU{one.first} GPU{one.second} {cell}" for one in pairs[:_MOST_LINES]]
            quotes = (Quote(_PEERS, line) for line in lines)
            yield observed(*quotes, pair=pairs[0], why=why, more=more)


def nvlink_inactive(machine: Machine) -> Seen:
    own, gpus = machine.links, machine.gpus.gpus
    if "NVLinks" in own.unseen:
        raise not_seen(own.unseen["NVLinks"])
    if not own.nvlinks:
        raise NotApplicable("these GPUs have no NVLink")
    names = {gpu.index: gpu.name for gpu in gpus}
    # A switch has a port for each of a GPU's links; bridges and boards may leave some unused.
    switched = {gpu.index for gpu in gpus if gpu.fabric == "Completed"}
    for one in own.nvlinks:
        alike = [other for other in own.nvlinks if names.get(other.gpu) == names.get(one.gpu)]
        most = max(other.active for other in alike)
        if one.inactive and (one.active < most or one.gpu in switched):
            numbers = [str(link) for link in one.inactive[:8]]
            yield observed(
                gpu=one.gpu,
                inactive=one.inactive,
                count=one.active + len(one.inactive),
                numbers=numbers,
            )


def acs_redirects(machine: Machine) -> Seen:
    ports = machine.links.redirecting
    if machine.cpus.virtual:
        raise NotApplicable("in a virtual machine its host decides")
    if ports is None:
        raise not_seen(machine.links.unseen.get("ACS", "lspci"))
    if ports:
        lines = [(f"lspci -vvv -s {one.address}", one.control) for one in ports[:_MOST_LINES]]
        yield observed(*(Quote(*line) for line in lines), ports=ports, address=ports[0].address)


def iommu_translates(machine: Machine) -> Seen:
    domains = machine.links.iommu.items()
    bad = [(address, kind) for address, kind in domains if kind.startswith("DMA")]
    if bad:
        quotes = (Quote(f"/sys/bus/pci/devices/{address}/iommu_group/type", kind)
                  for address, kind in bad[:_MOST_LINES])  # fmt: skip
        yield observed(*quotes, bad=bad)
