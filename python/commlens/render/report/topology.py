"""The topology of a machine: nodes, and in them ranks above their GPUs; links with their rates.

The page's style lays it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from commlens.base.text import format_bytes, plural
from commlens.model import Place
from commlens.model.start import Device
from commlens.render.report.machine import HostGroup

_MOST_NODES = 4
_MOST_CELLS = 8  # of a node
_MOST_RANKS = 3  # of a cell


class TopologyCell(NamedTuple):
    """A GPU and the ranks that use it, or a rank without one: the lines of each box."""

    ranks: Sequence[Sequence[str]]
    gpu: Sequence[str]


class Node(NamedTuple):
    """A host with its first cells."""

    host: str
    cells: Sequence[TopologyCell]
    more: str  # `and 4 more GPUs`
    has_links: bool  # between GPUs


class Topology(NamedTuple):
    """The first nodes of a machine; empty texts where nothing is known."""

    nodes: Sequence[Node]
    more: str
    network: Sequence[str] = ()  # lines; none on one node


def topology(machine: HostGroup) -> Topology:
    """Returns the topology of the launch that shows most of the machine."""
    hosts: dict[str, list[Place]] = {}
    for place in machine.widest.placement:
        hosts.setdefault(place.host, []).append(place)
    more = len(hosts) - _MOST_NODES
    return Topology(
        nodes=[_node(host, places) for host, places in islice(hosts.items(), _MOST_NODES)],
        more=f"and {plural(more, 'more node')}" if more > 0 else "",
        network=[line for line in ("network", machine.network) if line] if len(hosts) > 1 else [],
    )


def _node(host: str, places: Sequence[Place]) -> Node:
    """With a cell for each GPU, or for each rank where there are none."""
    found: dict[str, list[Place]] = {}
    for place in places:
        name = place.device.uuid if place.device else f"rank {place.rank}"
        found.setdefault(name, []).append(place)
    kind = "GPU" if places[0].device else "rank"
    more = len(found) - _MOST_CELLS
    cells = [
        TopologyCell(_rank_lines(ranks), _gpu_lines(ranks[0].device))
        for ranks in islice(found.values(), _MOST_CELLS)
    ]
    has_links = sum(bool(cell.gpu) for cell in cells) > 1
    return Node(host, cells, f"and {plural(more, f'more {kind}')}" if more > 0 else "", has_links)


def _rank_lines(ranks: Sequence[Place]) -> list[list[str]]:
    lines = []
    for place in ranks[:_MOST_RANKS]:
        numa = f"NUMA {place.numa_nodes}" if place.numa_nodes else ""
        cores = f"cores {place.cores}" if place.cores else ""
        lines.append([f"rank {place.rank}", ", ".join(filter(None, (cores, numa)))])
    more = len(ranks) - _MOST_RANKS
    return [*lines, [f"and {more:,} more"]] if more > 0 else lines


def _gpu_lines(device: Device | None) -> list[str]:
    if device is None:
        return []
    numa = f", NUMA {device.numa_node}" if device.numa_node >= 0 else ""
    memory = format_bytes(float(f"{device.memory_bytes / 2**30:.0f}") * 2**30)
    return [device.name, f"GPU {device.ordinal}, {memory}{numa}", device.pci]
