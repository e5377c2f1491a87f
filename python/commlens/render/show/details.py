"""What records have beside their metrics: ceilings, facts, calls, deviations, reports, reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from commlens.base.text import (
    format_fact,
    format_fraction,
    format_number,
    format_percent,
    format_time,
    memory_name,
)
from commlens.model import Ceiling, Group, Record, Value
from commlens.model.results import Deviation
from commlens.model.selection import selection_names
from commlens.model.start import FactDeclaration
from commlens.render.show.columns import place_columns
from commlens.render.table import Column, Line, Table


def ceilings_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """What the hardware reaches by itself, and how much of that the operation did."""
    ceilings = [ceiling for record in records for ceiling in record.ceilings]
    names = dict.fromkeys((ceiling.part, ceiling.name) for ceiling in ceilings)
    columns = place_columns(group)
    for part, name in names:
        head = f"ceiling of\n{part}:\n{name}" if part else f"ceiling:\n{name}"
        value = partial(_ceiling, (part, name))
        columns.append(Column(head, value, format=_rate))
        columns.append(Column("of it", value, format=lambda it: format_fraction(it.fraction)))
    return Table(columns, records)


def _ceiling(name: tuple[str | None, str], record: Record) -> Ceiling | None:
    return {(ceiling.part, ceiling.name): ceiling for ceiling in record.ceilings}.get(name)


def _rate(ceiling: Ceiling) -> str:
    if ceiling.rate is None:
        return format_time(ceiling.time_us * 1e-6)
    return f"{format_number(ceiling.rate)} {ceiling.unit}"


def calls_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """How often an operation calls each function of MPI."""
    columns = [
        Column(f"calls of\n{name}", partial(_named, "calls", name), format=_calls)
        for name in dict.fromkeys(name for record in records for name in record.calls)
    ]
    return Table([*place_columns(group), *columns], records)


def common_calls(records: Sequence[Record]) -> str:
    """`MPI_Allreduce 1`, where several records have the same calls; else empty."""
    if len(records) < 2 or any(record.calls != records[0].calls for record in records):
        return ""
    return ", ".join(f"{name} {_calls(count)}" for name, count in records[0].calls.items())


def _calls(count: float) -> str:
    return f"{count:,g}"


def deviations_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """How far results that are right to rounding are from exact results."""
    columns: list[Column[Deviation]] = [
        Column("largest error", lambda deviation: deviation.largest, format="{:.2g}".format),
        Column("sum of errors", lambda deviation: deviation.total, format="{:.2g}".format),
    ]
    errors = [column.of(lambda record: record.validation.deviation) for column in columns]
    return Table([*place_columns(group), *errors], records)


def common_facts(records: Iterable[Record]) -> dict[str, Value]:
    """Those on which all records that have facts agree."""
    first, *others = [record.facts for record in records if record.facts] or [{}]
    return {
        name: value
        for name, value in first.items()
        if all(facts.get(name) == value for facts in others)
    }


def facts_line(group: Group, facts: Mapping[str, Value]) -> Line:
    """`labels shared 236,041 · bytes per iteration 263 MiB`"""
    declared = _declared(group)
    texts = (
        f"{declared[name].label} {format_fact(value, declared[name].unit)}"
        for name, value in facts.items()
    )
    return [("  " + " · ".join(texts), "dim")]


def selection_line(records: Iterable[Record]) -> Line:
    """`selected: pml ob1 · coll tuned`: what all records agree on whose libraries tell it."""
    told = [record.selection for record in records if record.selection]
    if not told:
        return []
    agreed = [(name, told[0][name]) for name in selection_names(told) if not _differs(name, told)]
    texts = " · ".join(f"{name} {value}" for name, value in agreed)
    return [("  selected: ", "dim"), (texts, "dim")] if texts else []


def selection_columns(records: Iterable[Record]) -> list[Column[Record]]:
    """What they differ in."""
    told = [record.selection for record in records if record.selection]
    return [
        Column(name, partial(_named, "selection", name), left=True)
        for name in selection_names(told)
        if _differs(name, told)
    ]


def _differs(name: str, told: Sequence[Mapping[str, str]]) -> bool:
    return len({selection.get(name) for selection in told}) > 1


def facts_table(group: Group, records: Sequence[Record], names: Sequence[str]) -> Table[Record]:
    """The facts in which records differ."""
    columns = place_columns(group)
    for name in names:
        fact = _declared(group)[name]
        # A number of bytes has its own unit.
        cell_unit, unit = ("B", "") if fact.unit == "B" else ("", fact.unit)
        value = partial(_named, "facts", name)
        columns.append(Column(fact.label, value, unit, partial(format_fact, unit=cell_unit)))
    return Table(columns, records)


def _named(of: str, name: str, record: Record) -> Any:
    return getattr(record, of).get(name)


def _declared(group: Group) -> dict[str, FactDeclaration]:
    return {name: fact for start in group.launches for name, fact in start.facts.items()}


def report_lines(records: Iterable[Record], printed: set[tuple[str, str]]) -> list[Line]:
    """What records report in an application's words: each block once per launch.

    `printed`: the blocks of each launch so far, which these join.
    """
    lines: list[Line] = []
    for record in records:
        for block in "\n".join(record.report).split("\n\n") if record.report else ():
            if block.strip() and (record.start.start, block) not in printed:
                printed.add((record.start.start, block))
                lines += [[]] if lines else []
                lines += [[(f"  {line}", "")] for line in block.strip("\n").split("\n")]
    return lines


def where(group: Group, record: Record, label: str) -> str:
    """`64 KiB, mpi, host, cached`: which row of a group's table it is."""
    size = group.format_size(record.size) if group.is_sweep and record.size is not None else ""
    return ", ".join(filter(None, (size, record.transport, memory_name(record.memory), label)))


def missed_interval_lines(group: Group, records: Sequence[Record]) -> list[Line]:
    """Where --until-ci ended at its limit of time: how wide the interval of the time is."""
    lines: list[Line] = []
    for record in records:
        if (width := record.missed_half_width) is None:
            continue
        reached = "no interval" if width == float("inf") else f"+-{format_percent(width)}"
        harness, count = record.harness, len(record.samples.values_s)
        place = where(group, record, group.label(record))
        reached += f" after {count} samples within --max-time {harness.max_time_s:g} s"
        missed = f"  --until-ci {harness.until_ci_percent:g}% not reached"
        lines.append([(missed, "yellow"), (f" ({place}): {reached}", "")])
    return lines


def reason_lines(group: Group) -> list[Line]:
    """A line for each reason why something failed or was skipped, with the sizes it struck."""
    struck: dict[tuple[str, str, str, str], list[int]] = {}
    for record in group.records:
        if record.status != "ok":
            reason, message = record.reason, record.validation.message
            if message not in reason:
                reason = f"{reason}; {message}" if reason else message
            kind = (record.status, record.transport, record.memory, reason)
            struck.setdefault(kind, []).extend([] if record.size is None else [record.size])
    lines: list[Line] = []
    for (status, transport, memory, reason), sizes in struck.items():
        place = f"{transport}, {memory_name(memory)}"
        if sizes and group.is_sweep:
            least, most = min(sizes), max(sizes)
            place += f", {group.describe_size(least)}"  # `1 KiB to 64 KiB`, `block 366`
            place += f" to {group.format_size(most)}" if most > least else ""
        style = "red" if status == "failed" else "yellow"
        lines.append([(f"  {status}: ", style), (f"{place}: {reason}", "")])
    return lines
