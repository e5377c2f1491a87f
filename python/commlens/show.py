"""Records as tables on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from commlens.records import Case, Record, cases
from commlens.text import figure_label, format_bytes, format_number, memory_name, plural

_MOST_RANKS = 16  # of a run whose placement is printed
_VERSIONS_LEFT_OUT = ("mpi", "mpi_standard", "compiler")


def show(records: Sequence[Record], console: Console) -> None:
    """Prints each run's machine and placement once, then a table a case."""
    for machine in _machines(records):
        console.print(machine)
    for case in cases(records):
        console.print(_case_table(case))
        console.print()


def _machines(records: Sequence[Record]) -> list[RenderableType]:
    """One block for all runs with the same placement, versions, warnings and settings."""
    blocks: dict[str, Record] = {}
    runs: dict[str, set[str]] = {}
    for record in records:
        key = repr((record.placement, record.warnings, record.versions, record.settings))
        blocks.setdefault(key, record)
        runs.setdefault(key, set()).add(record.run)
    return [_machine(record, len(runs[key])) for key, record in blocks.items()]


def _machine(record: Record, runs: int) -> RenderableType:
    parts = [record.host if record.nodes == 1 else f"{record.nodes} nodes from {record.host}"]
    parts += [record.gpu] if record.gpu else []
    parts += [plural(record.ranks, "rank"), record.mpi]
    parts += [f"{name} {value}" for name, value in record.versions.items() if name not in _VERSIONS_LEFT_OUT]
    title = Text(" · ".join(parts), style="bold")
    if runs > 1:
        title.append(f"  ({runs} runs)", style="dim")
    lines: list[Text] = [title]
    for rank in record.placement[:_MOST_RANKS]:
        line = f"rank {rank['rank']}  {rank['host']}  cores {rank['cores']}  NUMA {rank['numa_nodes']}"
        if "device" in rank:
            device = rank["device"]
            line += f"  GPU {device['ordinal']} {device['name']} at {device['pci']}"
            line += f", NUMA {device['numa_node']}" if device["numa_node"] >= 0 else ""
        lines.append(Text(line, style="dim"))
    if len(record.placement) > _MOST_RANKS:
        lines.append(Text(f"... and {len(record.placement) - _MOST_RANKS} more ranks", style="dim"))
    lines += [Text(f"warning: {warning}", style="yellow") for warning in record.warnings]
    lines += [Text(f"{name}={value}", style="dim") for name, value in record.settings.items()]
    return Group(*lines, Text())


def case_title(case: Case) -> str:
    """`dtype f64 · in-place true · 2 ranks · timing batch`"""
    parameters = [f"{name.replace('_', '-')} {_parameter(value)}" for name, value in case.parameters.items()]
    return " · ".join([*parameters, plural(case.ranks, "rank"), f"timing {case.timing}"])


def _parameter(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _case_table(case: Case) -> RenderableType:
    measured = [record for record in case.records if record.statistics]
    figures = [name for name, _ in measured[0].figures] if measured else []
    title = Text(case.benchmark, style="bold cyan").append(f"  {case_title(case)}", style="dim")
    notes = _notes(case)
    if not figures:
        return Group(title, *notes)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    has_variants = bool(case.variants)
    for name in ["size", "transport", "memory"]:
        table.add_column(name, justify="right" if name == "size" else "left", no_wrap=True)
    if has_variants:
        table.add_column("run")
    table.add_column(figure_label(figures[0]), justify="right")
    table.add_column("95% CI", justify="right")
    for name in figures[1:]:
        table.add_column(figure_label(name), justify="right")
    for name in ["of ceiling", "to best", "validation"]:
        table.add_column(name, justify="left" if name == "validation" else "right")
    for index, record in enumerate(measured):
        repeats_size = index > 0 and measured[index - 1].size == record.size
        table.add_row(Text("" if repeats_size else _size(record)), *_row(case, record, figures))
    return Group(title, Text(), Padding(table, (0, 0, 0, 2)), *notes)


def _size(record: Record) -> str:
    return "-" if record.size is None else format_bytes(record.size)


def _row(case: Case, record: Record, figures: Sequence[str]) -> list[Text]:
    own = record.statistics.get(figures[0])
    cells = [Text(record.transport), Text(memory_name(record.memory))]
    if case.variants:
        cells.append(Text(case.variants[record.run]))
    cells.append(Text(format_number(own.median) if own else "-"))
    if own is None or own.ci_low is None or own.ci_high is None:
        cells.append(Text("too few samples", style="dim"))
    else:
        cells.append(Text(f"{format_number(own.ci_low)} to {format_number(own.ci_high)}", style="dim"))
    for name in figures[1:]:
        statistic = record.statistics.get(name)
        cells.append(Text(format_number(statistic.median) if statistic else "-"))
    cells.append(Text(_percent(record.ceiling.fraction) if record.ceiling else "-"))
    cells.append(_ratio(case.best(record)))
    cells.append(_validation(record))
    return cells


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f}%" if fraction >= 0.1 else f"{100 * fraction:.2g}%"


def _ratio(ratio: float | None) -> Text:
    if ratio is None:
        return Text("-", style="dim")
    if ratio == 1:
        return Text("best", style="green")
    return Text(f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x", style="red" if ratio >= 10 else "")


def _validation(record: Record) -> Text:
    if record.status == "failed":
        return Text("FAILED", style="bold red")
    status = str(record.validation["status"])
    return Text(status, style={"passed": "green", "off": "yellow"}.get(status, "red"))


def _notes(case: Case) -> list[Text]:
    """A line for each reason why something failed or was skipped, with the sizes that it struck."""
    struck: dict[tuple[str, str, str, str], list[int]] = {}
    for record in case.records:
        if record.status != "ok":
            sizes = struck.setdefault((record.status, record.transport, record.memory, _reason(record)), [])
            sizes += [] if record.size is None else [record.size]
    notes = []
    for (status, transport, memory, reason), sizes in struck.items():
        where = f"{transport}, {memory_name(memory)}"
        if sizes and case.is_sweep:
            ends = [format_bytes(size) for size in (min(sizes), max(sizes))]
            where += f", {ends[0]}" if ends[0] == ends[1] else f", {ends[0]} to {ends[1]}"
        style = "red" if status == "failed" else "yellow"
        notes.append(Text(f"  {status}: ", style=style).append(f"{where}: {reason}", style="default"))
    return notes


def _reason(record: Record) -> str:
    message = str(record.validation["message"])
    if message and message not in record.reason:
        return f"{record.reason}; {message}" if record.reason else message
    return record.reason
