"""A comparison as a table for people, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from commlens.base.terminal import console, echo
from commlens.base.text import format_value, labelled, plural, printable
from commlens.compare.matching import Missing
from commlens.compare.result import Result
from commlens.compare.verdicts import Row, Verdict
from commlens.model.comparison import Ratio
from commlens.render.show.grid import Column, Grid, Lines, print_whole

NOTHING = "-"
_MOST_NAMES = 12  # of cases in a line
_STYLES = {Verdict.FASTER: "green", Verdict.SLOWER: "bold red", Verdict.INCONCLUSIVE: "yellow"}


def _as_table(result: Result) -> None:
    things: list[Grid | Lines] = []
    for one in result.matched:
        rows = result.rows_of(one)
        head = [(one.other.name, "bold cyan"), (f"  against {one.baseline.name}", "dim")]
        things.append(Lines([head, *([(f"  {text}", "dim")] for text in one.differences)]))
        if rows:
            things.append(_grid(rows))
        notes = [f"{row.name}: {row.case.note}" for row in rows if row.case.note]
        lines = [(text, "yellow") for text in (*one.changed, *notes, *missing_lines(one.missing))]
        things.append(Lines([[], *([(f"  {text}", style)] for text, style in lines)]))
    if result.rows:
        things.append(Lines([[(f"  {text}", "dim")] for text in result.how]))
        things.append(Lines([[(f"  {summary(result.rows)}", "bold")]]))
    print_whole(console(), things)


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


def _grid(rows: Sequence[Row]) -> Grid:
    styles = [_STYLES.get(row.verdict, "") for row in rows]
    columns = [Column(head, [text(row) for row in rows]) for head, text in _COLUMNS.items()]
    columns[0].left = True
    columns[-2] = Column("verdict", columns[-2].cells, left=True, styles=styles)
    columns[-1] = Column("", columns[-1].cells, left=True, style="dim")
    return Grid(columns)


def _value(row: Row, side: int) -> str:
    return format_value(row.medians[side], row.case.metric.unit, max(row.medians))


def _interval(ratio: Ratio | None) -> str:
    return f"{_ratio(ratio.low)} to {_ratio(ratio.high)}" if ratio else NOTHING


def _ratio(value: float) -> str:
    return f"{value:.3f}" if 0.1 <= value < 10 else f"{value:.3g}"


_COLUMNS: Mapping[str, Callable[[Row], str]] = {
    "case": lambda row: row.name,
    "metric": lambda row: labelled(row.case.metric.label, row.case.metric.unit),
    "baseline": lambda row: _value(row, 0),
    "other": lambda row: _value(row, 1),
    "ratio": lambda row: NOTHING if row.ratio is None else _ratio(row.ratio),
    "95% interval": lambda row: _interval(row.interval),
    "p": lambda row: f"{row.corrected_p_value:.2g}",
    "launches": lambda row: f"{row.launches[0]}, {row.launches[1]}",
    "verdict": lambda row: row.verdict.value,
    "what to do": lambda row: row.why,
}


def _as_markdown(result: Result) -> None:
    for one in result.matched:
        rows = [[text(row) for text in _COLUMNS.values()] for row in result.rows_of(one)]
        notes = (*one.differences, *one.changed, *missing_lines(one.missing))
        print_markdown(f"{one.other.name} against {one.baseline.name}", list(_COLUMNS), rows, notes)
    echo("\n".join([*result.how, "", f"**{summary(result.rows)}**"]))


def print_markdown(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> None:
    lines = [f"### {_cell(title)}", ""]
    if rows:
        lines += [_line(heads), _line("---" for _ in heads), *map(_line, rows), ""]
    lines += [f"- {_cell(text)}" for text in notes]
    echo("\n".join([*lines, ""] if notes else lines))


def _line(cells: Any) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """No text of a record is markup."""
    for letter, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(letter, written)
    for letter in "`*_[]":
        text = text.replace(letter, f"\\{letter}")
    return printable(text)


def _plain(row: Row, baseline: str) -> dict[str, Any]:
    """A case as programs read it; null is what could not be told."""
    return {
        "case": row.name,
        "baseline": baseline,
        "other": row.other,
        "metric": row.case.metric.name,
        "unit": row.case.metric.unit,
        "better": row.case.metric.better,
        "baseline_median": row.medians[0],
        "other_median": row.medians[1],
        "baseline_launches": row.launches[0],
        "other_launches": row.launches[1],
        "basis": row.basis,
        "ratio": row.ratio,
        "ratio_low": row.interval.low if row.interval else None,
        "ratio_high": row.interval.high if row.interval else None,
        "p": row.p_value,
        "p_holm": row.corrected_p_value,
        "verdict": row.verdict.value,
        "launches_needed": row.launches_needed,
    }


def _plain_rows(result: Result) -> list[dict[str, Any]]:
    return [_plain(row, one.baseline.name) for one in result.matched for row in result.rows_of(one)]


def _as_csv(result: Result) -> None:
    print_csv(_plain_rows(result))


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["case"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_cell(value) for name, value in row.items()} for row in rows)
    echo(text.getvalue().rstrip("\n"))


def _csv_cell(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def _as_json(result: Result) -> None:
    document = {
        "threshold": result.threshold,
        "cases": _plain_rows(result),
        "missing": [own._asdict() for one in result.matched for own in one.missing],
        "changed": [text for one in result.matched for text in one.changed],
        "differences": [text for one in result.matched for text in one.differences],
    }
    print_json(document)


def print_json(document: Mapping[str, Any]) -> None:
    echo(msgspec.json.format(msgspec.json.encode(document), indent=1).decode())


FORMATS: Mapping[str, Callable[[Result], None]] = {
    "table": _as_table,
    "markdown": _as_markdown,
    "csv": _as_csv,
    "json": _as_json,
}
