"""Where and with what the records were measured: one block for all launches that agree in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commlens.base.text import plural
from commlens.model import Place, Record, Start
from commlens.model.start import Nic
from commlens.render.table import Lines

_MOST_RANKS = 16  # of a start whose placement is printed rank by rank
_VERSIONS_LEFT_OUT = ("mpi", "mpi_standard", "mpi_thread_level", "compiler")  # or have a place
_USUAL_THREAD_LEVEL = "MPI_THREAD_SINGLE"


def machines(records: Iterable[Record]) -> list[Lines]:
    """One block for launches with the same placement, versions, warnings, settings and notes."""
    launches: dict[str, Start] = {}
    libraries: dict[str, dict[str, str]] = {}
    for record in records:
        launches.setdefault(record.start.start, record.start)
        if record.libraries:
            libraries.setdefault(record.start.start, {}).update(record.libraries)
    blocks: dict[str, list[Start]] = {}
    for name, start in launches.items():
        places = (start.placement, start.nodes, start.backend)
        rest = (start.warnings, start.notes, start.versions, start.settings_of_transport)
        blocks.setdefault(repr((places, rest, libraries.get(name))), []).append(start)
    return [_block(block, libraries.get(block[0].start, {})) for block in blocks.values()]


def _block(launches: Sequence[Start], libraries: dict[str, str]) -> Lines:
    start = launches[0]
    many = f"  ({plural(len(launches), 'launch')})" if len(launches) > 1 else ""
    lines = [[(" · ".join(_title(start, libraries)), "bold"), (many, "dim")]]
    lines += [
        [(_rank(place, with_nics=start.nodes > 1), "dim")]
        for place in start.placement[:_MOST_RANKS]
    ]
    if len(start.placement) > _MOST_RANKS:
        lines.append([(_summary(start.placement), "dim")])
    lines += [[(f"warning: {warning}", "yellow")] for warning in start.warnings]
    lines += [[(f"note: {note}", "cyan")] for note in start.notes]
    settings = start.settings_of_transport.items()
    lines += [[(f"{name}={value}", "dim")] for name, value in settings]
    return Lines([*lines, []])


def _title(start: Start, libraries: dict[str, str]) -> list[str]:
    """`node01 · NVIDIA H200 · 2 ranks · Open MPI 5.0.7 · backend cuda · commlens 0.1.0`"""
    nodes = "" if start.nodes == 1 else f"{start.nodes} nodes from "
    versions = {**start.versions, **libraries}
    parts = [nodes + start.host, start.gpu or "", plural(start.ranks, "rank"), start.mpi]
    thread_level = start.versions.get("mpi_thread_level", "")
    parts.append("" if thread_level == _USUAL_THREAD_LEVEL else thread_level)
    parts.append(f"backend {start.backend}")
    parts += [f"{name} {text}" for name, text in versions.items() if name not in _VERSIONS_LEFT_OUT]
    return list(filter(None, parts))


def _rank(place: Place, with_nics: bool) -> str:
    line = f"rank {place.rank}  {place.host}  cores {place.cores}  NUMA {place.numa_nodes}"
    if place.device is not None:
        device = place.device
        line += f"  GPU {device.ordinal} {device.name} at {device.pci}"
        line += f", NUMA {device.numa_node}" if device.numa_node >= 0 else ""
    return line + "".join(f"  {_nic(nic)}" for nic in place.nics if with_nics)


def _nic(nic: Nic) -> str:
    """`NIC mlx5_0 200 Gbit/s InfiniBand, same PCIe switch`"""
    rate = f"{nic.rate_Gbps:g} Gbit/s" if nic.rate_Gbps else ""
    words = " ".join(filter(None, ["NIC", nic.name, rate, nic.link_layer]))
    return f"{words}, {nic.distance}" if nic.distance else words


def _summary(placement: Sequence[Place]) -> str:
    """`... and 48 more ranks; in all on 16 hosts, node01 ... node16, with 64 GPUs: NVIDIA H200`"""
    hosts = list(dict.fromkeys(place.host for place in placement))
    on = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts, {hosts[0]} ... {hosts[-1]}"
    devices = {(place.host, place.device.uuid): place.device for place in placement if place.device}
    names = ", ".join(dict.fromkeys(device.name for device in devices.values()))
    with_gpus = f", with {plural(len(devices), 'GPU')}: {names}" if devices else ""
    more = plural(len(placement) - _MOST_RANKS, "more rank")
    return f"... and {more}; in all on {on}{with_gpus}"
