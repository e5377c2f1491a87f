"""A group of records as tables: its metrics, and what else it has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from commlens.base.text import (
    format_fraction,
    format_number,
    format_value,
    labelled,
    plural,
    readable_time,
)
from commlens.model import (
    HIDDEN_METRIC,
    INCONCLUSIVE,
    OVERLAP_METRIC,
    TIE,
    TIME_METRIC,
    Group,
    Metric,
    Record,
    Standing,
    launches_of,
)
from commlens.model.levels import has_levels
from commlens.render.show import details
from commlens.render.show.columns import (
    NOTHING,
    cells,
    count_column,
    interval_column,
    metric_column,
    place_columns,
)
from commlens.render.show.grid import Column, Grid, Lines
from commlens.render.show.levels import level_grids
from commlens.render.show.pairs import pair_blocks
from commlens.render.show.parts import overlap_grid, shares_grid
from commlens.render.show.published import published_grids
from commlens.render.show.scaling import gain_lines


def group_tables(
    group: Group, width: int | None, told: set[tuple[str, str]]
) -> Iterator[Grid | Lines]:
    """In at most `width` columns; None: all metrics, however wide that is.

    `told`: the blocks of reports that were printed before, which this joins.
    """
    yield Lines([[(group.benchmark, "bold cyan"), (f"  {title(group)}", "dim")]])
    if report := details.report_lines(group.records, told):
        yield Lines([[], *report.lines, []])
    common = details.common_facts(group.records)
    if common:
        yield details.facts_line(group, common)
    measured = [record for record in group.records if record.statistics]
    if measured:
        whole = main_grid(group, measured, wide=width is None)
        grid = whole if width is None else whole.fitted(width)
        yield grid
        yield from _left_out(whole, grid)
        yield from _other_grids(group, measured, list(common), width)
        if with_series := [record for record in measured if record.series]:
            yield from pair_blocks(group, with_series)
        yield from published_grids(group, measured)
    ends = (
        _common_calls(measured),
        gain_lines(group),
        _used_lines(group),
        details.missed_interval_lines(group, measured),
    )
    lines = [line for one in (*ends, details.reason_lines(group)) for line in one.lines]
    if without := [record for record in measured if record.no_ceiling]:
        lines = [*details.no_ceiling_lines(without).lines, *lines]
    gap: list[list[tuple[str, str]]] = [[]] if measured and lines else []
    yield Lines([*gap, *lines, []])


def title(group: Group) -> str:
    """`dtype f64 · in-place true · 2 ranks · timing batch · one start`"""
    parameters = [f"{name} {value}" for name, value in {**group.settings, **group.derived}.items()]
    words = [*parameters, plural(group.ranks, "rank"), f"timing {group.timing}", _launches(group)]
    return " · ".join(filter(None, words))


def _launches(group: Group) -> str:
    """Of what the intervals are, where all of them are of the same."""
    counts = {len(launches_of(record)) for record in group.records if record.measured}
    if len(counts) != 1:
        return ""
    (count,) = counts
    return "one start" if count == 1 else f"medians of {count} launches"


def main_grid(group: Group, records: Sequence[Record], wide: bool) -> Grid:
    """The metrics, how near they are to the ceiling and to the best, and the check.

    Where the width does not suffice, the other metrics and the name of the ceiling are left out.
    """
    main, *others = _shown_metrics(group, records, wide)
    columns = place_columns(group, records)
    if wide and group.size_name == "size" and group.sizes:
        texts = cells((record.size for record in records), "{:,}".format)
        columns.insert(1, Column("bytes", texts))
    columns += [metric_column(main, records), interval_column(main, records)]
    columns.append(count_column(main, records))
    for metric in others:
        column = metric_column(metric, records)
        column.optional = not wide
        columns.append(column)
    ceilings = [record.ceiling for record in records]
    of_it = cells(ceilings, lambda ceiling: format_fraction(ceiling.fraction))
    columns.append(Column("of ceiling", of_it))
    if any(ceilings):
        if wide:
            columns.append(_ceiling_column(main, records))
        names = cells(ceilings, lambda ceiling: ceiling.name)
        columns.append(Column("ceiling", names, left=True, optional=not wide))
    columns += [_ratio_column(group, records), _check_column(records)]
    if wide:
        compared = ["exact" if record.validation.exact else "to rounding" for record in records]
        columns.append(Column("compared", compared, left=True))
    return Grid([*columns, *_choice_columns(group, records)])


def _shown_metrics(group: Group, records: Sequence[Record], wide: bool) -> list[Metric]:
    """All, if `wide`; else not the time of the operation beside another main metric, and not what
    the table of parts shows."""
    main, *others = group.metrics
    if not wide:
        hidden = {TIME_METRIC}
        if any(record.alone_s for record in records):
            hidden |= {HIDDEN_METRIC, OVERLAP_METRIC}
        others = [metric for metric in others if metric.name not in hidden]
    return [main, *others]


def _ceiling_column(main: Metric, records: Sequence[Record]) -> Column:
    """The ceiling in the unit of the main metric."""
    values = [
        record.ceiling.metrics.get(main.name) if record.ceiling else None for record in records
    ]
    texts = cells(values, lambda value: format_value(value, main.unit))
    return Column(labelled("ceiling", main.unit), texts)


def _ratio_column(group: Group, records: Sequence[Record]) -> Column:
    texts = cells((group.standing(record) for record in records), _standing_text)
    styles = {NOTHING: "dim", TIE: "dim", INCONCLUSIVE: "dim", "best": "green"}
    return Column("to best", texts, styles=[styles.get(text, "") for text in texts])


def _standing_text(standing: Standing) -> str:
    """`best`, `tie` with the best, `inconclusive`, or how many times worse."""
    if standing.tie:
        return standing.tie
    if standing.ratio == 1:
        return "best"
    if standing.ratio == math.inf:  # the best is 0
        return NOTHING
    return f"{standing.ratio:.2f}x" if standing.ratio < 10 else f"{standing.ratio:,.0f}x"


def _check_column(records: Sequence[Record]) -> Column:
    texts: list[str] = [
        "failed" if record.status == "failed" else record.validation.status for record in records
    ]
    styles = {"passed": "green", "off": "yellow", "failed": "bold red"}
    return Column("check", texts, left=True, styles=[styles.get(text, "red") for text in texts])


def _choice_columns(group: Group, records: Sequence[Record]) -> list[Column]:
    """The time by which an application chooses, and which one it chose."""
    candidates = [record.candidate for record in records]
    if not any(candidates):
        return []
    longest = max(candidate.seconds for candidate in candidates if candidate)
    unit, factor = readable_time("s", longest)
    times = cells(candidates, lambda candidate: format_number(factor * candidate.seconds))
    used = [group.is_used(record) for record in records]
    return [
        Column(f"chosen by ({unit})", times),
        Column("", ["used" if one else "" for one in used], left=True, style="bold green"),
    ]


def _left_out(whole: Grid, shown: Grid) -> Iterator[Lines]:
    """That there is more, and how to see it."""
    if shown is whole:
        return
    heads = {column.head.replace("\n", " ") for column in shown.columns}
    missing = [column.head for column in whole.columns if column.head not in heads]
    if missing:
        yield Lines([[(f"  --wide has more columns: {', '.join(missing)}", "dim")]])


def _other_grids(
    group: Group, measured: Sequence[Record], common: Sequence[str], width: int | None
) -> Iterator[Grid]:
    wide = width is None
    if alone := [record for record in measured if record.alone_s]:
        yield overlap_grid(group, alone)
    by_level = [record for record in measured if has_levels(record)]
    yield from level_grids(group, by_level, width) if by_level else ()
    within = [record for record in measured if record.has_parts_within]
    if within and not by_level:
        yield shares_grid(group, within)
    if any(
        details.has_several_ceilings(record) or (wide and record.ceilings) for record in measured
    ):
        yield details.ceilings_grid(group, [record for record in measured if record.ceilings])
    names = dict.fromkeys(name for record in measured for name in record.facts)
    if differing := [name for name in names if name not in common]:
        yield details.facts_grid(group, measured, differing)
    calling = [record for record in measured if record.calls]
    if calling and not details.common_calls(calling):
        yield details.calls_grid(group, calling)
    if rounded := [record for record in measured if record.validation.deviation]:
        yield details.deviations_grid(group, rounded)


def _common_calls(measured: Sequence[Record]) -> Lines:
    calls = details.common_calls([record for record in measured if record.calls])
    return Lines([[(f"  calls per operation: {calls}", "dim")]] if calls else [])


def _used_lines(group: Group) -> Lines:
    used = [record for record in group.records if group.is_used(record)]
    lines = dict.fromkeys((_candidate_text(record), _doubt(group, record)) for record in used)
    return Lines(
        [("  used config: ", "green"), (text or NOTHING, ""), (doubt, "dim")]
        for text, doubt in lines
    )


def _candidate_text(record: Record) -> str:
    return record.candidate.text if record.candidate else ""


def _doubt(group: Group, used: Record) -> str:
    """What the samples of the table say of the choice, which a few trials made before them."""
    standing = group.standing(used)
    if standing is None or (standing.best is used and not standing.is_tie):
        return ""
    if standing.is_tie:
        return "  (in this table a tie: the choice was within noise)"
    name = standing.best.candidate.name if standing.best.candidate else standing.best.transport
    return f"  (in this table {name} is {standing.ratio:.2f}x better: the choice was within noise)"
