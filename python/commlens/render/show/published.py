"""Published results beside a group: a line each, or a column for what was published by size."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from commlens.base.text import format_value, labelled
from commlens.compare.references import Beside, Line, beside, by_ranks, find, lines_of
from commlens.model import Group, Metric, Record
from commlens.render.show.columns import metric_columns, place_columns
from commlens.render.table import Column, Lines, Table, Thing

_FEWEST_OF_CURVE = 4  # sizes from which a published line is a column
_HEAD_WIDTH = 16  # characters of a column


def published_tables(group: Group, measured: Sequence[Record]) -> Iterator[Thing]:
    """Nothing where nothing comparable was published."""
    pairs = _best(beside(measured))
    if not pairs:
        return
    lines = lines_of(pairs)
    curves = {line: lines[line] for line in lines if len(lines[line]) >= _FEWEST_OF_CURVE}
    single = [pair for pair in pairs if pair.published.line not in curves]
    yield _heading("single values: a ratio is ours over theirs, outside our interval")
    if curves:
        yield _by_size(group, curves)
        sources = [points[0].source for points in curves.values()]
        texts = (f"  {source.name}: {source.machine}; {source.title}" for source in sources)
        yield Lines([[(text, "dim")] for text in dict.fromkeys(texts)])
    if single:
        yield _single_values(group, single)
    names = dict.fromkeys(pair.source.name for pair in pairs)
    are = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"
    yield Lines([[(f"  docs/reference.md says what {are}", "dim")]])


def _heading(text: str) -> Lines:
    return Lines([[], [("  published", "bold"), (f"  {text}", "dim")]])


def published_by_ranks(benchmark: str) -> Iterator[Thing]:
    """Of the same pattern, in a quantity that is no metric: with which nothing is compared."""
    quantities = by_ranks(benchmark)
    for name in dict.fromkeys(setup[0].source for setup in quantities):
        setups = [setup for setup in quantities if setup[0].source == name]
        ranks = sorted({figure.ranks for setup in setups for figure in setup if figure.ranks})
        columns = [Column[int]("ranks", lambda count: count)]
        for setup in setups:
            head = "\n".join([*textwrap.wrap(setup[0].setup, _HEAD_WIDTH), setup[0].quantity])
            columns.append(Column(head, {figure.ranks: figure.as_printed for figure in setup}.get))
        yield _heading(f"{name}: {find(name).title}")
        yield Table(columns, ranks)


def _best(pairs: Sequence[Beside]) -> list[Beside]:
    """Of the records beside one result, of several launches or variants, the best."""
    best: dict[int, Beside] = {}
    for pair in pairs:
        other = best.setdefault(id(pair.published), pair)
        if isinstance(pair.metric, Metric) and pair.metric.is_better(pair.ours, other.ours):
            best[id(pair.published)] = pair
    return list(best.values())


def _single_values(group: Group, pairs: Sequence[Beside]) -> Table[Beside]:
    units = {pair.metric.unit for pair in pairs}
    unit = units.pop() if len(units) == 1 else ""
    is_named = len({(pair.metric.label, pair.metric.unit) for pair in pairs}) > 1
    places = [column.of(lambda pair: pair.record) for column in place_columns(group)]

    def size_there(pair: Beside) -> str:
        size = pair.published.size
        return "" if pair.same_size or size is None else group.format_size(size)

    columns: list[Column[Beside]] = [
        Column("ours", lambda pair: _value(pair, pair.ours), unit),
        Column("published", lambda pair: _value(pair, pair.published.value), unit),
        Column("ratio", lambda pair: pair.verdict, left=True),
        Column("size there", size_there, if_any=True),
        Column("source", lambda pair: pair.source.name, left=True, style="cyan"),
        Column("", lambda pair: pair.published.where, left=True),
    ]
    name = Column[Beside](
        "", lambda pair: labelled(pair.metric.label, "" if unit else pair.metric.unit), left=True
    )
    return Table([*places, *[name] * is_named, *columns], pairs)


def _value(pair: Beside, value: float) -> str:
    return format_value(value, pair.metric.unit)


def _by_size(group: Group, curves: dict[Line, list[Beside]]) -> Table[Record]:
    """A line for each record, a column for each published line."""
    places = {pair.record for points in curves.values() for pair in points}
    records = [record for record in group.records if record in places]
    main = records[0].main
    assert main is not None
    lines = [_line_column(points) for points in curves.values()]
    return Table([*place_columns(group), metric_columns(main, records)[0], *lines], records)


def _line_column(points: Sequence[Beside]) -> Column[Record]:
    def text(pair: Beside) -> str:
        ratio = f" ({pair.verdict})" if pair.verdict else ""
        return f"{_value(pair, pair.published.value)}{ratio}"

    words = points[0].published.setup or points[0].published.hardware
    head = "\n".join([f"{points[0].source.name}:", *textwrap.wrap(words, _HEAD_WIDTH)])
    return Column(head, {pair.record: text(pair) for pair in points}.get)
