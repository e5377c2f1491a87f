"""Records against published values: single numbers, so a ratio and no verdict."""

from __future__ import annotations

from commlens.base.errors import CommlensError
from commlens.base.text import format_ratio, format_value, labelled
from commlens.compare.matching import Missing, Side, case_names
from commlens.compare.references import Beside, Figure, Source, beside
from commlens.model import Statistic, case_key, launches_of, over_launches
from commlens.render.comparison import Comparison, missing_lines, warnings
from commlens.render.table import Column, Table, data


def comparison_of(side: Side, source: Source) -> Comparison:
    """The records of one side beside the values of one source.

    Raises CommlensError where nothing is comparable.
    """
    records = over_launches(side.records)
    found = [one for one in beside(records) if one.source.name == source.name]
    figures = [figure for figure in source.figures if figure.metric]
    if not found:
        benchmarks = ", ".join(sorted({figure.benchmark for figure in figures})) or "no benchmark"
        raise CommlensError(
            f"{source.name}: none of its values is comparable with {side.name}: it has those of"
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
    case = Column[Beside](
        "case", lambda one: names[case_key(one.record)], left=True, wraps=True, key="case"
    )
    table = Table(
        [case, *_COLUMNS],
        found,
        title=side.name,
        subtitle=f"against {source.name}: {source.title}",
        notes=[*warnings(missing_lines(missing)), _HOW],
    )
    return Comparison([table], after={"missing": [one._asdict() for one in missing]})


def _size(figure: Figure) -> str:
    return f"{figure.size_name} {figure.size:,g}, " if figure.size else ""


def _statistic(one: Beside) -> Statistic | None:
    return one.record.statistics.get(one.figure.metric)


def _lies(one: Beside) -> str | None:
    """Where ours lies: whether the published value is within what our launches or samples gave."""
    statistic = _statistic(one)
    if one.ratio is None:
        return "another size or memory"
    if statistic is None:
        return None
    low, high = statistic.drawn
    if one.figure.value < low:
        return "ours is above"
    return "ours is below" if one.figure.value > high else "within our interval"


def _interval(one: Beside) -> str | None:
    statistic = _statistic(one)
    if statistic is None:
        return None
    return " to ".join(format_value(end, one.metric.unit) for end in statistic.drawn)


_COLUMNS: tuple[Column[Beside], ...] = (
    data("source", lambda one: one.source.name),
    data("url", lambda one: one.source.url),
    Column("metric", lambda one: labelled(one.metric.label, one.metric.unit)),
    data("metric", lambda one: one.figure.metric),
    data("unit", lambda one: one.metric.unit),
    Column("ours", lambda one: format_value(one.ours, one.metric.unit)),
    data("ours", lambda one: one.ours),
    Column("interval or range", _interval),
    Column("launches", lambda one: len(launches_of(one.record)), key="launches"),
    Column("published", lambda one: format_value(one.figure.value, one.metric.unit)),
    data("published", lambda one: one.figure.value),
    data("as_printed", lambda one: one.figure.as_printed),
    data("printed_unit", lambda one: one.figure.printed_unit),
    Column("ratio", lambda one: one.ratio, format=format_ratio, key="ratio"),
    Column("where ours lies", _lies, left=True),
    Column("published for", lambda one: one.figure.where, left=True, wraps=True, key="where"),
)
_HOW = "ratio: ours over the published value; of a single value no difference is significant"
