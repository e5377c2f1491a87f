"""The small benchmarks from end to end: whether the records of the real program add up.

Metrics are computed here once more from the samples of the records, by the definitions that the
benchmarks declare.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
from pathlib import Path

import pytest

from commlens.model import Record
from native_helpers import (
    AT_ONCE,
    NOTHING_RAN,
    OF_MESSAGES,
    ROOT,
    USAGE,
    measured,
    native,
    needs_native,
    records_in,
    start,
    under_mpirun,
)

pytestmark = needs_native

ELEMENT_BYTES = {"i32": 4, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
BRIEFLY = "--repeat 5 --warmup 2 --batches 7 --memory host"


def expected_metrics(record: Record) -> dict[str, list[float]]:
    """Each metric of each sample, by its definition."""
    times, n = record.samples.values_s, record.ranks
    size, pairs, window = (
        float(record.parameters.get(name, 1)) for name in ("bytes", "pairs", "window")
    )
    rates: dict[str, dict[str, float]] = {
        "bandwidth": {"bandwidth_GBps": pairs * window * size * 1e-9},
        "bidirectional-bandwidth": {"bandwidth_GBps": 2 * pairs * window * size * 1e-9},
        "fan-bandwidth": {"bandwidth_GBps": (n - 1) * window * size * 1e-9},
        "message-rate": {
            "message_rate_per_s": pairs * window,
            "bandwidth_GBps": pairs * window * size * 1e-9,
        },
        "allreduce": {
            "algorithm_bandwidth_GBps": size * 1e-9,
            "bus_bandwidth_GBps": size * 1e-9 * 2 * (n - 1) / n,
        },
        **{
            key: {
                "algorithm_bandwidth_GBps": n * size * 1e-09,
                "bus_bandwidth_GBps": (n - 1) * size * 1e-09,
            }
            for key in ("alltoallv", "gather")
        },
    }
    factors: dict[str, dict[str, float]] = {
        "latency": {"latency_us": 0.5e6},
        **{key: {"batch_s": record.harness.repeat} for key in ("allreduce", "alltoallv", "gather")},
    }
    of_rates = rates.get(record.benchmark, {})
    of_times = {"time_us": 1e6, **factors.get(record.benchmark, {})}
    return {
        **{name: [factor * time for time in times] for name, factor in of_times.items()},
        **{name: [amount / time for time in times] for name, amount in of_rates.items()},
    }


def assert_adds_up(record: Record, samples: int) -> None:
    assert record.status == "ok" and record.reason == ""
    assert record.validation.status == "passed"
    assert record.validation.elements > 0
    assert len(record.samples.values_s) == samples
    expected = expected_metrics(record)
    of_parts = {"hidden_communication", "overlap_efficiency"}  # with --compute
    assert set(record.statistics) == set(expected) == set(record.start.metrics) - of_parts
    for name, values in expected.items():
        summary = record.statistics[name]
        assert summary.count == samples
        for actual, value in (
            (summary.median, statistics.median(values)),
            (summary.mean, statistics.fmean(values)),
            (summary.min, min(values)),
            (summary.max, max(values)),
        ):
            assert math.isclose(actual, value, rel_tol=1e-9), name
        if samples >= 6:
            assert summary.ci_low is not None and summary.ci_high is not None
            assert summary.min <= summary.ci_low <= summary.median <= summary.ci_high <= summary.max
        else:
            assert summary.ci_low is None and summary.ci_high is None


# ---- every benchmark ----


@pytest.mark.parametrize("benchmark", OF_MESSAGES)
def test_every_benchmark_over_every_transport(benchmark: str, tmp_path: Path) -> None:
    words = ("--transport mpi,staged --bytes 8:32K:x64", BRIEFLY)
    records = measured(tmp_path, 2, benchmark, *words, ceilings=True)
    assert [(record.size, record.transport) for record in records] == [
        (size, transport) for size in (8, 512, 32768) for transport in ("mpi", "staged")
    ]
    assert len({record.start.start for record in records}) == 1
    for record in records:
        assert_adds_up(record, samples=7)
        harness = record.harness
        assert harness.timing == "batch"
        assert (harness.repeat, harness.warmup, harness.batches) == (5, 2, 7)
        assert record.validation.checks >= 8, "each batch, and the warm-up"
        assert [place.rank for place in record.start.placement] == [0, 1]
        (ceiling,) = record.ceilings
        assert ceiling.name == "memory copy"
        fraction = ceiling.time_us / record.statistics["time_us"].median
        assert math.isclose(ceiling.fraction, fraction)


@pytest.mark.parametrize("benchmark", ["latency", "message-rate"])
def test_two_pairs_of_ranks(benchmark: str, tmp_path: Path) -> None:
    pairs = () if benchmark == "message-rate" else ("--pairs", 2)  # all ranks by default
    words = ("--transport mpi,staged --bytes 8,1000", BRIEFLY)
    for record in measured(tmp_path, 4, benchmark, *pairs, *words):
        assert record.parameters["pairs"] == 2
        assert_adds_up(record, samples=7)


def test_an_allreduce_of_one_rank_is_skipped(tmp_path: Path) -> None:
    words = "allreduce --transport mpi --bytes 8 --record records.jsonl"
    assert native(tmp_path, 1, words).status == NOTHING_RAN
    (record,) = records_in(tmp_path / "records.jsonl")
    assert (record.status, record.statistics) == ("skipped", {})
    assert record.reason.startswith("one rank has nobody to communicate with")


# Out of place collectives_test has all types on all numbers of ranks.
@pytest.mark.parametrize(
    ("ranks", "kind"), [*((3, kind) for kind in sorted(ELEMENT_BYTES)), (2, "c128"), (4, "f32")]
)
def test_allreduce_of_odd_counts(ranks: int, kind: str, tmp_path: Path) -> None:
    """In place and in batches, and out of place and one by one; 40 sums in place are more than
    stay exact."""
    width, counts = ELEMENT_BYTES[kind], (1, 3, 1001)
    sizes = ",".join(str(count * width) for count in counts)
    once = "--transport mpi,staged --warmup 1 --no-ceilings"
    common = f"allreduce --dtype {kind} --bytes {sizes} {once}"
    in_place = "--in-place --timing batch --repeat 40 --batches 2"
    out_of_place = "--out-of-place --timing each --repeat 6"
    running = []
    # At the same time, as they wait more than they compute.
    for number, words in enumerate((in_place, out_of_place)):
        records = tmp_path / f"{number}.jsonl"
        command = under_mpirun(ranks, common, words, "--record", records)
        running.append((start(command, tmp_path, AT_ONCE), records, words))
    for job, records, words in running:
        assert job.wait().status == 0
        written = records_in(records)
        expected = [count for count in counts for _ in range(2)]
        assert [record.parameters["count"] for record in written] == expected
        for record in written:
            assert_adds_up(record, samples=2 if words is in_place else 6)
            assert record.parameters["dtype"] == kind
            assert words.split()[0] in record.start.command
            numbers = record.parameters["count"] * (2 if kind.startswith("c") else 1)
            assert record.validation.elements == record.validation.checks * numbers * ranks


@pytest.mark.parametrize("flag", ["--in-place", "--out-of-place"])
def test_parameters_have_the_names_of_the_documentation(flag: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "records-reference.md").read_text(encoding="utf-8")
    examples = [json.loads(block.split("```")[0]) for block in text.split("```json")[1:]]
    example = next(candidate for candidate in examples if "samples" in candidate)
    (record,) = measured(tmp_path, 2, "allreduce --transport mpi --bytes 64", flag, BRIEFLY)
    assert set(record.parameters) == set(example["parameters"])
    assert record.parameters["in_place"] == (flag == "--in-place")


def test_allreduce_takes_a_count(tmp_path: Path) -> None:
    words = "allreduce --transport mpi --count 77 --dtype c64"
    (record,) = measured(tmp_path, 2, words, BRIEFLY)
    assert record.parameters["count"] == 77 and record.size == 77 * 8
    assert_adds_up(record, samples=7)


# ---- repetition ----


@pytest.mark.parametrize("benchmark", ["latency", "allreduce"])
def test_each_operation_is_a_sample(benchmark: str, tmp_path: Path) -> None:
    words = "--transport mpi --bytes 8 --timing each --repeat 11 --warmup 0"
    rounds, samples = ((), 11) if benchmark == "latency" else (("--batches 3",), 33)
    (record,) = measured(tmp_path, 2, benchmark, words, *rounds)
    assert_adds_up(record, samples)
    assert record.harness.timing == "each"


def test_min_time_adds_batches(tmp_path: Path) -> None:
    words = "latency --transport mpi --bytes 8 --repeat 10 --batches 2 --min-time 0.05"
    (record,) = measured(tmp_path, 2, words)
    samples = record.samples.values_s
    assert len(samples) > 2
    assert sum(samples) * 10 >= 0.05
    assert sum(samples[:-1]) * 10 < 0.05, "and no more than needed"
    assert record.harness.min_time_s == 0.05 and record.harness.batches == 2
    assert_adds_up(record, samples=len(samples))


def test_until_ci_adds_batches(tmp_path: Path) -> None:
    words = "latency --transport mpi --bytes 8 --repeat 10 --batches 1"
    (record,) = measured(tmp_path, 2, words, "--until-ci 30% --max-time 20")
    interval = record.statistics["time_us"]
    assert interval.count >= 6, "of fewer there is no interval"
    assert interval.ci_low is not None and interval.ci_high is not None
    assert (interval.ci_high - interval.ci_low) / 2 <= 0.3 * interval.median * 1.001
    assert record.harness.until_ci_percent == 30


def test_max_time_ends_a_case_that_never_gets_narrow(tmp_path: Path) -> None:
    words = "latency --transport mpi --bytes 8 --repeat 1 --batches 6"
    job = native(tmp_path, 2, words, "--until-ci 1e-9 --max-time 1 --record r.jsonl")
    assert job.status == 0, job
    (record,) = records_in(tmp_path / "r.jsonl")
    assert record.statistics["time_us"].count > 6


@pytest.mark.parametrize("benchmark", ["latency", "bandwidth", "allreduce"])
def test_validation_can_be_off(benchmark: str, tmp_path: Path) -> None:
    words = ("--transport mpi --bytes 64 --no-validate", BRIEFLY)
    (record,) = measured(tmp_path, 2, benchmark, *words)
    assert record.status == "ok"
    validation = record.validation
    assert (validation.status, validation.checks, validation.elements) == ("off", 0, 0)
    assert validation.exact and validation.message == ""


# ---- starts ----


def test_the_environment_of_a_start_holds_no_secrets(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    options = "allreduce --transport mpi --bytes 8"
    command = under_mpirun(2, options, BRIEFLY, "--record", records)
    planted = ("MY_TOKEN", "UCX_PASSWORD", "OMPI_MCA_x_token", "MPICH_PWD", "FI_CRED", "I_MPI_KEY")
    environment = {
        "UCX_TLS": "self",
        "OMPI_MCA_btl": "self,vader",
        "NCCL_X": "https://me:s3cret@host",
    }
    environment.update(dict.fromkeys(planted, "s3cret"))
    assert start(command, tmp_path, environment).wait().status == 0
    (record,) = records_in(records)
    recorded = record.start.environment
    assert recorded["UCX_TLS"] == "self" and recorded["OMPI_MCA_btl"] == "self,vader"
    assert record.start.settings_of_transport == {"UCX_TLS": "self", "OMPI_MCA_btl": "self,vader"}
    assert "s3cret" not in records.read_text() and "PATH" not in recorded
    assert list(record.start.command[1:4]) == ["allreduce", "--transport", "mpi"]


def test_a_second_start_appends(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    for _ in range(2):
        words = "allreduce --transport mpi --bytes 8"
        assert native(tmp_path, 2, words, BRIEFLY, "--record", records).status == 0
    first, second = records_in(records)
    assert first.start.start != second.start.start


@pytest.mark.parametrize("level", ["", "single", "funneled", "serialized", "multiple"])
def test_the_record_names_the_thread_level(level: str, tmp_path: Path) -> None:
    asked = ("--thread-level", level) if level else ()
    (record,) = measured(tmp_path, 2, "latency --bytes 8 --transport mpi", BRIEFLY, *asked)
    expected = f"MPI_THREAD_{(level or 'single').upper()}"
    assert record.start.versions["mpi_thread_level"] == expected


def test_a_thread_level_that_mpi_lacks_is_refused(tmp_path: Path) -> None:
    """By an MPI that provides MPI_THREAD_SINGLE only."""
    (tmp_path / "single.c").write_text("int MPI_Query_thread(int* level) { *level = 0; return 0; }")
    library = tmp_path / "single.so"
    build = ["mpicc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "single.c")]
    try:
        subprocess.run(build, check=True, timeout=60)
    except OSError:
        pytest.skip("there is no mpicc")
    command = under_mpirun(2, "latency --bytes 8 --transport mpi --thread-level multiple")
    job = start(command, tmp_path, {**AT_ONCE, "LD_PRELOAD": str(library)}).wait()
    assert job.status == USAGE
    assert "--thread-level multiple: Open MPI" in job.message
    assert "provides less; ask for a lower one" in job.message
