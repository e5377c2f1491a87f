"""All pairs of ranks: the matrix of few ranks, the slowest pairs of many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from commlens.base.text import format_value, labelled, memory_name
from commlens.model import Group, Record
from commlens.model.pairs import PairMatrix, RankPair, matrices
from commlens.render.table import Column, Lines, Table, Thing

_MOST_RANKS = 16  # of a matrix that is printed whole
_SLOWEST = 10


def pair_blocks(group: Group, records: Sequence[Record]) -> Iterator[Thing]:
    """The matrices of records that have them, each below a line that names it."""
    for record, matrix in matrices(records):
        yield Lines([[], [(f"  {_title(group, record, matrix)}", "dim")]])
        yield _whole(matrix) if len(matrix.rows) <= _MOST_RANKS else _slowest(matrix)


def _title(group: Group, record: Record, matrix: PairMatrix) -> str:
    """`pairs of ranks, 8 B, mpi, host: latency (us); the row starts`"""
    subject = "pairs of ranks" if len(matrix.rows) <= _MOST_RANKS else "the slowest pairs of ranks"
    size = group.describe_size(record.size) if record.size is not None else ""
    place = ", ".join(filter(None, (subject, size, record.transport, memory_name(record.memory))))
    metric = matrix.metric
    sides = "" if matrix.is_symmetric else "; the rank of the row sends"
    return (
        f"{place}: {labelled(metric.label, metric.unit)}, median"
        f" {format_value(matrix.median, metric.unit)}{sides}"
    )


def _whole(matrix: PairMatrix) -> Table[int]:
    """Nodes are told apart by the hosts of the rows."""
    slowest, places = matrix.pairs[0], matrix.placement
    both = (slowest.first, slowest.second), (slowest.second, slowest.first)
    marked = both if matrix.is_symmetric else both[:1]
    ranks = range(len(matrix.rows))
    text = partial(format_value, unit=matrix.metric.unit)

    def column(second: int) -> Column[int]:
        return Column(
            str(second),
            lambda row: matrix.rows[row][second],
            format=text,
            style=lambda row: "bold red" if (row, second) in marked else "",
        )

    names: list[Column[int]] = [
        Column("host", lambda row: places[row].host, left=True),
        Column("rank", lambda row: places[row].rank),
    ]
    return Table([*names, *map(column, ranks)], ranks)


def _slowest(matrix: PairMatrix) -> Table[RankPair]:
    metric = matrix.metric
    text = partial(format_value, unit=metric.unit)
    columns: list[Column[RankPair]] = [
        Column("pair", matrix.describe, left=True),
        Column(metric.label, lambda pair: pair.value, metric.unit, text),
        Column("to median", lambda pair: f"{metric.ratio(pair.value, matrix.median):.2f}x"),
    ]
    return Table(columns, matrix.pairs[:_SLOWEST])
