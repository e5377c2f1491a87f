"""GPUs, network adapters, processors, and their links and drivers."""

from __future__ import annotations

from commlens.base.text import format_number, plural
from commlens.findings.checks.conditions import gpu_quote, known_gpus, such_gpus
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.rules.placement import is_lowered
from commlens.findings.view import NotApplicable, not_seen
from commlens.machine.gpus import Gpu
from commlens.machine.libraries import numbers_in
from commlens.machine.machine import Machine
from commlens.machine.nics import NetworkAdapter
from commlens.machine.pci import PciLink
from commlens.model.interference import USED_GPU, why_disturbed

_FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq"
_PEERMEM_SINCE = (11, 4)  # CUDA: before it, Mellanox's nv_peer_memory
_PEERMEM = ("nvidia_peermem", "nv_peer_mem")
_MOST_LINES = 4
_PEERS = "nvidia-smi topo -p2p r"
_INFINIBAND = "InfiniBand"
_ENCODING = 128 / 130  # of PCI Express from generation 3 on
_FIRST_ENCODED = 8.0  # GT/s of generation 3
_FAR = "SYS"


def gpu_throttled(machine: Machine, **trouble: str) -> Seen:
    """`trouble`: what lowers clocks because something is wrong with the machine. A power cap in
    software is the power limit at work, and an idle GPU lowers its clock by itself."""
    for gpu in known_gpus(machine, "clock_limits"):
        limits = [limit for limit in gpu.clock_limits or () if limit in trouble]
        if limits:
            quotes = (gpu_quote(machine, gpu, f"{limit}: Active") for limit in limits)
            clock = f" of {gpu.clock_MHz:.0f} MHz" if gpu.clock_MHz else ""
            yield observed(*quotes, clock=clock, gpu=gpu, why=trouble[limits[-1]])


def cores_busy(machine: Machine) -> Seen:
    load = machine.cpus.load
    if load is None:
        raise not_seen("/proc/stat")
    if why := why_disturbed(load):
        yield observed(Quote("/proc/stat", why), why=why)


def gpu_busy(machine: Machine) -> Seen:
    for gpu in known_gpus(machine, "utilization_percent"):
        if (gpu.utilization_percent or 0) >= 100 * USED_GPU:
            used = f"{gpu.utilization_percent:.0f}%"
            quote = gpu_quote(machine, gpu, f"utilization: {used}")
            yield observed(
                quote, gpu=gpu, used=used, programs=", ".join(gpu.programs) or "somebody"
            )


def gpu_power_limit_lowered(machine: Machine) -> Seen:
    gpus = known_gpus(machine, "power_limit_W", "default_power_limit_W")
    bad = [gpu for gpu in gpus if is_lowered(gpu)]
    if bad:
        quotes = (
            gpu_quote(machine, gpu, f"{gpu.power_limit_W:.0f} of {gpu.default_power_limit_W:.0f} W")
            for gpu in bad
        )
        now, usual = bad[0].power_limit_W, bad[0].default_power_limit_W
        yield observed(*quotes, such=such_gpus(gpus, bad), now=now, usual=usual)


def cpu_powersave(machine: Machine) -> Seen:
    cpus = machine.cpus
    # These drivers choose the frequency themselves, and say powersave for all but the fastest.
    adaptive = cpus.frequency_driver in ("intel_pstate", "amd-pstate-epp")
    if cpus.governor is None:
        raise not_seen(cpus.unseen.get("frequency governor", "the frequency governor"))
    if cpus.governor == "powersave" and not adaptive:
        yield observed(Quote(f"{_FREQUENCY}/scaling_governor", "powersave"))
    elif adaptive and cpus.energy_preference == "power":
        quote = Quote(f"{_FREQUENCY}/energy_performance_preference", "power")
        yield observed(quote, which="by preference")


def gpu_driver_silent(machine: Machine) -> Seen:
    gpus = machine.gpus
    why = next(iter(gpus.unseen.values()), "")
    if not gpus.gpus and why.endswith("not installed"):
        raise not_seen(why)
    if not gpus.gpus:
        command, _, said = why.partition(": ")
        yield observed(Quote(command, said))


def nvidia_peermem_missing(machine: Machine) -> Seen:
    if not any(machine.kernel.has(name) for name in _PEERMEM) and not machine.kernel.dmabuf:
        cuda = numbers_in(machine.gpus.cuda)[:2]
        yield observed(which="old" if cuda and cuda < _PEERMEM_SINCE else "")


def nv_peer_memory_deprecated(machine: Machine) -> Seen:
    if machine.kernel.has("nv_peer_mem") and numbers_in(machine.gpus.cuda)[:2] >= _PEERMEM_SINCE:
        yield observed()


def driver_older_than_cuda(machine: Machine) -> Seen:
    gpus = machine.gpus
    driver, toolkit = numbers_in(gpus.cuda), numbers_in(gpus.toolkit)
    if not driver:
        raise NotApplicable(gpus.why_none if not gpus.gpus else "it is no driver of NVIDIA")
    if not toolkit:
        raise NotApplicable("no nvcc is on PATH")
    # Within a major version a newer toolkit's programs run on an older driver.
    if toolkit[0] > driver[0]:
        yield observed()


def peer_access(machine: Machine, **reasons: str) -> Seen:
    """`reasons`: why a pair has none, by what nvidia-smi prints of it."""
    links = machine.links
    if len(machine.gpus.installed) < 2 and not links.pairs:
        raise NotApplicable("there are no two GPUs")
    if not any(pair.peer_access for pair in links.pairs):
        why = links.unseen.get("peer access") or links.unseen.get("links of NVIDIA GPUs")
        raise not_seen(why or "the driver does not report which GPUs have peer access")
    for cell, why in reasons.items():
        pairs = [pair for pair in links.pairs if pair.peer_access == cell]
        if pairs:
            count = len(links.pairs)
            more = f" ({len(pairs)} of {plural(count, 'pair')} so)" if count > 1 else ""
            lines = [f"GPU{pair.first} GPU{pair.second} {cell}" for pair in pairs[:_MOST_LINES]]
            quotes = (Quote(_PEERS, line) for line in lines)
            yield observed(*quotes, pair=pairs[0], why=why, more=more)


def nvlink_inactive(machine: Machine) -> Seen:
    links, gpus = machine.links, machine.gpus.gpus
    if "NVLinks" in links.unseen:
        raise not_seen(links.unseen["NVLinks"])
    if not links.nvlinks:
        raise NotApplicable("these GPUs have no NVLink")
    names = {gpu.index: gpu.name for gpu in gpus}
    # A switch has a port for each of a GPU's links; bridges and boards may leave some unused.
    switched = {gpu.index for gpu in gpus if gpu.fabric == "Completed"}
    for nvlinks in links.nvlinks:
        alike = [other for other in links.nvlinks if names.get(other.gpu) == names.get(nvlinks.gpu)]
        most = max(other.active for other in alike)
        if nvlinks.inactive and (nvlinks.active < most or nvlinks.gpu in switched):
            numbers = [str(link) for link in nvlinks.inactive[:8]]
            yield observed(
                gpu=nvlinks.gpu,
                inactive=nvlinks.inactive,
                count=nvlinks.active + len(nvlinks.inactive),
                numbers=numbers,
            )


def acs_redirects(machine: Machine) -> Seen:
    ports = machine.links.redirecting
    if machine.cpus.virtual:
        raise NotApplicable("in a virtual machine its host decides")
    if ports is None:
        raise not_seen(machine.links.unseen.get("ACS", "lspci"))
    if ports:
        lines = [(f"lspci -vvv -s {port.address}", port.control) for port in ports[:_MOST_LINES]]
        yield observed(*(Quote(*line) for line in lines), ports=ports, address=ports[0].address)


def iommu_translates(machine: Machine) -> Seen:
    domains = machine.links.iommu.items()
    bad = [(address, kind) for address, kind in domains if kind.startswith("DMA")]
    if bad:
        quotes = (Quote(f"/sys/bus/pci/devices/{address}/iommu_group/type", kind)
                  for address, kind in bad[:_MOST_LINES])  # fmt: skip
        yield observed(*quotes, bad=bad)


def _quote(nic: NetworkAdapter, line: str) -> Quote:
    path = f"infiniband/{nic.name.replace(':', '/ports/')}" if nic.rdma else f"net/{nic.name}"
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
        up = [peer.name for peer in nics if peer.model == nic.model and peer.is_up]
        if not nic.is_up and up:
            yield observed(
                _quote(nic, f"state: {nic.state}"),
                nic=nic,
                state=nic.state or "unknown",
                up=up,
                have="has" if len(up) == 1 else "have",
                others=",".join(up),
                hcas=",".join(dict.fromkeys(name.partition(":")[0] for name in up)),
            )


def nic_slow(machine: Machine) -> Seen:
    nics = [(nic, nic.rate_Gbps) for nic in machine.nics.fast if nic.is_up and nic.rate_Gbps]
    if not nics:
        raise NotApplicable("none has a link")
    for nic, rate in nics:
        best = max(other for peer, other in nics if peer.model == nic.model)
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
    up = [nic for nic in machine.nics.fast if nic.is_up]
    nics = [(nic, nic.rate_Gbps) for nic in up if nic.rate_Gbps and _rate(nic.link)]
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
    nics = [nic for nic in machine.nics.fast if nic.is_up and nic.distances]
    if not nics:
        raise not_seen("the kernel does not report where adapters and GPUs are")
    installed = machine.gpus.installed
    far = [gpu for gpu in installed if all(nic.distances.get(gpu) == _FAR for nic in nics)]
    if far:
        file = "/sys/bus/pci/devices/{}/numa_node"
        quotes = (Quote(file.format(nic.pci), f"{nic.numa_node}") for nic in nics)
        yield observed(*quotes, far=far, near=[gpu for gpu in installed if gpu not in far])


def is_narrow(link: PciLink) -> bool:
    return link.width is not None and link.width < (link.possible_width or 0)


def is_slow(link: PciLink) -> bool:
    return link.GTps is not None and link.GTps < (link.possible_GTps or 0)


def pci_link_narrow(machine: Machine) -> Seen:
    cards: list[Gpu | NetworkAdapter] = [*machine.gpus.gpus, *machine.nics.fast]
    if not cards:
        raise NotApplicable("there is no GPU, and no adapter for InfiniBand, RoCE or Slingshot")
    if all(card.link.width is None for card in cards):
        raise not_seen("the kernel does not know the width of any link")
    return (observed(card=card) for card in cards if is_narrow(card.link))


def gpu_link_slow(machine: Machine) -> Seen:
    busy = [gpu for gpu in known_gpus(machine, "is_idle") if not gpu.is_idle]
    if not busy:
        raise NotApplicable("idle GPUs lower the speed of their links")
    return (observed(card=gpu) for gpu in busy if is_slow(gpu.link))


def nic_link_slow(machine: Machine) -> Seen:
    nics = machine.nics.fast
    if all(nic.link.GTps is None for nic in nics):
        raise not_seen("the kernel does not know the speed of any link")
    return (observed(card=nic) for nic in nics if is_slow(nic.link))
