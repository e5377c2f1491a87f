"""What cannot run here, with the real programs: it is skipped with its reason, and no success where
it was asked for by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_helpers import (
    BENCH,
    BRIEFLY,
    EXAMPLES,
    NOTHING_RAN,
    OK,
    native,
    needs_examples,
    needs_native,
    on_host_build,
    records_in,
    through_command,
)

pytestmark = needs_native

SMALL_MESH = "--elements 4,3,2 --order 3 --repeat 3 --no-ceilings"
RANDOM_IDS = "--ids random --nodes 300000 --multiplicity 2 --repeat 1 --no-ceilings"
ON_SYNCHRONOUS = "--transport synchronous --memory host"


@pytest.mark.parametrize(
    ("program", "ranks", "words", "reason"),
    [
        pytest.param(*case, marks=needs_examples if case[0] == EXAMPLES else on_host_build)
        for case in [
            (BENCH, 2, "latency --transport ccl --bytes 8:64", "NCCL or RCCL"),
            (
                *(BENCH, 2, f"bp5 --mode host --transport mpi {SMALL_MESH}"),
                "--mode host: the data lies on the host; --mode auto takes what there is",
            ),
            (BENCH, 2, f"gather-scatter --mode host {SMALL_MESH}", "the data lies on the host"),
            (
                *(BENCH, 3, f"gather-scatter --mode all-reduce {RANDOM_IDS}"),
                "ids are shared; it is tried for fewer than 100000",
            ),
            (BENCH, 1, "xtx --dofs 1009 --vectors 53 --block 8 --tune --transport mpi", "cuBLAS"),
            (EXAMPLES, 2, f"fft --grid 8 {ON_SYNCHRONOUS}", "has no sub-communicators"),
            *(
                (EXAMPLES, 2, f"{words} --dtype c128 {ON_SYNCHRONOUS}", reason)
                for words, reason in (
                    ("xtx --dofs 100 --vectors 10", "does not sum c128"),
                    ("allreduce --count 100", "has no allreduce of c128"),
                )
            ),
        ]
    ],
)
def test_a_named_case_that_cannot_run_is_no_success(
    program: Path, ranks: int, words: str, reason: str, records: Path
) -> None:
    job = native(records.parent, ranks, words, "--record", records, program=program)
    assert job.status == NOTHING_RAN, job
    assert {record.status for record in records_in(records)} == {"skipped"}
    assert reason in job.message, "the table may lie in a file: the status needs a line here"
    assert all(record.reason in job.table for record in records_in(records))


@on_host_build
@pytest.mark.parametrize(
    ("transports", "status", "expected"),
    [
        ("mpi,ccl", NOTHING_RAN, ["mpi ok", "ccl skipped", "mpi ok"]),
        (
            *("all", OK),
            ["mpi ok", "staged ok", "ccl skipped", "peer ok", "mpi ok", "staged ok", "peer ok"],
        ),
    ],
)
def test_a_missing_transport_beside_others(
    transports: str, status: int, expected: list[str], records: Path
) -> None:
    options = f"--transport {transports} --bytes 8:16"
    job = native(records.parent, 2, "latency", options, *BRIEFLY, "--record", records)
    assert job.status == status, "what was asked for by name and did not run is no success"
    assert [f"{record.transport} {record.status}" for record in records_in(records)] == expected
    assert bool(job.messages) == (status != OK)


@on_host_build
def test_a_missing_transport_through_the_command(records: Path) -> None:
    words = ("latency --transport ccl --bytes 8", *BRIEFLY, "--record", records)
    job = through_command(records.parent, *words)
    assert job.status == NOTHING_RAN
    (record,) = records_in(records)
    assert record.status == "skipped"
    assert record.reason in job.table
    assert record.reason in job.message
