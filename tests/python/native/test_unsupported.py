"""What cannot run here, with the real programs: memory and transports that this build lacks, ranks
that make no pairs, and sizes that do not fit into memory."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from native_helpers import (
    BRIEFLY,
    NOTHING_RAN,
    OK,
    USAGE,
    Job,
    native,
    needs_native,
    on_host_build,
    records_in,
    through_command,
)

pytestmark = needs_native


@on_host_build
@pytest.mark.parametrize(
    ("option", "memory"),
    [
        ("--memory", "device"),
        ("--memory", "managed"),
        ("--memory", "pinned"),
        ("--from", "device"),
        ("--to", "managed"),
    ],
)
def test_memory_that_this_build_lacks(option: str, memory: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, "latency", option, memory, "--bytes", 8, *BRIEFLY)
    assert job.status == USAGE
    assert f"{option} {memory}" in job.message
    assert f"{option} host" in job.message or "use --memory host" in job.message
    assert "preset cuda or hip" in job.message


@pytest.mark.parametrize(
    ("benchmark", "ranks"),
    [
        ("latency", 1),
        ("latency", 3),
        ("bandwidth", 1),
        ("bidirectional-bandwidth", 3),
        ("message-rate", 3),
    ],
)
def test_ranks_that_make_no_pairs(benchmark: str, ranks: int, records: Path) -> None:
    job = native(records.parent, ranks, benchmark, "--record", records)
    assert job.status == USAGE
    assert f"--ranks {ranks}" in job.message
    assert "2 ranks" in job.message and "--ranks 2" in job.message
    assert not records.exists() or records.stat().st_size == 0


# Words on the command line, and what the message must hold.
TOO_LARGE: dict[str, tuple[str, ...]] = {
    "latency --bytes 1T": ("--bytes 1099511627776", "GiB are free"),
    "latency --bytes 8:1T": ("--bytes 1099511627776", "GiB are free"),
    "bandwidth --bytes 1T --transport mpi": ("--bytes 1099511627776", "GiB are free"),
    "bandwidth --window 1e15": ("--window",),
    "allreduce --bytes 1T": ("--bytes 1099511627776", "GiB are free"),
    "allreduce --count 1T": ("--count 1099511627776", "GiB are free"),
    # 2^60 elements of 16 bytes are 2^64 bytes, which is 0 if nobody looks.
    "allreduce --count 1152921504606846976 --dtype c128": ("--count 1152921504606846976",),
    "allreduce --count 1152921504606846976 --dtype f64": ("--count 1152921504606846976",),
}


@pytest.mark.parametrize("words", TOO_LARGE)
def test_what_does_not_fit_is_refused_before_it_is_allocated(words: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, words, *BRIEFLY)
    assert job.status == USAGE
    for part in TOO_LARGE[words]:
        assert part in job.message
    assert job.peak_bytes < 500e6


@pytest.mark.parametrize("benchmark", ["bandwidth", "bidirectional-bandwidth", "message-rate"])
def test_a_staged_window_that_does_not_fit_is_refused(benchmark: str, tmp_path: Path) -> None:
    """Two buffers and their stage on each of two ranks: eight times the size, however long the
    window is."""
    size = psutil.virtual_memory().total // 7
    job = native(tmp_path, 2, benchmark, "--transport staged", "--bytes", size, *BRIEFLY)
    assert job.status == USAGE
    assert f"--bytes {size}" in job.message and "free" in job.message
    assert job.peak_bytes < 500e6


# ---- a transport that this build lacks ----


def latency_over(transports: str, records: Path, sizes: str) -> Job:
    options = f"--transport {transports} --bytes {sizes}"
    return native(records.parent, 2, "latency", options, *BRIEFLY, "--record", records)


@on_host_build
def test_a_missing_transport_that_was_named(records: Path) -> None:
    job = latency_over("ccl", records, "8:64")
    assert job.status == NOTHING_RAN
    (record,) = records_in(records)
    assert record.status == "skipped" and record.transport == "ccl"
    assert "NCCL or RCCL" in record.reason
    assert record.reason in job.table
    assert record.reason in job.message, (
        "the table may lie in a file: a non-zero status needs a line here"
    )


@on_host_build
def test_a_missing_transport_that_was_named_beside_one_that_runs(records: Path) -> None:
    job = latency_over("mpi,ccl", records, "8")
    statuses = {record.transport: record.status for record in records_in(records)}
    assert statuses == {"mpi": "ok", "ccl": "skipped"}
    assert job.status == NOTHING_RAN, "what was asked for by name and did not run is no success"


@on_host_build
def test_a_missing_transport_among_all(records: Path) -> None:
    job = latency_over("all", records, "8:16")
    assert job.status == OK
    assert job.messages == []
    found = [(record.transport, record.status) for record in records_in(records)]
    assert found == [
        ("mpi", "ok"),
        ("staged", "ok"),
        ("ccl", "skipped"),
        ("peer", "ok"),
        ("mpi", "ok"),
        ("staged", "ok"),
        ("peer", "ok"),
    ]


@on_host_build
def test_a_missing_transport_through_the_command(records: Path) -> None:
    words = ("latency --transport ccl --bytes 8", *BRIEFLY, "--record", records)
    job = through_command(records.parent, *words)
    assert job.status == NOTHING_RAN
    (record,) = records_in(records)
    assert record.status == "skipped"
    assert record.reason in job.table
    assert record.reason in job.message
