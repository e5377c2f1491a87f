"""The matrix of all pairs of ranks, which `--matrix` measures: a series `pairs_METRIC`."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from commlens.model.record import Record
from commlens.model.start import Metric, Place

_SERIES = "pairs_"


class RankPair(NamedTuple):
    """Two ranks and the value that was measured between them."""

    first: int  # it sends, or starts
    second: int
    value: float


class PairMatrix:
    """The values of all pairs of ranks, in the unit of the metric: rows by the rank that sends,
    columns by the one that receives."""

    def __init__(
        self, metric: Metric, rows: Sequence[Sequence[float | None]], placement: Sequence[Place]
    ) -> None:
        self.metric, self.rows, self.placement = metric, rows, placement
        # Whether a pair has one value for both directions.
        self.is_symmetric = all(
            rows[a][b] == rows[b][a] for a in range(len(rows)) for b in range(a)
        )
        pairs = [
            RankPair(first, second, value)
            for first, row in enumerate(rows)
            for second, value in enumerate(row)
            if value is not None and not (self.is_symmetric and second < first)
        ]
        # The slowest first; of a symmetric matrix each once.
        self.pairs = sorted(pairs, key=lambda pair: pair.value, reverse=metric.better == "lower")
        # With which another node begins than that of the rank before.
        hosts = [place.host for place in placement]
        self.first_ranks = [rank for rank in range(1, len(hosts)) if hosts[rank] != hosts[rank - 1]]

    @property
    def median(self) -> float:
        """The median over all pairs."""
        return median(pair.value for pair in self.pairs)

    def is_across_nodes(self, pair: RankPair) -> bool:
        """Whether the two ranks are on different nodes."""
        return self.placement[pair.first].host != self.placement[pair.second].host

    def describe(self, pair: RankPair) -> str:
        """`ranks 0 (n1) and 3 (n2)`, `rank 0 (n1) to rank 3 (n2)`"""
        first, second = (
            f"{rank} ({self.placement[rank].host})" for rank in (pair.first, pair.second)
        )
        return (
            f"ranks {first} and {second}" if self.is_symmetric else f"rank {first} to rank {second}"
        )


def pair_matrix(record: Record) -> PairMatrix | None:
    """None where the record has none, or one without a pair."""
    metric = record.main
    values = record.series.get(_SERIES + metric.name) if metric else None
    if metric is None or values is None or len(values) != record.ranks**2:
        return None
    rows = [values[first : first + record.ranks] for first in range(0, len(values), record.ranks)]
    matrix = PairMatrix(metric, rows, record.start.placement)
    return matrix if matrix.pairs else None


def matrices(records: Sequence[Record]) -> list[tuple[Record, PairMatrix]]:
    """Of each transport, memory and launch those of the smallest and of the largest size: latencies
    and bandwidths."""
    by_launch: dict[tuple[str, ...], list[tuple[Record, PairMatrix]]] = {}
    for record in [record for record in records if record.series]:
        if matrix := pair_matrix(record):
            key = record.benchmark, record.transport, record.memory, record.start.start
            by_launch.setdefault(key, []).append((record, matrix))
    chosen = []
    for measured in by_launch.values():
        measured.sort(key=lambda entry: entry[0].size or 0)
        chosen += measured if len(measured) < 2 else [measured[0], measured[-1]]
    return chosen
