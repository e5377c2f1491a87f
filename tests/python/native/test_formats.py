"""What the real program prints in each format."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest

from commlens.base.text import format_bytes, format_number
from native_helpers import (
    needs_native,
    on_host_build,
    ran,
    records_in,
    records_of,
)

pytestmark = needs_native

WINDOW = 64
BRIEFLY = "--repeat 5 --warmup 2 --batches 7 --memory host"


def rows_as_users_parse_them(text: str) -> list[list[float]]:
    """As scripts read the output of OSU's programs."""
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    return [[float(word) for word in line.split()] for line in lines]


OSU = {
    "latency": ("Latency Test", "MPI_CHAR", ["Avg Latency(us)"]),
    "bandwidth": ("Bandwidth Test", "MPI_CHAR", ["Bandwidth (MB/s)"]),
    "bidirectional-bandwidth": (
        "Bi-Directional Bandwidth Test",
        "MPI_CHAR",
        ["Bandwidth (MB/s)"],
    ),
    "message-rate": (
        "Multiple Bandwidth / Message Rate Test",
        "MPI_CHAR",
        ["MB/s", "Messages/s"],
    ),
    "allreduce": ("Allreduce Latency Test", "MPI_DOUBLE", ["Avg Latency(us)"]),
}


def osu_value(benchmark: str, size: float, mean_s: float) -> float:
    return {
        "latency": mean_s / 2 * 1e6,
        "bandwidth": WINDOW * size / mean_s / 1e6,
        "bidirectional-bandwidth": 2 * WINDOW * size / mean_s / 1e6,
        "message-rate": WINDOW * size / mean_s / 1e6,
        "allreduce": mean_s * 1e6,
    }[benchmark]


@pytest.mark.parametrize("benchmark", sorted(OSU))
def test_osu(benchmark: str, tmp_path: Path) -> None:
    output = ran(
        tmp_path, 2, benchmark, "--transport mpi --bytes 8:512 --format osu", BRIEFLY
    ).output
    title, kind, headings = OSU[benchmark]
    lines = output.splitlines()
    assert lines[0] == ""
    assert lines[1] == f"# OSU MPI {title} v7.4"
    assert re.fullmatch(r"# commlens \d+\.\d+\.\d+", lines[2])
    assert f"# Datatype: {kind}." in lines
    heading = next(line for line in lines if line.startswith("# Size"))
    assert re.split(r"\s{2,}", heading[2:].strip()) == ["Size", *headings]
    parsed = rows_as_users_parse_them(output)
    written = records_in(tmp_path / "records.jsonl")
    assert [row[0] for row in parsed] == [8 << index for index in range(7)]
    rows = [line for line in lines if line and line[0] != "#"]
    assert len(rows) == len(parsed) == len(written)
    for line, row, record in zip(rows, parsed, written):
        assert re.fullmatch(rf"{record.size:<10}(\s*\d+\.\d\d){{{len(headings)}}}", line)
        assert len(line) == len(heading), "numbers end below their headings"
        mean_s = statistics.fmean(record.samples.values_s)
        assert abs(row[1] - osu_value(benchmark, row[0], mean_s)) <= 0.0051
        if benchmark == "message-rate":
            assert abs(row[2] - WINDOW / mean_s) <= 0.0051


def test_osu_with_two_transports_has_two_sections(tmp_path: Path) -> None:
    words = ("latency --transport mpi,staged --bytes 8:32 --format osu", BRIEFLY)
    first, second = ran(tmp_path, 2, *words).output.split("\n# OSU MPI Latency Test v7.4\n")[1:]
    for section in (first, second):
        assert [row[0] for row in rows_as_users_parse_them(section)] == [8, 16, 32]
    assert "# Transport: mpi" in first and "# Transport: staged" in second


DFTFE = re.compile(
    r"^Time in seconds for GPU Direct MPI_Allreduce using (NCCL/RCCL|standard MPI library): "
    r"(\d\.\d+e[+-]\d+)$",
    re.MULTILINE,
)


def test_dftfe(tmp_path: Path) -> None:
    output = ran(tmp_path, 2, "allreduce --count 1000 --format dftfe", BRIEFLY).output
    written = {record.transport: record for record in records_in(tmp_path / "records.jsonl")}
    lines = dict(DFTFE.findall(output))
    medians = {
        name: record.statistics["batch_s"].median
        for name, record in written.items()
        if record.status == "ok"
    }
    assert float(lines["standard MPI library"]) == medians["mpi"]
    if "ccl" in medians:
        assert float(lines["NCCL/RCCL"]) == medians["ccl"]
    else:
        assert "NCCL/RCCL" not in lines
        comments = [line for line in output.splitlines() if line.startswith("# ")]
        assert any(written["ccl"].reason in line for line in comments)
    assert all(line.startswith(("# ", "Time in seconds for ")) for line in output.splitlines())


@pytest.mark.parametrize("benchmark", ["latency", "allreduce"])
def test_json(benchmark: str, tmp_path: Path) -> None:
    output = ran(tmp_path, 2, benchmark, "--bytes 8,64 --format json", BRIEFLY).output
    assert len(records_of(output)) >= 4
    assert output == (tmp_path / "records.jsonl").read_text()


# All have the same reporter: a time, a rate, and a collective.
@pytest.mark.parametrize("benchmark", ["latency", "message-rate", "allreduce"])
def test_table(benchmark: str, tmp_path: Path) -> None:
    words = (benchmark, "--transport mpi,staged --bytes 8:1M:x128", BRIEFLY)
    lines = ran(tmp_path, 2, *words).output.splitlines()
    assert any(line.startswith("# commlens ") for line in lines)
    assert any(line.startswith(f"# {benchmark}: ") for line in lines)
    rows = [line for line in lines if line and not line.startswith("#")]
    records = records_in(tmp_path / "records.jsonl")
    assert len(rows) == len(records) == 8
    for row, record in zip(rows, records):
        main = record.main
        assert main is not None and record.size is not None
        start = f"{format_bytes(record.size):>10}  {record.transport:<6}  host    {main.label} "
        assert row.startswith(start)
        assert f" {format_number(record.statistics[main.name].median)} {main.unit} [" in row
        assert re.search(r"\[[\d.e,-]+, [\d.e,-]+\](  (< 1|[\d.]+)% of ceiling)?  passed$", row)


@on_host_build
def test_a_table_shows_skipped_cases_and_why(tmp_path: Path) -> None:
    job = ran(tmp_path, 2, "latency --transport all --bytes 8:16", BRIEFLY)
    skipped = [line for line in job.output.splitlines() if " skipped: " in line]
    assert len(skipped) == 1, "once is enough for a sweep"
    assert " ccl " in skipped[0]
    (record,) = [
        case for case in records_in(tmp_path / "records.jsonl") if case.status == "skipped"
    ]
    assert job.table.count(record.reason) == 1
