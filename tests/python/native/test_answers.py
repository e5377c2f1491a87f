"""What the real program says of itself, without a launcher and without MPI; and large messages."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil
import pytest

from commlens.jobs.native import Native
from native_helpers import (
    BENCH,
    BENCHMARKS,
    OK,
    TRANSPORTS,
    USAGE,
    declared,
    native,
    needs_native,
    records_in,
    start,
)

pytestmark = needs_native

ANSWERS = (
    "", "--help", "-h", "--list", "--list --format json", "--metrics", "--metrics --format json",
    "--about", "--version",
)  # fmt: skip


@pytest.mark.parametrize("words", [*ANSWERS, *(f"{name} --help" for name in BENCHMARKS)])
def test_answers_without_mpi(words: str, tmp_path: Path) -> None:
    no_mpi = {"PATH": "/nonexistent", "OMPI_MCA_pml": "nonexistent", "OMPI_MCA_ess": "nonexistent"}
    job = start([str(BENCH), *words.split()], tmp_path, no_mpi).wait()
    assert job.status == OK
    assert job.error == ""
    assert job.output
    benchmark, _, option = words.partition(" ")
    if option == "--help":
        common = ("--transport", "--memory", "--repeat", "--timeout", "--record", "--format")
        options = [f"--{option['name']}" for option in declared()[benchmark]["options"]]
        assert options or benchmark == "init"
        for name in (*options, *common):
            assert name in job.output


@pytest.mark.parametrize("words", ["--list extra", "--help extra", "--about --x", "--version 2"])
def test_an_answer_takes_nothing_more(words: str, tmp_path: Path) -> None:
    job = start([str(BENCH), *words.split()], tmp_path).wait()
    assert job.status == USAGE and not job.output
    option, word = words.split()
    assert job.error == f"commlens: {option} takes no '{word}'; see commlens-bench --help\n"


def test_the_list_for_programs(tmp_path: Path) -> None:
    listed = json.loads(start([str(BENCH), "--list", "--format", "json"], tmp_path).wait().output)
    assert len(listed) >= 10 and [entry["name"] for entry in listed] == BENCHMARKS
    for entry in listed:
        for option in entry["options"]:
            assert {"name", "default", "help", "role", "unit"} <= set(option)
        metrics = {metric["name"]: metric for metric in entry["metrics"]}
        assert "time_us" in metrics
        for metric in metrics.values():
            assert metric["better"] in ("lower", "higher") and metric["definition"]


def test_the_features_of_the_build() -> None:
    about = Native(BENCH).about
    without = () if about.backend != "host" else ("ccl",)
    assert set(about.transports) | set(without) == set(TRANSPORTS), "only what it can run"
    assert not set(about.transports) & set(without)
    assert about.formats == ("table", "json", "csv", "osu", "nccl", "dftfe")
    assert about.backend in ("host", "cuda", "hip")
    assert about.mpi
    assert about.mpi_family in ("openmpi", "mpich", "intel", "other")


# ---- large messages ----

# At import: the fake world of conftest.py has no variable of ours.
SLOW = bool(os.environ.get("COMMLENS_SLOW_TESTS"))


@pytest.fixture
def much_memory() -> None:
    if not SLOW:
        pytest.skip("takes a minute and 11 GB: set COMMLENS_SLOW_TESTS=1")
    available = psutil.virtual_memory().available
    if available < 14 << 30:
        pytest.skip(f"needs 14 GiB of memory, {available / (1 << 30):.1f} are available")


LARGE = [
    (2, "latency --bytes 2147483653", 2147483653),
    (2, "bandwidth --bytes 2147483653 --window 1", 2147483653),
    (2, "bidirectional-bandwidth --bytes 2147483653 --window 1", 2147483653),
    (1, "allreduce --dtype i32 --count 2147483659", 4 * 2147483659),
    (2, "allreduce --dtype i32 --bytes 4294967308", 4294967308),
]


@pytest.mark.slow
@pytest.mark.usefixtures("much_memory")
@pytest.mark.parametrize(("ranks", "words", "size"), LARGE, ids=lambda value: str(value))
def test_slow_more_than_2_31(ranks: int, words: str, size: int, records: Path) -> None:
    once = "--transport mpi --memory host --repeat 1 --warmup 0 --batches 1"
    job = native(records.parent, ranks, words, once, "--record", records, limit_s=300)
    assert job.status == OK, job
    (record,) = records_in(records)
    assert record.status == "ok" and record.validation.status == "passed"
    assert record.parameters["bytes"] == size
    assert record.validation.elements >= size // 4
