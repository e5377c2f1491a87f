"""Which pairs of ranks are measured: all of them by --matrix, those of a node by --pairs-across."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from commlens.model.pairs import pair_matrix
from native_helpers import measured, needs_native

pytestmark = needs_native

OPTIONS = "--transport mpi,staged --memory host --batches 2 --repeat 3 --warmup 1"


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("benchmark", ["latency", "bandwidth"])
def test_a_matrix_has_all_pairs_and_the_metrics_are_of_the_slowest(
    benchmark: str, ranks: int, tmp_path: Path
) -> None:
    records = measured(tmp_path, ranks, benchmark, "--matrix --bytes 8,10001", OPTIONS)
    assert len(records) == 4, "two sizes over two transports"
    for record in records:
        matrix = pair_matrix(record)
        assert matrix is not None and record.main is not None
        directions = 1 if benchmark == "latency" else 2
        assert len(matrix.pairs) == directions * math.comb(ranks, 2)
        assert all(pair.value > 0 for pair in matrix.pairs)
        assert all(matrix.rows[rank][rank] is None for rank in range(ranks))
        slowest, host = matrix.pairs[0], record.start.host
        named = f"{slowest.first} ({host}) {'to' if directions == 2 else 'and'} {slowest.second}"
        assert str(record.facts["slowest_pair"]).startswith(named)
        median = f"median_pair_{record.main.name}"
        assert record.facts[median] == pytest.approx(matrix.median)
        assert record.validation.status == "passed"
        assert record.parameters["matrix"] is True
        assert record.ceiling is not None, "of the slowest pair"


def test_without_options_records_are_as_before(tmp_path: Path) -> None:
    (record, _) = measured(tmp_path, 2, "latency --bytes 8", OPTIONS)
    assert set(record.parameters) == {"bytes", "pairs"}
    assert not record.series and not record.facts


@pytest.mark.parametrize(
    "benchmark", ["latency", "bandwidth", "bidirectional-bandwidth", "message-rate"]
)
def test_pairs_within_a_node_leave_other_ranks_waiting(benchmark: str, tmp_path: Path) -> None:
    words = "--pairs-across node --pairs 1 --bytes 8"
    for record in measured(tmp_path, 3, benchmark, words, OPTIONS):
        assert record.parameters["pairs_across"] == "node" and record.parameters["pairs"] == 1
        assert record.validation.status == "passed" and record.ranks == 3


def test_message_rate_takes_all_pairs_of_the_nodes(tmp_path: Path) -> None:
    for record in measured(tmp_path, 5, "message-rate --pairs-across node --bytes 8", OPTIONS):
        assert record.parameters["pairs"] == 2
