"""Comparisons in the formats of `commlens compare`: a table for people, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from commlens.base.errors import CommlensError
from commlens.base.terminal import console, echo
from commlens.base.text import format_ratio, format_value, labelled, plural, printable
from commlens.compare.matching import Matched, Missing, Side, case_names
from commlens.compare.references import Beside, Source, beside
from commlens.compare.verdicts import ComparisonResult, Row
from commlens.model import case_key, launches_of, over_launches
from commlens.model.comparison import Verdict
from commlens.model.prediction import saving
from commlens.render.markdown import section
from commlens.render.table import Column, Line, Lines, Table, Thing, data
from commlens.render.terminal import print_things

_MOST_NAMES = 12  # of cases in a line
_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "bold red", Verdict.INCONCLUSIVE: "yellow"}


@dataclass(frozen=True)
class Comparison:
    """What is printed: tables, lines below them, and what JSON has beside the cases."""

    tables: Sequence[Table[Any]]
    lines: Sequence[Line] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)

    def print_as(self, form: str) -> None:
        """Prints it in one of FORMATS."""
        things: list[Thing] = [*self.tables, Lines(self.lines)]
        rows = (row for table in self.tables for row in table.plain)
        if form == "table":
            print_things(console(), things)
        elif form == "markdown":
            echo("\n".join(line for thing in things for line in section(thing)))
        elif form == "csv":
            text = io.StringIO()
            columns = (column for table in self.tables[:1] for column in table.declared)
            names = [column.key for column in columns if column.key]
            writer = csv.DictWriter(text, names, lineterminator="\n")
            writer.writeheader()
            for row in rows:
                texts = {key: printable(cell) for key, cell in row.items() if isinstance(cell, str)}
                writer.writerow({**row, **texts})
            echo(text.getvalue().rstrip("\n"))
        else:
            document = {**self.before, "cases": list(rows), **self.after}
            echo(msgspec.json.format(msgspec.json.encode(document), indent=1).decode())


FORMATS = ("table", "markdown", "csv", "json")


def comparison_of(result: ComparisonResult) -> Comparison:
    """A table for each pair of sides that were compared."""
    lines: list[Line] = [[(f"  {text}", "dim")] for text in result.how]
    lines.append([(f"  {summary(result.rows)}", "bold")])
    return Comparison(
        [_table(pair, result.rows_of(pair)) for pair in result.matched],
        lines if result.rows else [],
        {"threshold": result.threshold},
        {
            "missing": [absent._asdict() for pair in result.matched for absent in pair.missing],
            "changed": [text for pair in result.matched for text in pair.changed],
            "differences": [text for pair in result.matched for text in pair.differences],
        },
    )


def _table(matched: Matched, rows: Sequence[Row]) -> Table[Row]:
    case, *others = COLUMNS
    notes = [f"{row.name}: {row.case.note}" for row in rows if row.case.note]
    notes = [*matched.changed, *notes, *_missing_lines(matched.missing)]
    return Table(
        [case, data("baseline", lambda row: matched.baseline.name), *others],
        rows,
        title=matched.other.name,
        subtitle=f"against {matched.baseline.name}",
        about=matched.differences,
        notes=[*_predictions(rows), *((text, "yellow") for text in notes)],
    )


def _predictions(rows: Sequence[Row]) -> list[str]:
    """What replays of a program say about its run."""
    savings = [(row.name, saving(row.case.baseline, row.case.other)) for row in rows]
    return [f"{name}: {predicted}" for name, predicted in savings if predicted]


def _missing_lines(missing: Sequence[Missing]) -> list[str]:
    """`only in before (2 cases): latency 1 B, mpi, host; ...`"""
    by_side: dict[str, list[str]] = {}
    for absent in missing:
        by_side.setdefault(absent.only_in, []).append(absent.case)
    lines = []
    for where, cases in by_side.items():
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


COLUMNS: tuple[Column[Row], ...] = (
    Column("case", lambda row: row.name, left=True, wraps=True, key="case"),
    data("other", lambda row: row.other),
    Column(
        "metric",
        lambda row: labelled(row.case.metric.label, row.case.metric.unit),
        folds=True,
        once=lambda row: row.case.metric,
    ),
    data("metric", lambda row: row.case.metric.name),
    data("unit", lambda row: row.case.metric.unit),
    data("better", lambda row: row.case.metric.better),
    Column("baseline", partial(_median, 0)),
    Column("other", partial(_median, 1)),
    data("baseline_median", lambda row: row.medians[0]),
    data("other_median", lambda row: row.medians[1]),
    data("baseline_launches", lambda row: row.difference.launches[0]),
    data("other_launches", lambda row: row.difference.launches[1]),
    data("basis", lambda row: row.difference.basis),
    Column("ratio", lambda row: row.difference.ratio, format=_ratio, key="ratio"),
    Column(
        "95% interval",
        lambda row: row.difference.interval,
        format=lambda interval: f"{_ratio(interval.low)} to {_ratio(interval.high)}",
    ),
    data("ratio_low", lambda row: row.difference.interval and row.difference.interval.low),
    data("ratio_high", lambda row: row.difference.interval and row.difference.interval.high),
    data("p", lambda row: row.difference.p_value),
    Column(  # for the number of cases, after Holm
        "p", lambda row: row.corrected_p_value, format="{:.2g}".format, optional=True, key="p_holm"
    ),
    Column("launches", lambda row: "{}, {}".format(*row.difference.launches), optional=True),
    Column(
        "verdict",
        lambda row: row.verdict.value,
        left=True,
        style=lambda row: _STYLES.get(row.verdict, ""),
        key="verdict",
    ),
    data("launches_needed", lambda row: row.launches_needed),
    Column("what to do", lambda row: row.why, left=True, style="dim", folds=True, if_any=True),
)


def published_comparison_of(side: Side, source: Source) -> Comparison:
    """The records of one side beside the values of one source.

    Raises CommlensError where nothing is comparable.
    """
    records = over_launches(side.records)
    comparable = [row for row in beside(records) if row.source.name == source.name]
    figures = [figure for figure in source.figures if figure.metric]
    if not comparable:
        benchmarks = ", ".join(sorted({figure.benchmark for figure in figures})) or "no benchmark"
        raise CommlensError(
            f"{source.name}: none of its values is comparable with {side.name}: it has those of"
            f" {benchmarks}; docs/reference.md says what must agree"
        )
    names = case_names({case_key(record): [record] for record in records})
    there = {id(row.published) for row in comparable}
    ours = {case_key(row.record) for row in comparable}
    missing = [Missing(name, side.name) for key, name in names.items() if key not in ours]
    for figure in figures:
        if id(figure) not in there:
            size = f"{figure.size_name} {figure.size:,g}, " if figure.size else ""
            missing.append(Missing(f"{figure.benchmark}, {size}{figure.where}", source.name))
    case = Column[Beside](
        "case", lambda row: names[case_key(row.record)], left=True, wraps=True, key="case"
    )
    table = Table(
        [case, *_PUBLISHED_COLUMNS],
        comparable,
        title=side.name,
        subtitle=f"against {source.name}: {source.title}",
        notes=[
            *[(text, "yellow") for text in _missing_lines(missing)],
            "ratio: ours over the published value; of a single value no difference is significant",
        ],
    )
    return Comparison([table], after={"missing": [absent._asdict() for absent in missing]})


def _drawn(row: Beside) -> str | None:
    statistic = row.statistic
    if statistic is None:
        return None
    return " to ".join(format_value(end, row.metric.unit) for end in statistic.drawn)


_PUBLISHED_COLUMNS: tuple[Column[Beside], ...] = (
    data("source", lambda row: row.source.name),
    data("url", lambda row: row.source.url),
    Column("metric", lambda row: labelled(row.metric.label, row.metric.unit)),
    data("metric", lambda row: row.published.metric),
    data("unit", lambda row: row.metric.unit),
    Column("ours", lambda row: format_value(row.ours, row.metric.unit)),
    data("ours", lambda row: row.ours),
    Column("interval or range", _drawn),
    Column("launches", lambda row: len(launches_of(row.record)), key="launches"),
    Column("published", lambda row: format_value(row.published.value, row.metric.unit)),
    data("published", lambda row: row.published.value),
    data("as_printed", lambda row: row.published.as_printed),
    data("printed_unit", lambda row: row.published.printed_unit),
    Column("ratio", lambda row: row.ratio, format=format_ratio, key="ratio"),
    Column("where ours lies", lambda row: row.lies, left=True),
    Column("published for", lambda row: row.published.where, left=True, wraps=True, key="where"),
)
