"""A machine as a drawing: nodes, and in them ranks above their GPUs; links with measured rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from commlens.base.text import format_bytes, plural
from commlens.model import Place
from commlens.model.start import Device
from commlens.render.report.machine import Machine

_MOST_NODES = 4
_MOST_CELLS = 8  # of a node
_MOST_RANKS = 3  # of a cell
_PER_ROW = 4
_LETTERS = 22  # of a line
_CELL_WIDTH, _GAP, _PAD = 142, 12, 12
_HEAD, _RANK_HEIGHT, _GPU_HEIGHT, _LINK_HEIGHT = 30, 34, 50, 40  # pixels
_STEM = 14  # from a rank to its GPU


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    kind: str  # node, rank, gpu, network
    lines: Sequence[str] = ()


class Wire(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float


class Label(NamedTuple):
    x: float
    y: float
    text: str


@dataclass
class Drawing:
    title: str
    width: float = 0
    height: float = 0
    boxes: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)


@dataclass
class _Cell:
    """A GPU and the ranks that use it, or a rank without one."""

    ranks: list[Place]
    device: Device | None = None

    @property
    def rows(self) -> int:
        return min(len(self.ranks), _MOST_RANKS)


def topology(machine: Machine) -> Drawing:
    """Of the start that shows most of the machine: the first nodes, with their first ranks."""
    nodes: dict[str, list[Place]] = {}
    for place in machine.widest.placement:
        nodes.setdefault(place.host, []).append(place)
    drawing = Drawing(f"Topology of {machine.title}")
    top = 1.0
    for host, places in islice(nodes.items(), _MOST_NODES):
        top = _draw_node(drawing, host, places, top, machine.links) + _GAP
    if len(nodes) > 1:
        top = _draw_network(drawing, top, machine.network)
    if len(nodes) > _MOST_NODES:
        more = plural(len(nodes) - _MOST_NODES, "more node")
        drawing.labels.append(Label(1, top + 10, f"and {more}"))
        top += 18
    drawing.width = max(box.x + box.width for box in drawing.boxes) + 1
    drawing.height = top
    return drawing


def _cells(places: Sequence[Place]) -> list[_Cell]:
    """A cell for each GPU, or for each rank where there are none."""
    found: dict[str, _Cell] = {}
    for place in places:
        name = place.device.uuid if place.device else f"rank {place.rank}"
        found.setdefault(name, _Cell([], place.device)).ranks.append(place)
    return list(found.values())


def _draw_node(
    drawing: Drawing, host: str, places: Sequence[Place], top: float, links: dict[str, str]
) -> float:
    """Returns where it ends."""
    cells = _cells(places)
    shown = cells[:_MOST_CELLS]
    across = min(_PER_ROW, len(shown))
    width = 2 * _PAD + across * (_CELL_WIDTH + _GAP) - _GAP
    y = top + _HEAD
    for start in range(0, len(shown), _PER_ROW):
        y = _draw_row(drawing, shown[start : start + _PER_ROW], y, links.get("copy to host", ""))
        is_last = start + _PER_ROW >= len(shown)
        if sum(cell.device is not None for cell in shown) > 1:
            text = links.get("peer copy", "") if is_last else ""
            y = _draw_links(drawing, len(shown[start : start + _PER_ROW]), y, text)
        y += _GAP
    if len(cells) > len(shown):
        what = "GPU" if shown[0].device else "rank"
        more = f"and {plural(len(cells) - len(shown), f'more {what}')}"
        drawing.labels.append(Label(_PAD + 1, y + 4, more))
        y += 18
    drawing.boxes.append(Box(1, top, max(width, 240), y - top, "node", [_cut(host, 30)]))
    return y


def _draw_row(drawing: Drawing, cells: Sequence[_Cell], top: float, rate: str) -> float:
    """Ranks above GPUs, which stand at one height. Returns where the row ends."""
    rows = max(cell.rows for cell in cells)
    has_gpus = any(cell.device for cell in cells)
    gpu_top = top + rows * (_RANK_HEIGHT + 4) + (_STEM if has_gpus else 0)
    for number, cell in enumerate(cells):
        x = 1 + _PAD + number * (_CELL_WIDTH + _GAP)
        y = top + (rows - cell.rows) * (_RANK_HEIGHT + 4)
        for lines in _rank_lines(cell):
            box = Box(x, y, _CELL_WIDTH, _RANK_HEIGHT, "rank", lines)
            drawing.boxes.append(box)
            y += _RANK_HEIGHT + 4
        if cell.device:
            middle = x + 22
            drawing.wires.append(Wire(middle, y - 4, middle, gpu_top))
            if rate and number == 0:
                drawing.labels.append(Label(middle + 6, gpu_top - 4, rate))
            box = Box(x, gpu_top, _CELL_WIDTH, _GPU_HEIGHT, "gpu", _gpu_lines(cell.device))
            drawing.boxes.append(box)
    return gpu_top + (_GPU_HEIGHT if has_gpus else 0)


def _rank_lines(cell: _Cell) -> Iterator[list[str]]:
    for number, place in enumerate(cell.ranks[:_MOST_RANKS], start=1):
        numa = f"NUMA {place.numa_nodes}" if place.numa_nodes else ""
        cores = f"cores {place.cores}" if place.cores else ""
        first = f"rank {place.rank}"
        if number == _MOST_RANKS and len(cell.ranks) > _MOST_RANKS:
            first += f" and {len(cell.ranks) - _MOST_RANKS:,} more"
        yield [_cut(first), _cut(", ".join(filter(None, (cores, numa))), 26)]


def _gpu_lines(device: Device) -> list[str]:
    numa = f", NUMA {device.numa_node}" if device.numa_node >= 0 else ""
    memory = format_bytes(float(f"{device.memory_bytes / 2**30:.0f}") * 2**30)
    return [_cut(device.name), f"GPU {device.ordinal}, {memory}{numa}", _cut(device.pci)]


def _draw_links(drawing: Drawing, count: int, top: float, text: str) -> float:
    """A line that joins the GPUs of a row from below. Returns where it ends."""
    middles = [
        1 + _PAD + number * (_CELL_WIDTH + _GAP) + _CELL_WIDTH / 2 for number in range(count)
    ]
    line = top + 12
    drawing.wires += [Wire(middle, top, middle, line) for middle in middles]
    drawing.wires.append(Wire(middles[0], line, middles[-1], line))
    if not text:
        return line
    drawing.labels.append(Label(middles[0] + 6, line + 15, text))
    return top + _LINK_HEIGHT - 10


def _draw_network(drawing: Drawing, top: float, text: str) -> float:
    width = max(box.x + box.width for box in drawing.boxes) - 1
    lines = ["network", _cut(text, 60)] if text else ["network"]
    nodes = [box for box in drawing.boxes if box.kind == "node"]
    drawing.boxes.append(Box(1, top, width, 16 + 14 * len(lines), "network", lines))
    drawing.wires += [Wire(width / 2, box.y + box.height, width / 2, box.y + box.height + _GAP)
                      for box in nodes]  # fmt: skip
    return top + 16 + 14 * len(lines) + _GAP


def _cut(text: str, characters: int = _LETTERS) -> str:
    return text if len(text) <= characters else text[: characters - 1] + "…"
