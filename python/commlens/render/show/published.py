"""Published results beside a group: a line each, or a column for what was published by size."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from commlens.base.text import format_ratio, format_value, labelled
from commlens.compare.references import Beside, Line, beside, by_ranks, find, lines_of
from commlens.model import Group, Metric, Record
from commlens.render.show.columns import metric_columns, place_columns
from commlens.render.table import Column, Lines, Table, Thing

_FEWEST_OF_CURVE = 4  # sizes from which a published line is a column
_HEAD_WIDTH = 16  # characters of a column


def published_tables(group: Group, measured: Sequence[Record]) -> Iterator[Thing]:
    """Nothing where nothing comparable was published."""
    found = _best(beside(measured))
    if not found:
        return
    curves = {line: own for line, own in lines_of(found).items() if len(own) >= _FEWEST_OF_CURVE}
    single = [one for one in found if one.figure.line not in curves]
    yield _heading("single values: a ratio is ours over theirs, without a test")
    if curves:
        yield _by_size(group, curves)
        sources = (own[0].source for own in curves.values())
        texts = dict.fromkeys(f"  {one.name}: {one.machine}; {one.title}" for one in sources)
        yield Lines([[(text, "dim")] for text in texts])
    if single:
        yield _single_values(group, single)
    told = dict.fromkeys(one.source.name for one in found)
    are = f"{', '.join(told)} {'is' if len(told) == 1 else 'are'}"
    yield Lines([[(f"  docs/reference.md says what {are}", "dim")]])


def _heading(text: str) -> Lines:
    return Lines([[], [("  published", "bold"), (f"  {text}", "dim")]])


def published_by_ranks(benchmark: str) -> Iterator[Thing]:
    """Of the same pattern, in a quantity that is no metric: with which nothing is compared."""
    quantities = by_ranks(benchmark)
    for name in dict.fromkeys(own[0].source for own in quantities):
        setups = [own for own in quantities if own[0].source == name]
        ranks = sorted({one.ranks for own in setups for one in own if one.ranks})
        columns = [Column[int]("ranks", lambda count: count)]
        for own in setups:
            head = "\n".join([*textwrap.wrap(own[0].setup, _HEAD_WIDTH), own[0].quantity])
            columns.append(Column(head, {one.ranks: one.as_printed for one in own}.get))
        yield _heading(f"{name}: {find(name).title}")
        yield Table(columns, ranks)


def _best(found: Sequence[Beside]) -> list[Beside]:
    """Of the records beside one result, of several launches or variants, the best."""
    best: dict[int, Beside] = {}
    for one in found:
        other = best.setdefault(id(one.figure), one)
        if isinstance(one.metric, Metric) and one.metric.is_better(one.ours, other.ours):
            best[id(one.figure)] = one
    return list(best.values())


def _single_values(group: Group, found: Sequence[Beside]) -> Table[Beside]:
    units = {one.metric.unit for one in found}
    unit = units.pop() if len(units) == 1 else ""
    is_named = len({(one.metric.label, one.metric.unit) for one in found}) > 1
    places = [column.of(lambda one: one.record) for column in place_columns(group)]

    def size_there(one: Beside) -> str:
        size = one.figure.size
        return "" if one.same_size or size is None else group.format_size(size)

    columns: list[Column[Beside]] = [
        Column("ours", lambda one: _value(one, one.ours), unit),
        Column("published", lambda one: _value(one, one.figure.value), unit),
        Column("ratio", lambda one: one.ratio, format=format_ratio),
        Column("size there", size_there, if_any=True),
        Column("source", lambda one: one.source.name, left=True, style="cyan"),
        Column("", lambda one: one.figure.where, left=True),
    ]
    name = Column[Beside](
        "", lambda one: labelled(one.metric.label, "" if unit else one.metric.unit), left=True
    )
    return Table([*places, *[name] * is_named, *columns], found)


def _value(one: Beside, value: float) -> str:
    return format_value(value, one.metric.unit)


def _by_size(group: Group, curves: dict[Line, list[Beside]]) -> Table[Record]:
    """A line for each record, a column for each published line."""
    places = {one.record for own in curves.values() for one in own}
    records = [record for record in group.records if record in places]
    main = records[0].main
    assert main is not None
    lines = [_line_column(own) for own in curves.values()]
    return Table([*place_columns(group), metric_columns(main, records)[0], *lines], records)


def _line_column(own: Sequence[Beside]) -> Column[Record]:
    def text(one: Beside) -> str:
        ratio = "" if one.ratio is None else f" ({format_ratio(one.ratio)})"
        return f"{_value(one, one.figure.value)}{ratio}"

    words = own[0].figure.setup or own[0].figure.hardware
    head = "\n".join([f"{own[0].source.name}:", *textwrap.wrap(words, _HEAD_WIDTH)])
    return Column(head, {one.record: text(one) for one in own}.get)
