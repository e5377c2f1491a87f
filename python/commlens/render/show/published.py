"""Published figures beside a group: a line each, or a column for what was published by size."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from commlens.base.text import format_ratio, format_value, labelled
from commlens.compare.references import Beside, Line, beside, by_ranks, find, lines_of
from commlens.model import Group, Metric, Record
from commlens.render.show.columns import NOTHING, cells, metric_column, place_columns
from commlens.render.show.grid import Column, Grid, Lines

_FEWEST_OF_CURVE = 4  # sizes from which a published line is a column
_HEAD_LETTERS = 16  # of a column


def published_grids(group: Group, measured: Sequence[Record]) -> Iterator[Grid | Lines]:
    """Nothing where nothing comparable was published."""
    found = _best(beside(measured))
    if not found:
        return
    curves = {line: own for line, own in lines_of(found).items() if len(own) >= _FEWEST_OF_CURVE}
    single = [one for one in found if one.figure.line not in curves]
    yield Lines(
        [
            [],
            [
                ("  published", "bold"),
                ("  single figures: a ratio is ours over theirs, without a test", "dim"),
            ],
        ]
    )
    if curves:
        yield _by_size(group, curves)
        yield _legend(curves)
    if single:
        yield _one_by_one(group, single)
    told = dict.fromkeys(one.source.name for one in found)
    names = ", ".join(told)
    yield Lines([[(f"  docs/reference.md says what {names} {_are(len(told))}", "dim")]])


def published_by_ranks(benchmark: str) -> Iterator[Grid | Lines]:
    """Of the same pattern, in a quantity that is no metric: with which nothing is compared."""
    quantities = by_ranks(benchmark)
    for name in dict.fromkeys(own[0].source for own in quantities):
        columns = [own for own in quantities if own[0].source == name]
        ranks = sorted({one.ranks for own in columns for one in own if one.ranks})
        grid = [Column("ranks", list(map(str, ranks)))]
        for own in columns:
            printed = {one.ranks: one.as_printed for one in own}
            head = "\n".join([*textwrap.wrap(own[0].setup, _HEAD_LETTERS), own[0].quantity])
            grid.append(Column(head, [printed.get(one, NOTHING) for one in ranks]))
        source = find(name)
        yield Lines([[], [("  published", "bold"), (f"  {name}: {source.title}", "dim")]])
        yield Grid(grid)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _best(found: Sequence[Beside]) -> list[Beside]:
    """Of the records beside one figure, of several launches or variants, the best."""
    best: dict[int, Beside] = {}
    for one in found:
        other = best.setdefault(id(one.figure), one)
        if isinstance(one.metric, Metric) and one.metric.is_better(one.ours, other.ours):
            best[id(one.figure)] = one
    return list(best.values())


def _one_by_one(group: Group, found: Sequence[Beside]) -> Grid:
    metrics = dict.fromkeys((one.metric.label, one.metric.unit) for one in found)
    unit = f" ({found[0].metric.unit})" if len({unit for _, unit in metrics}) == 1 else ""
    columns = place_columns(group, [one.record for one in found])
    if len(metrics) > 1:
        names = [labelled(one.metric.label, "" if unit else one.metric.unit) for one in found]
        columns.append(Column("", names, left=True))
    columns += [
        Column(f"ours{unit}", [_value(one, one.ours) for one in found]),
        Column(f"published{unit}", [_value(one, one.figure.value) for one in found]),
        Column("ratio", cells((one.ratio for one in found), format_ratio)),
        Column("size there", _other_sizes(group, found)),
        Column("source", [one.source.name for one in found], left=True, style="cyan"),
        Column("", [one.figure.where for one in found], left=True),
    ]
    return Grid([column for column in columns if column.head != "size there" or _any(column)])


def _any(column: Column) -> bool:
    return any(column.cells)


def _other_sizes(group: Group, found: Sequence[Beside]) -> list[str]:
    """Of figures of another size than the record's."""
    return [
        "" if one.same_size or one.figure.size is None else group.format_size(one.figure.size)
        for one in found
    ]


def _value(one: Beside, value: float) -> str:
    return format_value(value, one.metric.unit)


def _by_size(group: Group, curves: dict[Line, list[Beside]]) -> Grid:
    """A line for each record, a column for each published line."""
    places = {id(one.record): one.record for own in curves.values() for one in own}
    records = [record for record in group.records if id(record) in places]
    main = records[0].main
    assert main is not None
    columns = [*place_columns(group, records), metric_column(main, records)]
    for own in curves.values():
        texts = {id(one.record): _cell(one) for one in own}
        columns.append(Column(_head(own[0]), [texts.get(id(one), NOTHING) for one in records]))
    return Grid(columns)


def _cell(one: Beside) -> str:
    ratio = "" if one.ratio is None else f" ({format_ratio(one.ratio)})"
    return f"{_value(one, one.figure.value)}{ratio}"


def _head(one: Beside) -> str:
    words = one.figure.setup or one.figure.hardware
    return "\n".join([f"{one.source.name}:", *textwrap.wrap(words, _HEAD_LETTERS)])


def _legend(curves: dict[Line, list[Beside]]) -> Lines:
    sources = {own[0].source.name: own[0].source for own in curves.values()}
    lines = [f"  {source.name}: {source.machine}; {source.title}" for source in sources.values()]
    return Lines([[(line, "dim")] for line in lines])
