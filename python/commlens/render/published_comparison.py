"""Records against published figures: single numbers, so a ratio and no verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commlens.base.errors import CommlensError
from commlens.base.terminal import console
from commlens.base.text import format_ratio, format_value, labelled
from commlens.compare.matching import Missing, Side
from commlens.compare.naming import case_names
from commlens.compare.references import Beside, Figure, Source, beside
from commlens.model import case_key, launches_of, over_launches
from commlens.render.comparison import NOTHING, missing_lines, print_csv, print_json, print_markdown
from commlens.render.show.grid import Column, Grid, Lines, print_whole


@dataclass(frozen=True)
class Published:
    """The records of one side beside the figures of one source."""

    source: Source
    side: Side
    found: Sequence[Beside]
    names: Sequence[str]  # of the cases found
    missing: Sequence[Missing]


def against(side: Side, source: Source) -> Published:
    """Raises CommlensError where nothing is comparable."""
    records = over_launches(side.records)
    found = [one for one in beside(records) if one.source.name == source.name]
    figures = [figure for figure in source.figures if figure.metric]
    if not found:
        benchmarks = ", ".join(sorted({figure.benchmark for figure in figures})) or "no benchmark"
        raise CommlensError(
            f"{source.name}: none of its figures is comparable with {side.name}: it has those of"
            f" {benchmarks}; docs/reference.md says what must agree"
        )
    names = case_names({case_key(one): [one] for one in records})
    there = {id(one.figure) for one in found}
    ours = {case_key(one.record) for one in found}
    missing = [Missing(name, side.name) for key, name in names.items() if key not in ours]
    missing += [
        Missing(f"{figure.benchmark}, {_size(figure)}{figure.where}", source.name)
        for figure in figures
        if id(figure) not in there
    ]
    return Published(source, side, found, [names[case_key(one.record)] for one in found], missing)


def _size(figure: Figure) -> str:
    return f"{figure.size_name} {figure.size:,g}, " if figure.size else ""


def _lies(one: Beside) -> str:
    """Where ours lies: whether the published figure is within what our launches or samples gave."""
    statistic = one.record.statistics.get(one.figure.metric)
    if one.ratio is None:
        return "another size or memory"
    if statistic is None:
        return NOTHING
    low, high = statistic.drawn
    if one.figure.value < low:
        return "ours is above"
    return "ours is below" if one.figure.value > high else "within our interval"


def _interval(one: Beside) -> str:
    statistic = one.record.statistics.get(one.figure.metric)
    if statistic is None:
        return NOTHING
    return " to ".join(format_value(end, one.metric.unit) for end in statistic.drawn)


_COLUMNS: Mapping[str, Callable[[Beside], str]] = {
    "metric": lambda one: labelled(one.metric.label, one.metric.unit),
    "ours": lambda one: format_value(one.ours, one.metric.unit),
    "interval or range": _interval,
    "launches": lambda one: str(len(launches_of(one.record))),
    "published": lambda one: format_value(one.figure.value, one.metric.unit),
    "ratio": lambda one: NOTHING if one.ratio is None else format_ratio(one.ratio),
    "where ours lies": _lies,
    "published for": lambda one: one.figure.where,
}
_HOW = "ratio: ours over the published figure; of a single figure no difference is significant"


def _as_table(own: Published) -> None:
    columns = [Column("case", list(own.names), left=True)]
    columns += [Column(head, [text(one) for one in own.found]) for head, text in _COLUMNS.items()]
    columns[-1].left = columns[-2].left = True
    head = [(own.source.name, "bold cyan"), (f"  {own.source.title}", "dim")]
    missing = [[(f"  {text}", "yellow")] for text in missing_lines(own.missing)]
    print_whole(
        console(), [Lines([head]), Grid(columns), Lines([[], *missing, [(f"  {_HOW}", "dim")]])]
    )


def _as_markdown(own: Published) -> None:
    rows = [
        [name, *(text(one) for text in _COLUMNS.values())]
        for name, one in zip(own.names, own.found)
    ]
    title = f"{own.side.name} against {own.source.name}"
    print_markdown(title, ["case", *_COLUMNS], rows, [*missing_lines(own.missing), _HOW])


def _plain(own: Published) -> list[dict[str, Any]]:
    return [
        {
            "case": name,
            "source": own.source.name,
            "url": own.source.url,
            "metric": one.figure.metric,
            "unit": one.metric.unit,
            "ours": one.ours,
            "launches": len(launches_of(one.record)),
            "published": one.figure.value,
            "as_printed": one.figure.as_printed,
            "printed_unit": one.figure.printed_unit,
            "ratio": one.ratio,
            "where": one.figure.where,
        }
        for name, one in zip(own.names, own.found)
    ]


FORMATS: Mapping[str, Callable[[Published], None]] = {
    "table": _as_table,
    "markdown": _as_markdown,
    "csv": lambda own: print_csv(_plain(own)),
    "json": lambda own: print_json(
        {"cases": _plain(own), "missing": [one._asdict() for one in own.missing]}
    ),
}
