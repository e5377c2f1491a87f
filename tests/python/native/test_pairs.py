"""Which pairs of ranks are measured: all of them by --matrix, those of a node by --pairs-across."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from commlens.model.pairs import pair_matrix
from native_helpers import BRIEFLY, NOTHING_RAN, measured, native, needs_native, records_in

pytestmark = needs_native

OPTIONS = "--transport mpi,staged --memory host --batches 2 --repeat 3 --warmup 1"


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("benchmark", ["latency", "bandwidth"])
def test_a_matrix_has_all_pairs_and_the_metrics_are_of_the_slowest(
    benchmark: str, ranks: int, tmp_path: Path
) -> None:
    words = ("--matrix --bytes 8,10001", OPTIONS)
    records = measured(tmp_path, ranks, benchmark, *words, ceilings=True)
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


@pytest.mark.parametrize(
    "benchmark", ["latency", "bandwidth", "bidirectional-bandwidth", "message-rate"]
)
def test_persistent_messages(benchmark: str, tmp_path: Path) -> None:
    for record in measured(tmp_path, 2, benchmark, "--call persistent --bytes 8", OPTIONS):
        assert record.parameters["call"] == "persistent" and record.validation.status == "passed"
        assert record.calls.get("MPI_Startall", 0) > 0 and "MPI_Isend" not in record.calls


def test_partitioned_messages(tmp_path: Path) -> None:
    """They are of MPI 4, and Open MPI has them since version 5."""
    words = "latency --partitions 3 --bytes 1,3,3000 --transport mpi,staged --memory host"
    job = native(tmp_path, 2, words, "--record records.jsonl", *BRIEFLY)
    records = records_in(tmp_path / "records.jsonl")
    assert len(records) == 6
    if records[0].start.versions["mpi"].startswith("Open MPI 4."):
        assert job.status == NOTHING_RAN
        lacking = "this MPI library has no partitioned messages (MPI 4): leave --partitions out"
        assert {record.reason for record in records} == {lacking}
        return
    assert job.status == 0, job
    for record in records:
        assert record.parameters["partitions"] == 3 and record.validation.status == "passed"
        assert record.calls["MPI_Pready"] == (1 if record.parameters["bytes"] == 1 else 3)


def test_a_matrix_of_persistent_messages_with_gaps(tmp_path: Path) -> None:
    words = "latency --matrix --call persistent --layout vector --bytes 1000 --transport mpi"
    (record,) = measured(tmp_path, 3, words, *BRIEFLY)
    assert record.validation.status == "passed" and record.parameters["layout"] == "vector"


@pytest.mark.parametrize("packing", ["library", "application"])
def test_messages_with_gaps(packing: str, tmp_path: Path) -> None:
    """Gaps of the receiver are part of what is validated."""
    words = f"bandwidth --bytes 8,1200 --layout indexed --block 24 --stride 80 --packing {packing}"
    for record in measured(tmp_path, 2, words, "--transport mpi", *BRIEFLY):
        chosen = {"layout": "indexed", "block": 24, "stride": 80, "packing": packing}
        assert record.parameters.items() >= chosen.items()
        assert record.validation.status == "passed"
        blocks = max(1, int(str(record.parameters["bytes"])) // 24)
        assert record.validation.elements == blocks * 80 * record.validation.checks


def test_threads_that_communicate_at_the_same_time(tmp_path: Path) -> None:
    words = "threaded-latency --threads 2 --bytes 8,100001 --transport mpi --memory host"
    small, large = measured(tmp_path, 2, words, *BRIEFLY)
    assert small.start.versions["mpi_thread_level"] == "MPI_THREAD_MULTIPLE"
    assert small.samples is not None and large.samples is not None
    assert small.samples.operation == "100 round trips of each thread"
    assert large.samples.operation == "10 round trips of each thread"
    assert small.calls["MPI_Send"] == 200 and large.calls["MPI_Recv"] == 20
    for record in (small, large):
        bytes_of = int(str(record.parameters["bytes"]))
        assert record.validation.elements == 2 * 2 * bytes_of * record.validation.checks


def test_children_that_sleep_are_killed(tmp_path: Path) -> None:
    """That none is left behind is checked of every job."""
    words = "latency --forks 3 --bytes 8 --transport mpi,staged"
    for record in measured(tmp_path, 2, words, *BRIEFLY):
        assert record.parameters["forks"] == 3 and record.validation.status == "passed"


@pytest.mark.parametrize("fan", ["in", "out"])
def test_windows_of_all_ranks_at_a_root(fan: str, tmp_path: Path) -> None:
    words = f"fan-bandwidth --fan {fan} --roots 2 --bytes 8,10001 --memory host"
    for record in measured(tmp_path, 5, words, "--transport mpi,staged,peer", *BRIEFLY):
        received = 3 * int(str(record.parameters["bytes"]))
        assert record.validation.status == "passed"
        assert record.validation.elements == received * record.validation.checks


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("latency --call persistent --transport peer", "has no persistent messages"),
        ("latency --partitions 2 --transport peer", "has no partitioned messages"),
        ("latency --layout vector --transport staged", "--packing application"),
        ("threaded-latency --transport staged", "use --transport mpi"),
    ],
)
def test_what_a_transport_lacks_is_skipped(words: str, reason: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, words, "--bytes 8 --memory host --record records.jsonl")
    assert job.status == NOTHING_RAN
    (record,) = records_in(tmp_path / "records.jsonl")
    assert record.status == "skipped" and reason in record.reason
