"""All pairs of ranks: the matrix of few ranks, the slowest pairs of many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import format_value, labelled, memory_name
from commlens.model import Group, Record
from commlens.model.pairs import PairMatrix, matrices
from commlens.render.show.columns import NOTHING
from commlens.render.show.grid import Column, Grid, Lines

_MOST_RANKS = 16  # of a matrix that is printed whole
_SLOWEST = 10


def pair_blocks(group: Group, records: Sequence[Record]) -> Iterator[Grid | Lines]:
    for record, matrix in matrices(records):
        yield Lines([[], [(f"  {_title(group, record, matrix)}", "dim")]])
        yield _whole(matrix) if len(matrix.rows) <= _MOST_RANKS else _slowest(matrix)


def _title(group: Group, record: Record, matrix: PairMatrix) -> str:
    """`pairs of ranks, 8 B, mpi, host: latency (us); the row starts`"""
    what = "pairs of ranks" if len(matrix.rows) <= _MOST_RANKS else "the slowest pairs of ranks"
    size = group.describe_size(record.size) if record.size is not None else ""
    place = ", ".join(filter(None, (what, size, record.transport, memory_name(record.memory))))
    metric = matrix.metric
    sides = "" if matrix.is_symmetric else "; the rank of the row sends"
    return (
        f"{place}: {labelled(metric.label, metric.unit)}, median"
        f" {format_value(matrix.median, metric.unit)}{sides}"
    )


def _whole(matrix: PairMatrix) -> Grid:
    """Nodes are told apart by the hosts of the rows."""
    unit, slowest = matrix.metric.unit, matrix.pairs[0]
    both = (slowest.first, slowest.second), (slowest.second, slowest.first)
    marked = both if matrix.is_symmetric else both[:1]
    columns = [
        Column("host", [place.host for place in matrix.placement], left=True),
        Column("rank", [str(place.rank) for place in matrix.placement]),
    ]
    for second in range(len(matrix.rows)):
        values = [row[second] for row in matrix.rows]
        columns.append(
            Column(
                str(second),
                [NOTHING if one is None else format_value(one, unit) for one in values],
                styles=[
                    "bold red" if (row, second) in marked else "" for row in range(len(values))
                ],
            )
        )
    return Grid(columns)


def _slowest(matrix: PairMatrix) -> Grid:
    shown, metric = matrix.pairs[:_SLOWEST], matrix.metric
    values = [format_value(one.value, metric.unit) for one in shown]
    ratios = [f"{metric.ratio(one.value, matrix.median):.2f}x" for one in shown]
    return Grid(
        [
            Column("pair", [matrix.describe(one) for one in shown], left=True),
            Column(labelled(metric.label, metric.unit), values),
            Column("to median", ratios),
        ]
    )
