"""The real programs from end to end: what they print in each format, and whether the records add up.

Figures are computed here once more from the samples of the records, from the definitions in docs/records.md.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from native_helpers import (
    AT_ONCE,
    ROOT,
    Job,
    backend,
    missing,
    needs_native,
    records_in,
    start,
    under_mpirun,
    valid_record,
)

pytestmark = needs_native

Record = dict[str, Any]

BENCHMARKS = ("allreduce", "latency", "bandwidth", "bidirectional-bandwidth", "message-rate")
WINDOW = 64
ELEMENT_BYTES = {"i32": 4, "f32": 4, "f64": 8, "c64": 8, "c128": 16}
BRIEFLY = ("--repeat", 5, "--warmup", 2, "--batches", 7, "--memory", "host")

on_host_build = pytest.mark.skipif(not missing() and backend() != "host", reason="this build may have NCCL")


def ran(folder: Path, ranks: int, *words: object) -> Job:
    job = start(under_mpirun(ranks, *words), folder, AT_ONCE).wait(60)
    assert job.status == 0, job
    assert job.messages == []
    return job


def measured(folder: Path, ranks: int, *words: object) -> list[Record]:
    records = folder / "records.jsonl"
    records.unlink(missing_ok=True)
    ran(folder, ranks, *words, "--record", records)
    return records_in(records)


def expected_figures(record: Record) -> dict[str, list[float]]:
    """Each figure of each sample, by its definition."""
    times = record["samples"]["values_s"]
    parameters = record["parameters"]
    size, n = parameters["bytes"], record["ranks"]
    pairs, window = parameters.get("pairs", 1), parameters.get("window", 1)
    figures = {"time_us": [t * 1e6 for t in times]}
    match record["benchmark"]:
        case "latency":
            figures["latency_us"] = [t / 2 * 1e6 for t in times]
        case "bandwidth":
            figures["bandwidth_GBps"] = [pairs * window * size / t / 1e9 for t in times]
        case "bidirectional-bandwidth":
            figures["bandwidth_GBps"] = [2 * pairs * window * size / t / 1e9 for t in times]
        case "message-rate":
            figures["message_rate_per_s"] = [pairs * window / t for t in times]
            figures["bandwidth_GBps"] = [pairs * window * size / t / 1e9 for t in times]
        case "allreduce":
            figures["batch_s"] = [t * record["harness"]["repeat"] for t in times]
            figures["algorithm_bandwidth_GBps"] = [size / t / 1e9 for t in times]
            figures["bus_bandwidth_GBps"] = [size / t / 1e9 * 2 * (n - 1) / n for t in times]
    return figures


def assert_adds_up(record: Record, samples: int) -> None:
    assert record["status"] == "ok" and record["reason"] == ""
    assert record["validation"]["status"] == "passed"
    assert record["validation"]["elements"] > 0
    assert len(record["samples"]["values_s"]) == samples
    expected = expected_figures(record)
    assert set(record["statistics"]) == set(expected)
    for name, values in expected.items():
        found = record["statistics"][name]
        assert found["count"] == samples
        for what, value in (
            ("median", statistics.median(values)),
            ("mean", statistics.fmean(values)),
            ("min", min(values)),
            ("max", max(values)),
        ):
            assert math.isclose(found[what], value, rel_tol=1e-9), (name, what)
        if samples >= 6:
            assert found["min"] <= found["ci_low"] <= found["median"] <= found["ci_high"] <= found["max"]
        else:
            assert found["ci_low"] is None and found["ci_high"] is None


# ---- every benchmark ----


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_benchmark_over_every_transport(benchmark: str, tmp_path: Path) -> None:
    records = measured(tmp_path, 2, benchmark, "--transport", "mpi,staged", "--bytes", "8:32K:x64", *BRIEFLY)
    assert [(record["parameters"]["bytes"], record["transport"]) for record in records] == [
        (size, transport) for size in (8, 512, 32768) for transport in ("mpi", "staged")
    ]
    assert len({record["run"] for record in records}) == 1
    for record in records:
        assert_adds_up(record, samples=7)
        assert record["harness"]["timing"] == "batch"
        assert (record["harness"]["repeat"], record["harness"]["warmup"], record["harness"]["batches"]) == (5, 2, 7)
        assert record["validation"]["checks"] >= 8, "each batch, and the warm-up"
        assert [place["rank"] for place in record["placement"]] == [0, 1]
        (ceiling,) = record["ceilings"]
        assert ceiling["name"] == "memory copy"
        assert math.isclose(ceiling["fraction"], ceiling["time_us"] / record["statistics"]["time_us"]["median"])


@pytest.mark.parametrize("benchmark", ["latency", "message-rate"])
def test_two_pairs_of_ranks(benchmark: str, tmp_path: Path) -> None:
    pairs = () if benchmark == "message-rate" else ("--pairs", 2)  # all ranks by default
    for record in measured(tmp_path, 4, benchmark, *pairs, "--transport", "mpi,staged", "--bytes", "8,1000", *BRIEFLY):
        assert record["parameters"]["pairs"] == 2
        assert_adds_up(record, samples=7)


def test_one_pair_of_four_ranks_is_not_the_default_of_latency(tmp_path: Path) -> None:
    job = start(under_mpirun(4, "latency", "--bytes", 8), tmp_path, AT_ONCE).wait(20)
    assert job.status == 2
    assert "--pairs 2" in job.message


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", sorted(ELEMENT_BYTES))
def test_allreduce_of_odd_counts(ranks: int, kind: str, tmp_path: Path) -> None:
    """In place and in batches, and out of place and one by one; 40 sums in place are more than stay exact."""
    width = ELEMENT_BYTES[kind]
    counts = (1, 3, 1001)
    sizes = ",".join(str(count * width) for count in counts)
    common = ("allreduce", "--transport", "mpi,staged", "--dtype", kind, "--bytes", sizes, "--warmup", 1)
    in_place = ("--in-place", "--timing", "batch", "--repeat", 40, "--batches", 2)
    out_of_place = ("--out-of-place", "--timing", "each", "--repeat", 6)
    running = []
    for number, words in enumerate((in_place, out_of_place)):  # at the same time, as they wait more than they compute
        records = tmp_path / f"{number}.jsonl"
        command = under_mpirun(ranks, *common, *words, "--record", records)
        running.append((start(command, tmp_path, AT_ONCE), records, words))
    for job, records, words in running:
        assert job.wait(60).status == 0
        found = records_in(records)
        assert [record["parameters"]["count"] for record in found] == [count for count in counts for _ in range(2)]
        for record in found:
            assert_adds_up(record, samples=2 if words is in_place else 6)
            assert record["parameters"]["dtype"] == kind
            assert words[0] in record["command"]
            real_numbers = record["parameters"]["count"] * (2 if kind.startswith("c") else 1)
            assert record["validation"]["elements"] == record["validation"]["checks"] * real_numbers * ranks


@pytest.mark.parametrize("flag", ["--in-place", "--out-of-place"])
def test_parameters_have_the_names_of_the_documentation(flag: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    documented = json.loads(text.split("```json")[1].split("```")[0])["parameters"]
    (record,) = measured(tmp_path, 2, "allreduce", "--transport", "mpi", "--bytes", 64, flag, *BRIEFLY)
    assert set(record["parameters"]) == set(documented)
    assert record["parameters"]["in_place"] == (flag == "--in-place")


def test_allreduce_takes_a_count(tmp_path: Path) -> None:
    (record,) = measured(tmp_path, 2, "allreduce", "--transport", "mpi", "--count", 77, "--dtype", "c64", *BRIEFLY)
    assert record["parameters"]["count"] == 77 and record["parameters"]["bytes"] == 77 * 8
    assert_adds_up(record, samples=7)


# ---- repetition ----


@pytest.mark.parametrize("benchmark", ["latency", "allreduce"])
def test_each_operation_is_a_sample(benchmark: str, tmp_path: Path) -> None:
    words = (benchmark, "--transport", "mpi", "--bytes", 8, "--timing", "each", "--repeat", 11, "--warmup", 0)
    rounds, samples = ((), 11) if benchmark == "latency" else (("--batches", 3), 33)
    (record,) = measured(tmp_path, 2, *words, *rounds)
    assert_adds_up(record, samples)
    assert record["harness"]["timing"] == "each"


def test_min_time_adds_batches(tmp_path: Path) -> None:
    words = ("--bytes", 8, "--repeat", 10, "--batches", 2, "--min-time", 0.05)
    (record,) = measured(tmp_path, 2, "latency", "--transport", "mpi", *words)
    samples = record["samples"]["values_s"]
    assert len(samples) > 2
    assert sum(samples) * 10 >= 0.05
    assert sum(samples[:-1]) * 10 < 0.05, "and no more than needed"
    assert record["harness"]["min_time_s"] == 0.05 and record["harness"]["batches"] == 2
    assert_adds_up(record, samples=len(samples))


def test_until_ci_adds_batches(tmp_path: Path) -> None:
    words = ("--transport", "mpi", "--bytes", 8, "--repeat", 10, "--batches", 1)
    (record,) = measured(tmp_path, 2, "latency", *words, "--until-ci", "30%", "--max-time", 20)
    interval = record["statistics"]["time_us"]
    assert interval["count"] >= 6, "of fewer there is no interval"
    assert (interval["ci_high"] - interval["ci_low"]) / 2 <= 0.3 * interval["median"] * 1.001
    assert record["harness"]["until_ci_percent"] == 30


def test_max_time_ends_what_never_gets_narrow(tmp_path: Path) -> None:
    words = ("--transport", "mpi", "--bytes", 8, "--repeat", 10, "--batches", 6)
    records = tmp_path / "records.jsonl"
    job = ran(tmp_path, 2, "latency", *words, "--until-ci", "1e-9", "--max-time", 0.5, "--record", records)
    assert job.seconds < 20
    (record,) = records_in(records)
    assert record["statistics"]["time_us"]["count"] > 6


@pytest.mark.parametrize("benchmark", ["latency", "bandwidth", "allreduce"])
def test_validation_can_be_off(benchmark: str, tmp_path: Path) -> None:
    (record,) = measured(tmp_path, 2, benchmark, "--transport", "mpi", "--bytes", 64, *BRIEFLY, "--no-validate")
    assert record["status"] == "ok"
    assert record["validation"] == {"status": "off", "checks": 0, "exact": True, "elements": 0, "message": ""}


# ---- records ----


def test_the_environment_of_a_record_holds_no_secrets(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    command = under_mpirun(1, "allreduce", "--transport", "mpi", "--bytes", 8, *BRIEFLY, "--record", records)
    environment = {"MY_SECRET_TOKEN": "s3cret", "UCX_TLS": "self", "OMPI_MCA_btl": "self,vader"}
    assert start(command, tmp_path, environment).wait(20).status == 0
    (record,) = records_in(records)
    assert record["environment"]["UCX_TLS"] == "self" and record["environment"]["OMPI_MCA_btl"] == "self,vader"
    assert "s3cret" not in records.read_text() and "PATH" not in record["environment"]
    assert record["command"][1:4] == ["allreduce", "--transport", "mpi"]


def test_a_second_run_appends(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    for _ in range(2):
        ran(tmp_path, 1, "allreduce", "--transport", "mpi", "--bytes", 8, *BRIEFLY, "--record", records)
    first, second = records_in(records)
    assert first["run"] != second["run"]


# ---- formats ----


def rows_as_users_parse_them(text: str) -> list[list[float]]:
    """As scripts read the output of OSU's programs."""
    return [[float(word) for word in line.split()] for line in text.splitlines() if line and line[0] != "#"]


OSU = {
    "latency": ("OSU MPI Latency Test", "MPI_CHAR", ["Avg Latency(us)"]),
    "bandwidth": ("OSU MPI Bandwidth Test", "MPI_CHAR", ["Bandwidth (MB/s)"]),
    "bidirectional-bandwidth": ("OSU MPI Bi-Directional Bandwidth Test", "MPI_CHAR", ["Bandwidth (MB/s)"]),
    "message-rate": ("OSU MPI Multiple Bandwidth / Message Rate Test", "MPI_CHAR", ["MB/s", "Messages/s"]),
    "allreduce": ("OSU MPI Allreduce Latency Test", "MPI_DOUBLE", ["Avg Latency(us)"]),
}


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_osu(benchmark: str, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    words = (benchmark, "--transport", "mpi", "--bytes", "8:512", *BRIEFLY, "--format", "osu", "--record", records)
    output = ran(tmp_path, 2, *words).output
    title, kind, headings = OSU[benchmark]
    lines = output.splitlines()
    assert lines[0] == ""
    assert lines[1] == f"# {title} v7.4"
    assert re.fullmatch(r"# commlens \d+\.\d+\.\d+", lines[2])
    assert f"# Datatype: {kind}." in lines
    heading = next(line for line in lines if line.startswith("# Size"))
    assert re.split(r"\s{2,}", heading[2:].strip()) == ["Size", *headings]
    found = rows_as_users_parse_them(output)
    written = records_in(records)
    assert [row[0] for row in found] == [8 << index for index in range(7)]
    for line, row, record in zip([line for line in lines if line and line[0] != "#"], found, written, strict=True):
        assert re.fullmatch(rf"{record['parameters']['bytes']:<10}(\s*\d+\.\d\d){{{len(headings)}}}", line)
        assert len(line) == len(heading), "figures end below their headings"
        mean_s = statistics.fmean(record["samples"]["values_s"])
        figure = {
            "latency": mean_s / 2 * 1e6,
            "bandwidth": WINDOW * row[0] / mean_s / 1e6,
            "bidirectional-bandwidth": 2 * WINDOW * row[0] / mean_s / 1e6,
            "message-rate": WINDOW * row[0] / mean_s / 1e6,
            "allreduce": mean_s * 1e6,
        }[benchmark]
        assert abs(row[1] - figure) <= 0.0051
        if benchmark == "message-rate":
            assert abs(row[2] - WINDOW / mean_s) <= 0.0051


def test_osu_with_two_transports_has_two_sections(tmp_path: Path) -> None:
    words = ("latency", "--transport", "mpi,staged", "--bytes", "8:32", *BRIEFLY, "--format", "osu")
    output = ran(tmp_path, 2, *words).output
    sections = output.split("\n# OSU MPI Latency Test v7.4\n")[1:]
    assert [[row[0] for row in rows_as_users_parse_them(section)] for section in sections] == [[8, 16, 32]] * 2
    assert ["# Transport: mpi" in sections[0], "# Transport: staged" in sections[1]] == [True, True]


DFTFE = re.compile(
    r"^Time in seconds for GPU Direct MPI_Allreduce using (NCCL/RCCL|standard MPI library): (\d\.\d+e[+-]\d+)$", re.M
)


def test_dftfe(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    words = ("allreduce", "--count", 1000, *BRIEFLY, "--format", "dftfe", "--record", records)
    output = ran(tmp_path, 2, *words).output
    written = {record["transport"]: record for record in records_in(records)}
    lines = dict(DFTFE.findall(output))
    assert float(lines["standard MPI library"]) == written["mpi"]["statistics"]["batch_s"]["median"]
    if written["ccl"]["status"] == "ok":
        assert float(lines["NCCL/RCCL"]) == written["ccl"]["statistics"]["batch_s"]["median"]
    else:
        assert "NCCL/RCCL" not in lines
        assert [line for line in output.splitlines() if line.startswith("# ") and written["ccl"]["reason"] in line]
    assert all(line.startswith(("# ", "Time in seconds for ")) for line in output.splitlines())


@pytest.mark.parametrize("benchmark", ["latency", "allreduce"])
def test_json(benchmark: str, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    words = (benchmark, "--bytes", "8,64", *BRIEFLY, "--format", "json", "--record", records)
    output = ran(tmp_path, 2, *words).output
    assert [valid_record(line) for line in output.splitlines()] == records_in(records)
    assert output == records.read_text()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_table(benchmark: str, tmp_path: Path) -> None:
    words = (benchmark, "--transport", "mpi,staged", "--bytes", "8:1M:x128", *BRIEFLY)
    output = ran(tmp_path, 2, *words).output
    lines = output.splitlines()
    assert any(line.startswith("# commlens ") for line in lines)
    assert any(line.startswith(f"# {benchmark}: ") for line in lines)
    heading = next(line for line in lines if line.startswith("#") and " transport " in line)
    rows = [line for line in lines if line and not line.startswith("#")]
    assert len(rows) == 6
    for row, (size, transport) in zip(
        rows, [(s, t) for s in (8, 1024, 131072) for t in ("mpi", "staged")], strict=True
    ):
        assert row[: heading.index(" transport")].split()[-1] == str(size)
        assert row[heading.index("transport") :].startswith(f"{transport:<9}  host ")
        assert row[heading.index("memory") :].startswith("host")
        assert row[heading.index("check") :] == "exact", "the last column begins below its heading"
    ends = {len(row[: heading.index(" transport")].rstrip()) for row in rows}
    assert len(ends) == 1, "sizes are right-aligned"


@on_host_build
def test_a_table_shows_what_was_skipped_and_why(tmp_path: Path) -> None:
    output = ran(tmp_path, 2, "latency", "--transport", "all", "--bytes", "8:16", *BRIEFLY).output
    skipped = [line for line in output.splitlines() if " skipped: " in line]
    assert len(skipped) == 1, "once is enough for a sweep"
    assert " ccl " in skipped[0]
