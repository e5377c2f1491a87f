"""What sets records of one benchmark apart; the lines of panels that show several groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from commlens.base.text import format_scientific, plural
from commlens.compare.references import PublishedValue, beside
from commlens.model import Record, option_text
from commlens.render.plots.content import Content
from commlens.render.plots.panel import Panel, line_entries
from commlens.render.plots.style import PANEL_INCHES, Series

Lines = Mapping[Series, Sequence[Record]]
NOTE_POINTS = 8
FRAME_INCHES = 1.1  # of a panel's height, for titles and ticks


def height_with_notes(count: int, note_inches: float) -> float:
    """The height of a panel with room for more than three notes, of so many inches each."""
    return PANEL_INCHES[1] + note_inches * max(0, count - 3)


def note_style(series: Series) -> dict[str, Any]:
    """How a note of a line looks, among lines."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    dark = tuple(0.8 * channel for channel in to_rgb(series.look[0]))
    return {"fontsize": NOTE_POINTS, "color": dark, "bbox": box, "zorder": 5}


def lines_panel(
    curves: Lines, title: str, draw: Callable[[Axes, float], None], details: str, **more: Any
) -> Panel:
    """A panel of the lines of a benchmark, which the legend names by what differs."""
    benchmark = next(iter(curves.values()))[0].benchmark
    return Panel(f"{benchmark}: {title}", draw, details, line_entries(curves), **more)


def lines(records: Sequence[Record], content: Content) -> Lines:
    """The records of one benchmark by line: they differ in size only."""
    described = [_description(record) for record in records]
    names = dict.fromkeys(name for description in described for name in description)
    differing = [
        name for name in names if len({description.get(name) for description in described}) > 1
    ]
    labels = [", ".join(text[name] for name in differing if text.get(name)) for text in described]
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    curves: dict[Series, list[Record]] = {}
    for record, label in zip(records, labels):
        series = content.series(record, None, label, numbers[label])
        curves.setdefault(series, []).append(record)
    return in_order(curves)


def in_order(curves: Mapping[Series, list[Any]]) -> dict[Series, list[Any]]:
    """By transport, memory and variant."""
    return {series: curves[series] for series in sorted(curves, key=lambda series: series.order)}


def by_benchmark(records: Sequence[Record], content: Content) -> list[Lines]:
    """The lines of each benchmark's records, in the order in which benchmarks are first met."""
    by_name: dict[str, list[Record]] = {}
    for record in records:
        by_name.setdefault(record.benchmark, []).append(record)
    return [lines(members, content) for members in by_name.values()]


def _description(record: Record) -> dict[str, str]:
    """What can distinguish a record, in the words of a legend: `trilinear`, `8 ranks`."""
    start = record.start
    words = {"ranks": plural(record.ranks, "rank"), "machine": start.gpu or start.host}
    for name, value in record.parameters.items():
        if start.parameters[name].role in ("setting", "variant"):
            title = start.parameters[name].title
            text = value if isinstance(value, str) else f"{title} {option_text(value)}"
            words[f"parameter {name}"] = text
    return words | {name: f"{name}={value}" for name, value in start.settings_of_transport.items()}


def published(records: Sequence[Record], metric: str) -> list[PublishedValue]:
    """Results beside these records, the lowest first, each once."""
    figures = {id(pair.published): pair.published for pair in beside(records, metric)}
    return sorted(figures.values(), key=lambda figure: figure.value)


def note_of(figure: PublishedValue) -> str:
    """Of a GPU or a machine: `H200 2.83e9`"""
    return f"{figure.hardware} {format_scientific(figure.value)}"
