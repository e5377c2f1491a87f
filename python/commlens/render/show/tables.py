"""A group of records as tables: its metrics, and what else it has."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from commlens.base.text import format_fraction, format_number, format_value, plural, readable_time
from commlens.model import TIME_METRIC, Group, Metric, Record, launches_of
from commlens.model.interference import MACHINE_WAS_BUSY, why_busy
from commlens.model.levels import has_levels
from commlens.model.record import HIDDEN_METRIC, OVERLAP_METRIC
from commlens.render.show import details
from commlens.render.show.columns import metric_columns, place_columns
from commlens.render.show.pairs import pair_blocks
from commlens.render.show.parts import level_tables, overlap_table, shares_table
from commlens.render.show.published import published_tables
from commlens.render.show.scaling import gain_lines
from commlens.render.table import NOTHING, Column, Line, Lines, Table, Thing

_STANDING_STYLES = {None: "dim", "tie": "dim", "inconclusive": "dim", "best": "green"}
_CHECK_STYLES = {"passed": "green", "off": "yellow", "failed": "bold red"}


def group_tables(group: Group, width: int | None, printed: set[tuple[str, str]]) -> Iterator[Thing]:
    """The tables of a group in at most `width` characters; None: all metrics, however wide.

    `printed`: the blocks of reports so far, which this joins.
    """
    yield Lines([[(group.benchmark, "bold cyan"), (f"  {title(group)}", "dim")]])
    if report := details.report_lines(group.records, printed):
        yield Lines([[], *report, []])
    common = details.common_facts(group.records)
    if common:
        yield Lines([details.facts_line(group, common)])
    if selected := details.selection_line(group.records):
        yield Lines([selected])
    measured = [record for record in group.records if record.statistics]
    if measured:
        table = main_table(group, measured, wide=width is None)
        missing = table.fitted(width) if width is not None else []
        yield table
        if missing:
            heads = ", ".join(missing).replace("\n", " ")
            yield Lines([[(f"  --wide has more columns: {heads}", "dim")]])
        yield from _other_tables(group, measured, list(common), width)
        yield from pair_blocks(group, [record for record in measured if record.series])
        yield from published_tables(group, measured)
    no_ceiling = dict.fromkeys(record.no_ceiling for record in measured if record.no_ceiling)
    calls = details.common_calls([record for record in measured if record.calls])
    lines: list[Line] = [[("  no ceiling: ", "yellow"), (reason, "")] for reason in no_ceiling]
    busy = dict.fromkeys(filter(None, map(why_busy, measured)))
    lines += [[(f"  {MACHINE_WAS_BUSY}: ", "yellow"), (why, "")] for why in _first(busy)]
    if calls:
        lines.append([(f"  calls per operation: {calls}", "dim")])
    lines += [
        *gain_lines(group),
        *_used_lines(group),
        *details.missed_interval_lines(group, measured),
        *details.reason_lines(group),
    ]
    gap: list[Line] = [[]] if measured and lines else []
    yield Lines([*gap, *lines, []])


def _first(reasons: Collection[str]) -> list[str]:
    """One of the reasons, and how many more there are: they differ in numbers."""
    more = f" (and {len(reasons) - 1} more like it)" if len(reasons) > 1 else ""
    return [reason + more for reason in list(reasons)[:1]]


def title(group: Group) -> str:
    """`dtype f64 · in-place true · 2 ranks · timing batch · one launch`"""
    words = [f"{name} {value}" for name, value in {**group.settings, **group.derived}.items()]
    words += [plural(group.ranks, "rank"), f"timing {group.timing}"]
    counts = {len(launches_of(record)) for record in group.records if record.measured}
    if len(counts) == 1:  # of what the intervals are, where all of them are of the same
        (count,) = counts
        words.append("one launch" if count == 1 else f"medians of {count} launches")
    return " · ".join(words)


def main_table(group: Group, records: Sequence[Record], wide: bool) -> Table[Record]:
    """The metrics, how near they are to the ceiling and to the best, and the check.

    Where the width does not suffice, the other metrics and the name of the ceiling are left out.
    """
    main, *others = group.metrics
    # The time of the operation beside another main metric, and what the table of parts shows.
    hidden = set() if wide else {TIME_METRIC}
    if any(record.alone_s for record in records):
        hidden |= {HIDDEN_METRIC, OVERLAP_METRIC}
    others = [metric for metric in others if metric.name not in hidden]
    columns = place_columns(group)
    if wide and group.size_name == "size" and group.sizes:
        columns.insert(1, Column("bytes", lambda record: record.size, format="{:,}".format))
    columns += metric_columns(main, records)
    for metric in others:
        columns += metric_columns(metric, records, optional=not wide)[:1]
    columns += _columns(group, main, wide)
    columns += details.selection_columns(records) if wide else []
    return Table([*columns, *_choice_columns(group, records)], records)


def _columns(group: Group, main: Metric, wide: bool) -> list[Column[Record]]:
    """The ceiling, the best and the check beside the metrics of a record."""

    def ceiling(record: Record) -> float | None:
        return record.ceiling.metrics.get(main.name) if record.ceiling else None

    columns: list[Column[Record]] = [
        Column(
            "of ceiling", lambda row: row.ceiling and row.ceiling.fraction, format=format_fraction
        ),
        Column(
            "ceiling",
            lambda row: row.ceiling and row.ceiling.name,
            left=True,
            optional=not wide,
            if_any=True,
        ),
        Column(
            "to best",
            partial(_standing, group),
            style=lambda record: _STANDING_STYLES.get(_standing(group, record), ""),
        ),
        Column(
            "machine",
            lambda row: "busy" if why_busy(row) else None,
            left=True,
            style="yellow",
            if_any=True,
        ),
        Column("check", _check, left=True, style=lambda row: _CHECK_STYLES.get(_check(row), "red")),
    ]
    if wide:
        text = partial(format_value, unit=main.unit)
        columns.insert(1, Column("ceiling", ceiling, main.unit, text, if_any=True))
        compared = {True: "exact", False: "to rounding"}
        columns.append(Column("compared", lambda row: compared[row.validation.exact], left=True))
    return columns


def _standing(group: Group, record: Record) -> str | None:
    """`best`, `tie` with the best, `inconclusive`, or how many times worse."""
    standing = group.standing(record)
    if standing is None or standing.tie:
        return standing and standing.tie
    if standing.ratio == 1:
        return "best"
    if standing.ratio == math.inf:  # the best is 0
        return None
    return f"{standing.ratio:.2f}x" if standing.ratio < 10 else f"{standing.ratio:,.0f}x"


def _check(record: Record) -> str:
    return "failed" if record.status == "failed" else record.validation.status


def _choice_columns(group: Group, records: Sequence[Record]) -> list[Column[Record]]:
    """The time by which an application chooses, and which candidate it chose."""
    times = [record.candidate.seconds for record in records if record.candidate]
    if not times:
        return []
    unit, factor = readable_time("s", max(times))
    return [
        Column(
            "chosen by",
            lambda record: record.candidate and record.candidate.seconds,
            unit,
            lambda time: format_number(factor * time),
        ),
        Column(
            "",
            lambda record: "used" if record in group.used else "",
            left=True,
            style="bold green",
        ),
    ]


def _other_tables(
    group: Group, measured: Sequence[Record], common: Sequence[str], width: int | None
) -> Iterator[Table[Record] | Table[tuple[str, str]]]:
    wide = width is None
    if alone := [record for record in measured if record.alone_s]:
        yield overlap_table(group, alone)
    by_level = [record for record in measured if has_levels(record)]
    yield from level_tables(group, by_level, width) if by_level else ()
    within = [record for record in measured if record.has_parts_within]
    if within and not by_level:
        yield shares_table(group, within)
    limited = [record for record in measured if record.ceilings]
    # Those of one record, or of its parts, are more than a column of the main table shows.
    if any(wide or len(record.ceilings) > 1 or record.ceilings[0].part for record in limited):
        yield details.ceilings_table(group, limited)
    names = dict.fromkeys(name for record in measured for name in record.facts)
    if differing := [name for name in names if name not in common]:
        yield details.facts_table(group, measured, differing)
    calling = [record for record in measured if record.calls]
    if calling and not details.common_calls(calling):
        yield details.calls_table(group, calling)
    if rounded := [record for record in measured if record.validation.deviation]:
        yield details.deviations_table(group, rounded)


def _used_lines(group: Group) -> list[Line]:
    used = [record for record in group.records if record in group.used]
    texts = [(row.candidate.text if row.candidate else "", _doubt(group, row)) for row in used]
    return [
        [("  used config: ", "green"), (text or NOTHING, ""), (doubt, "dim")]
        for text, doubt in dict.fromkeys(texts)
    ]


def _doubt(group: Group, used: Record) -> str:
    """What the samples of the table say of the choice, which a few trials made before them."""
    standing = group.standing(used)
    if standing is None or (standing.best is used and not standing.tie):
        return ""
    if standing.tie:
        return f"  (in this table {standing.tie}: the choice was within noise)"
    name = standing.best.candidate.name if standing.best.candidate else standing.best.transport
    return f"  (in this table {name} is {standing.ratio:.2f}x better: the choice was within noise)"
