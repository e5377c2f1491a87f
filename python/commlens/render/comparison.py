"""Comparisons in the formats of `commlens compare`: a table for people, Markdown, CSV and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from commlens.base.terminal import console, echo
from commlens.base.text import format_value, labelled, plural
from commlens.compare.matching import Matched, Missing
from commlens.compare.verdicts import ComparisonResult, Row, Verdict
from commlens.model.comparison import Ratio
from commlens.render.data import print_csv, print_json, rows_of
from commlens.render.markdown import section
from commlens.render.table import Column, Lines, Note, Table, Thing, data
from commlens.render.terminal import print_things

_MOST_NAMES = 12  # of cases in a line
_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "bold red", Verdict.INCONCLUSIVE: "yellow"}


@dataclass(frozen=True)
class Comparison:
    """What is printed: tables, lines below them, and what JSON has beside the cases."""

    tables: Sequence[Table[Any]]
    lines: Lines = field(default_factory=lambda: Lines([]))
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    def print_as(self, form: str) -> None:
        """Prints it in one of FORMATS."""
        things: list[Thing] = [*self.tables, self.lines]
        if form == "table":
            print_things(console(), things)
        elif form == "markdown":
            echo("\n".join(line for one in things for line in section(one)))
        elif form == "csv":
            print_csv(self.tables)
        else:
            print_json({**self.before, "cases": rows_of(self.tables), **self.after})


FORMATS = ("table", "markdown", "csv", "json")


def comparison_of(result: ComparisonResult) -> Comparison:
    """A table for each pair of sides that were compared."""
    lines = [[(f"  {text}", "dim")] for text in result.how] if result.rows else []
    lines += [[(f"  {summary(result.rows)}", "bold")]] if result.rows else []
    return Comparison(
        [_table(one, result.rows_of(one)) for one in result.matched],
        Lines(lines),
        {"threshold": result.threshold},
        {
            "missing": [own._asdict() for one in result.matched for own in one.missing],
            "changed": [text for one in result.matched for text in one.changed],
            "differences": [text for one in result.matched for text in one.differences],
        },
    )


def _table(matched: Matched, rows: Sequence[Row]) -> Table[Row]:
    case, *others = COLUMNS
    notes = [f"{row.name}: {row.case.note}" for row in rows if row.case.note]
    return Table(
        [case, data("baseline", lambda row: matched.baseline.name), *others],
        rows,
        title=matched.other.name,
        subtitle=f"against {matched.baseline.name}",
        about=matched.differences,
        notes=warnings((*matched.changed, *notes, *missing_lines(matched.missing))),
    )


def warnings(texts: Sequence[str]) -> list[Note]:
    """Notes below a table that need attention."""
    return [(text, "yellow") for text in texts]


def missing_lines(missing: Sequence[Missing]) -> list[str]:
    """`only in before (2 cases): latency 1 B, mpi, host; ...`"""
    found: dict[str, list[str]] = {}
    for one in missing:
        found.setdefault(one.only_in, []).append(one.case)
    lines = []
    for where, cases in found.items():
        more = len(cases) - _MOST_NAMES
        rest = f" and {plural(more, 'more case')} (--format json has all)" if more > 0 else ""
        names = "; ".join(cases[:_MOST_NAMES])
        lines.append(f"only in {where} ({plural(len(cases), 'case')}): {names}{rest}")
    return lines


def summary(rows: Sequence[Row]) -> str:
    """`23 cases: 2 slower, 20 same, 1 inconclusive`"""
    counts = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    words = [f"{count} {verdict.value}" for verdict, count in counts.items() if count]
    return f"{plural(len(rows), 'case')}: {', '.join(words)}"


def _median(side: int, row: Row) -> str:
    return format_value(row.medians[side], row.case.metric.unit, max(row.medians))


def _ratio(value: float) -> str:
    return f"{value:.3f}" if 0.1 <= value < 10 else f"{value:.3g}"


def _interval(ratio: Ratio) -> str:
    return f"{_ratio(ratio.low)} to {_ratio(ratio.high)}"


COLUMNS: tuple[Column[Row], ...] = (
    Column("case", lambda row: row.name, left=True, wraps=True, key="case"),
    data("other", lambda row: row.other),
    Column("metric", lambda row: labelled(row.case.metric.label, row.case.metric.unit)),
    data("metric", lambda row: row.case.metric.name),
    data("unit", lambda row: row.case.metric.unit),
    data("better", lambda row: row.case.metric.better),
    Column("baseline", partial(_median, 0)),
    Column("other", partial(_median, 1)),
    data("baseline_median", lambda row: row.medians[0]),
    data("other_median", lambda row: row.medians[1]),
    data("baseline_launches", lambda row: row.found.launches[0]),
    data("other_launches", lambda row: row.found.launches[1]),
    data("basis", lambda row: row.found.basis),
    Column("ratio", lambda row: row.found.ratio, format=_ratio, key="ratio"),
    Column("95% interval", lambda row: row.found.interval, format=_interval),
    data("ratio_low", lambda row: row.found.interval.low if row.found.interval else None),
    data("ratio_high", lambda row: row.found.interval.high if row.found.interval else None),
    data("p", lambda row: row.found.p_value),
    Column(  # for the number of cases, after Holm
        "p", lambda row: row.corrected_p_value, format="{:.2g}".format, optional=True, key="p_holm"
    ),
    Column(
        "launches", lambda row: f"{row.found.launches[0]}, {row.found.launches[1]}", optional=True
    ),
    Column(
        "verdict",
        lambda row: row.verdict.value,
        left=True,
        style=lambda row: _STYLES.get(row.verdict, ""),
        key="verdict",
    ),
    data("launches_needed", lambda row: row.launches_needed),
    Column("what to do", lambda row: row.why, left=True, style="dim", wraps=True, if_any=True),
)
