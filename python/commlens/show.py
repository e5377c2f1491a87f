"""Records as tables on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from commlens import scaling
from commlens.records import OVERLAP_FIGURE, Case, Ceiling, Fact, Record, cases
from commlens.text import (
    figure_label,
    figure_unit,
    format_count,
    format_figure,
    format_number,
    format_percent,
    memory_name,
    plural,
    readable_figure,
)

_WIDTH_OF_A_FILE = 160  # characters, where the output is not a terminal
_MOST_RANKS = 16  # of a run whose placement is printed
_VERSIONS_LEFT_OUT = ("mpi", "mpi_standard", "compiler")


def console() -> Console:
    """The standard output, in which nothing but our own styles has a colour."""
    return Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_FILE, highlight=False)


def show(records: Sequence[Record], console: Console) -> None:
    """Prints each run's machine and placement once, a table a case, and one of what ran on several numbers of ranks."""
    for machine in _machines(records):
        console.print(machine)
    found = cases(records)
    for case in found:
        console.print(_case_table(case))
        console.print()
    for series in scaling.scalings(found):
        console.print(scaling.table(series))
        console.print()


def _machines(records: Sequence[Record]) -> list[RenderableType]:
    """One block for all runs with the same placement, versions, warnings, settings and notes."""
    notes = _notes_of_runs(records)
    blocks: dict[str, Record] = {}
    runs: dict[str, set[str]] = {}
    for record in records:
        key = repr((record.placement, record.warnings, record.versions, record.settings, notes[record.run]))
        blocks.setdefault(key, record)
        runs.setdefault(key, set()).add(record.run)
    return [_machine(record, len(runs[key]), notes[record.run]) for key, record in blocks.items()]


def _notes_of_runs(records: Sequence[Record]) -> dict[str, list[str]]:
    """What the records of each run note, each once."""
    notes: dict[str, list[str]] = {record.run: [] for record in records}
    for record in records:
        notes[record.run] += [note for note in record.notes if note not in notes[record.run]]
    return notes


def _machine(record: Record, runs: int, notes: Sequence[str]) -> RenderableType:
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
    lines += [Text(f"note: {note}", style="cyan") for note in notes]
    lines += [Text(f"{name}={value}", style="dim") for name, value in record.settings.items()]
    return Group(*lines, Text())


def case_title(case: Case) -> str:
    """`dtype f64 · in-place true · 2 ranks · timing batch`"""
    parameters = [f"{name} {value}" for name, value in case.settings.items()]
    return " · ".join([*parameters, plural(case.ranks, "rank"), f"timing {case.timing}"])


def _case_table(case: Case) -> RenderableType:
    measured = [record for record in case.records if record.statistics]
    figures = [name for name, _ in measured[0].figures] if measured else []
    title = Text(case.benchmark, style="bold cyan").append(f"  {case_title(case)}", style="dim")
    reasons = _reasons(case)
    common = _common_facts(case.records)
    facts = [Padding(Text(_facts_line(common), style="dim"), (0, 0, 0, 2))] if common else []
    if not figures:
        return Group(title, *facts, *reasons)
    alone = [record for record in measured if record.alone_s]
    within = [record for record in measured if record.has_parts_within]
    shown = [name for name in figures if not (alone and name == OVERLAP_FIGURE)] or figures
    tables: list[RenderableType] = [_figures_table(case, measured, shown)]
    if alone:
        tables.append(_overlap_table(case, alone))
    if within:
        tables.append(_shares_table(case, within))
    if any(len(record.ceilings) > 1 or any(ceiling.part for ceiling in record.ceilings) for record in measured):
        tables.append(_ceilings_table(case, [record for record in measured if record.ceilings]))
    if differing := _differing_facts(measured, common):
        tables.append(_facts_table(case, measured, differing))
    if any(record.calls for record in measured):
        tables.append(_calls_table(case, measured))
    tables += [Group(*lines)] if (lines := scaling.gain_lines(case)) else []
    tables += [Group(*lines)] if (lines := _used_lines(case)) else []
    indented = [part for table in tables for part in (Text(), Padding(table, (0, 0, 0, 2)))]
    return Group(title, *facts, *indented, *reasons)


def _figures_table(case: Case, measured: Sequence[Record], figures: Sequence[str]) -> Table:
    table = _table(case, [figure_label(figures[0]), "95% CI", *map(figure_label, figures[1:]), "of ceiling", "to best"])
    table.add_column("validation")
    candidates = [record.candidate.seconds for record in measured if record.candidate]
    figure, factor = readable_figure("time_s", max(candidates, default=0))
    if candidates:
        table.add_column(f"chosen by ({figure_unit(figure)})", no_wrap=True)
    for place, record in _places(case, measured):
        chosen = [_chosen(case, record, factor)] if candidates else []
        table.add_row(*place, *_row(case, record, figures), *chosen)
    return table


def _chosen(case: Case, record: Record, factor: float) -> Text:
    """The time by which an application chooses, and whether it chose this."""
    if record.candidate is None:
        return Text("-", style="dim")
    text = Text(format_number(factor * record.candidate.seconds))
    return text.append("  used", style="bold green") if case.is_used(record) else text


def _used_lines(case: Case) -> list[Text]:
    texts = dict.fromkeys(record.candidate.text for record in case.records if record.candidate and case.is_used(record))
    return [Text("used config: ", style="green").append(text, style="default") for text in texts]


def _common_facts(records: Sequence[Record]) -> dict[str, Fact]:
    """Those on which all records that have facts agree."""
    first, *others = [record.facts for record in records if record.facts] or [{}]
    return {name: value for name, value in first.items() if all(name in one and one[name] == value for one in others)}


def _facts_line(facts: Mapping[str, Fact]) -> str:
    """`labels shared 236,041 · bytes per iteration 1.4e9`"""
    return " · ".join(f"{figure_label(name)} {_fact(value)}" for name, value in facts.items())


def _differing_facts(measured: Sequence[Record], common: Mapping[str, Fact]) -> list[str]:
    return [name for name in dict.fromkeys(name for record in measured for name in record.facts) if name not in common]


def _facts_table(case: Case, measured: Sequence[Record], names: Sequence[str]) -> Table:
    """What was counted or found, where records differ in it."""
    table = _table(case, list(map(figure_label, names)))
    for place, record in _places(case, measured):
        table.add_row(*place, *(Text(_fact(record.facts[name]) if name in record.facts else "-") for name in names))
    return table


def _fact(value: Fact) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_count(value) if abs(value) < 10**9 else format_number(value)
    return format_number(value) if isinstance(value, float) else value


def _overlap_table(case: Case, measured: Sequence[Record]) -> Table:
    """Each part alone, and what became of them together."""
    parts = {part.name: part.stream for record in measured for part in record.parts}
    times = [time for record in measured for time in (*record.alone_s.values(), record.together_s or 0)]
    figure, factor = readable_figure("time_s", max(times))
    unit = figure_unit(figure)
    heads = [f"{name} alone\n{stream} ({unit})" for name, stream in parts.items()]
    table = _table(case, [*heads, f"ideal\n({unit})", f"together\n({unit})", "overlap\nefficiency"])
    for place, record in _places(case, measured):
        alone = {part.name: part.time_s.median for part in record.parts}
        seconds = [*(alone.get(name) for name in parts), record.ideal_s, record.together_s]
        cells = ["-" if time is None else format_number(factor * time) for time in seconds]
        cells.append("-" if record.efficiency is None else format_percent(record.efficiency))
        table.add_row(*place, *map(Text, cells))
    return table


def _shares_table(case: Case, measured: Sequence[Record]) -> Table:
    """What the time of an operation consists of."""
    names = list(dict.fromkeys(part.name for record in measured for part in record.parts))
    figure, factor = readable_figure("time_s", max(record.together_s or 0 for record in measured))
    unit = figure_unit(figure)
    table = _table(case, [*(f"{name}\n({unit})" for name in names), f"other\n({unit})", f"together\n({unit})"])
    for place, record in _places(case, measured):
        times = {part.name: part.time_s.median for part in record.parts}
        whole = record.together_s or 0
        cells = [
            "-" if time is None else _share(factor, time, whole) for time in (*map(times.get, names), record.other_s)
        ]
        table.add_row(*place, *map(Text, cells), Text(format_number(factor * whole)))
    return table


def _share(factor: float, time: float, whole: float) -> str:
    """`8.000 (36%)`"""
    return format_number(factor * time) + (f" ({format_percent(time / whole):>4})" if whole > 0 else "")


def _ceilings_table(case: Case, measured: Sequence[Record]) -> Table:
    """What the hardware reaches by itself, and how much of that the whole did."""
    names = list(dict.fromkeys((ceiling.part, ceiling.name) for record in measured for ceiling in record.ceilings))
    heads = [f"ceiling of\n{part}:\n{name}" if part else f"ceiling:\n{name}" for part, name in names]
    table = _table(case, [column for head in heads for column in (head, "\n" * head.count("\n") + "of it")])
    for place, record in _places(case, measured):
        ceilings = {(ceiling.part, ceiling.name): ceiling for ceiling in record.ceilings}
        cells = [cell for name in names for cell in _ceiling(ceilings.get(name))]
        table.add_row(*place, *map(Text, cells))
    return table


def _ceiling(ceiling: Ceiling | None) -> tuple[str, str]:
    if ceiling is None:
        return "-", "-"
    if ceiling.rate is None:
        figure, factor = readable_figure("time_s", ceiling.time_s)
        return f"{format_number(factor * ceiling.time_s)} {figure_unit(figure)}", format_percent(ceiling.fraction)
    name, rate = ceiling.rate
    return f"{format_number(rate)} {figure_unit(name)}", format_percent(ceiling.fraction)


def _calls_table(case: Case, measured: Sequence[Record]) -> Table:
    """How often an operation calls each function of MPI."""
    names = list(dict.fromkeys(name for record in measured for name in record.calls))
    table = _table(case, [f"calls of\n{name}" for name in names])
    for place, record in _places(case, measured):
        table.add_row(*place, *(Text(f"{record.calls[name]:,g}" if name in record.calls else "-") for name in names))
    return table


def _table(case: Case, columns: Sequence[str]) -> Table:
    """Without rows; the columns are of numbers and follow those that say what was measured."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    if case.sizes:
        table.add_column(case.size_name, justify="right", no_wrap=True)
    for name in ["transport", "memory"]:
        table.add_column(name, no_wrap=True)
    if case.compared:
        table.add_column(case.compared.replace("_", "-"), no_wrap=True)
    if case.variants:
        table.add_column("run")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _places(case: Case, measured: Sequence[Record]) -> Iterator[tuple[list[Text], Record]]:
    """Each record after the cells that say what it measured; a size stands at the first of its records alone."""
    before: Record | None = None
    for record in measured:
        size = case.size(record)
        is_repeated = before is not None and case.size(before) == size
        cells = ["" if is_repeated else "-" if size is None else case.format_size(size)] if case.sizes else []
        cells += [record.transport, memory_name(record.memory)]
        cells += [record.variant_value] if case.compared else []
        cells += [case.variants[record.run]] if case.variants else []
        yield list(map(Text, cells)), record
        before = record


def _row(case: Case, record: Record, figures: Sequence[str]) -> list[Text]:
    own = record.statistics.get(figures[0])
    cells = [Text(format_figure(figures[0], own.median) if own else "-")]
    if own is None or own.ci_low is None or own.ci_high is None:
        cells.append(Text("too few samples", style="dim"))
    else:
        ends = [format_figure(figures[0], end) for end in (own.ci_low, own.ci_high)]
        cells.append(Text(" to ".join(ends), style="dim"))
    for name in figures[1:]:
        statistic = record.statistics.get(name)
        cells.append(Text(format_figure(name, statistic.median) if statistic else "-"))
    cells.append(Text(format_percent(record.ceiling.fraction) if record.ceiling else "-"))
    cells.append(_ratio(case.best(record)))
    cells.append(_validation(record))
    return cells


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


def _reasons(case: Case) -> list[Text]:
    """A line for each reason why something failed or was skipped, with the sizes that it struck."""
    struck: dict[tuple[str, str, str, str], list[int]] = {}
    for record in case.records:
        if record.status != "ok":
            sizes = struck.setdefault((record.status, record.transport, record.memory, _reason(record)), [])
            size = case.size(record)
            sizes += [] if size is None else [size]
    lines = []
    for (status, transport, memory, reason), sizes in struck.items():
        where = f"{transport}, {memory_name(memory)}"
        if sizes and case.is_sweep:
            ends = [case.format_size(size) for size in (min(sizes), max(sizes))]
            name = "" if case.swept is None else f"{case.size_name} "
            where += f", {name}{ends[0]}" if ends[0] == ends[1] else f", {name}{ends[0]} to {ends[1]}"
        style = "red" if status == "failed" else "yellow"
        lines.append(Text(f"  {status}: ", style=style).append(f"{where}: {reason}", style="default"))
    return lines


def _reason(record: Record) -> str:
    message = str(record.validation["message"])
    if message and message not in record.reason:
        return f"{record.reason}; {message}" if record.reason else message
    return record.reason
