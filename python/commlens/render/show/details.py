"""What records have beside their metrics: ceilings, facts, calls, deviations, reports, reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from commlens.base.text import (
    format_fact,
    format_fraction,
    format_number,
    format_percent,
    format_time,
    memory_name,
)
from commlens.model import Ceiling, FactDeclaration, Group, Record, Value
from commlens.model.results import Deviation
from commlens.render.show.columns import place_columns
from commlens.render.table import Column, Lines, Table


def ceilings_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """What the hardware reaches by itself, and how much of that the operation did."""
    names = dict.fromkeys((one.part, one.name) for record in records for one in record.ceilings)
    columns = place_columns(group)
    for part, name in names:
        head = f"ceiling of\n{part}:\n{name}" if part else f"ceiling:\n{name}"
        own = partial(_ceiling, part, name)
        columns += [Column(head, own, format=_rate), Column("of it", own, format=_fraction)]
    return Table(columns, records)


def _ceiling(part: str | None, name: str, record: Record) -> Ceiling | None:
    own = [one for one in record.ceilings if (one.part, one.name) == (part, name)]
    return own[-1] if own else None


def _fraction(ceiling: Ceiling) -> str:
    return format_fraction(ceiling.fraction)


def _rate(ceiling: Ceiling) -> str:
    if ceiling.rate is None:
        return format_time(ceiling.time_s)
    return f"{format_number(ceiling.rate)} {ceiling.unit}"


def has_several_ceilings(record: Record) -> bool:
    """Whether one column of the main table cannot show them."""
    return len(record.ceilings) > 1 or any(ceiling.part for ceiling in record.ceilings)


def no_ceiling_lines(records: Iterable[Record]) -> Lines:
    """Why records have no ceiling: each reason once."""
    reasons = dict.fromkeys(record.no_ceiling for record in records if record.no_ceiling)
    return Lines([[("  no ceiling: ", "yellow"), (reason, "")] for reason in reasons])


def calls_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """How often an operation calls each function of MPI."""
    names = dict.fromkeys(name for record in records for name in record.calls)
    columns = [Column(f"calls of\n{name}", partial(_count, name), format=_calls) for name in names]
    return Table([*place_columns(group), *columns], records)


def _count(name: str, record: Record) -> float | None:
    return record.calls.get(name)


def common_calls(records: Sequence[Record]) -> str:
    """`MPI_Allreduce 1`, where several records have the same calls; else empty."""
    if len(records) < 2 or any(record.calls != records[0].calls for record in records):
        return ""
    return ", ".join(f"{name} {_calls(count)}" for name, count in records[0].calls.items())


def _calls(count: float) -> str:
    return f"{count:,g}"


def deviations_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """How far results that are right to rounding are from exact results."""
    columns: list[Column[Record]] = [
        Column("largest error", lambda record: record.validation.deviation, format=_largest),
        Column("sum of errors", lambda record: record.validation.deviation, format=_total),
    ]
    return Table([*place_columns(group), *columns], records)


def _largest(deviation: Deviation) -> str:
    return f"{deviation.largest:.2g}"


def _total(deviation: Deviation) -> str:
    return f"{deviation.total:.2g}"


def common_facts(records: Iterable[Record]) -> dict[str, Value]:
    """Those on which all records that have facts agree."""
    having = [record.facts for record in records if record.facts]
    if not having:
        return {}
    return {
        name: value
        for name, value in having[0].items()
        if all(name in one and one[name] == value for one in having)
    }


def facts_line(group: Group, facts: Mapping[str, Value]) -> Lines:
    """`labels shared 236,041 · bytes per iteration 263 MiB`"""
    declared = _declared(group)
    texts = (
        f"{declared[name].label} {format_fact(value, declared[name].unit)}"
        for name, value in facts.items()
    )
    return Lines([[("  " + " · ".join(texts), "dim")]])


def facts_table(group: Group, records: Sequence[Record], names: Sequence[str]) -> Table[Record]:
    """The facts in which records differ."""
    columns = [_fact_column(name, _declared(group)[name]) for name in names]
    return Table([*place_columns(group), *columns], records)


def _fact_column(name: str, fact: FactDeclaration) -> Column[Record]:
    unit = "" if fact.unit == "B" else fact.unit  # a number of bytes has its own unit
    text = partial(format_fact, unit="B" if fact.unit == "B" else "")
    return Column(fact.label, lambda record: record.facts.get(name), unit, text)


def _declared(group: Group) -> dict[str, FactDeclaration]:
    return {name: fact for start in group.launches for name, fact in start.facts.items()}


def report_lines(records: Iterable[Record], told: set[tuple[str, str]]) -> Lines | None:
    """What records report in an application's words: each block once per launch.

    `told`: the blocks of each launch that were printed before, which these join.
    """
    lines: list[list[tuple[str, str]]] = []
    for record in records:
        for block in "\n".join(record.report).split("\n\n") if record.report else ():
            if block.strip() and (record.start.start, block) not in told:
                told.add((record.start.start, block))
                gap: list[list[tuple[str, str]]] = [[]] if lines else []
                lines += [*gap, *([(f"  {line}", "")] for line in block.strip("\n").split("\n"))]
    return Lines(lines) if lines else None


def missed_interval_lines(group: Group, records: Sequence[Record]) -> Lines:
    """Where --until-ci ended at its limit of time: how wide the interval of the time is."""
    missed = [
        (record, width) for record in records if (width := record.missed_half_width) is not None
    ]
    lines = []
    for record, width in missed:
        words = [record.transport, memory_name(record.memory), group.label(record)]
        if group.is_sweep and record.size is not None:
            words.insert(0, group.format_size(record.size))
        reached = "no interval" if width == float("inf") else f"+-{format_percent(width)}"
        harness, count = record.harness, len(record.samples.values_s)
        lines.append(
            [
                (f"  --until-ci {harness.until_ci_percent:g}% not reached", "yellow"),
                (f" ({', '.join(filter(None, words))}): {reached} after {count} samples", ""),
                (f" within --max-time {harness.max_time_s:g} s", ""),
            ]
        )
    return Lines(lines)


def reason_lines(group: Group) -> Lines:
    """A line for each reason why something failed or was skipped, with the sizes it struck."""
    struck: dict[tuple[str, str, str, str], list[int]] = {}
    for record in group.records:
        if record.status != "ok":
            place = (record.status, record.transport, record.memory, _reason(record))
            sizes = struck.setdefault(place, [])
            if record.size is not None:
                sizes.append(record.size)
    lines = []
    for (status, transport, memory, reason), sizes in struck.items():
        where = f"{transport}, {memory_name(memory)}"
        if sizes and group.is_sweep:
            where += f", {_range(group, min(sizes), max(sizes))}"
        style = "red" if status == "failed" else "yellow"
        lines.append([(f"  {status}: ", style), (f"{where}: {reason}", "")])
    return Lines(lines)


def _range(group: Group, least: int, most: int) -> str:
    """`1 KiB to 64 KiB`, `block 366`"""
    first = group.describe_size(least)
    return first if least == most else f"{first} to {group.format_size(most)}"


def _reason(record: Record) -> str:
    message = record.validation.message
    if message and message not in record.reason:
        return f"{record.reason}; {message}" if record.reason else message
    return record.reason
