import json
import os
import tomllib
from pathlib import Path

import pytest

import commlens
from commlens.errors import CommlensError
from commlens.records import Candidate, Record, cases, load, parse
from conftest import SOURCES
from sample_records import make_record


def record(**changes: object) -> Record:
    return parse(json.dumps(make_record(**changes)) + "\n")


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((SOURCES.parent / "pyproject.toml").read_text())["project"]
    assert project["version"] == commlens.__version__


def test_a_record_is_read() -> None:
    found = record(bytes=4096, median_us=2.0)
    assert found.size == 4096
    assert found.figure == "latency_us"
    assert found.statistics["latency_us"].median == 2.0
    assert found.ceiling is not None and found.ceiling.fraction == 0.25
    assert found.mpi == "Open MPI 4.1.4"


def test_the_size_may_be_a_count() -> None:
    assert record(parameters={"count": 1000, "dtype": "f64"}).size == 8000
    assert record(parameters={}).size is None


def test_what_was_found_is_read_as_it_was_written() -> None:
    facts = {"labels_shared": 236041, "bytes_per_iteration": 1.5e9, "used": "pairwise", "converged": False}
    found = record(
        facts=facts,
        series={"relative_residual": [1.0, None, 0.25]},
        report=["mesh", "", "gs_setup"],
        candidate={"name": "pairwise+device", "seconds": 4e-5, "text": "pairwise+device (MPI)"},
    )
    assert list(found.facts.items()) == list(facts.items())
    assert found.series == {"relative_residual": [1.0, None, 0.25]}
    assert found.report == ["mesh", "", "gs_setup"]
    assert found.candidate == Candidate("pairwise+device", 4e-5, "pairwise+device (MPI)")
    bare = record()
    assert (bare.facts, bare.series, bare.report, bare.candidate) == ({}, {}, [], None)


@pytest.mark.parametrize(
    "changes",
    [
        {"facts": {"labels": [1]}},
        {"series": {"residual": ["1"]}},
        {"report": "a line"},
        {"candidate": {"name": "pairwise", "seconds": -1.0, "text": ""}},
        {"candidate": {"name": "pairwise", "text": ""}},
    ],
)
def test_a_finding_of_another_kind_is_no_record(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"^not a record of schema 1 \\({next(iter(changes))}"):
        record(**changes)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hello\n", "not a record (not JSON"),
        ('{"schema": 1', "its line was cut short"),
        ("[]\n", "not a JSON object"),
        ('{"schema": 1}\n', "not a record of schema 1 (the record: 'time' is a required property)"),
        (json.dumps(make_record(status="fine")) + "\n", "(status: 'fine' is not one of"),
    ],
)
def test_what_is_no_record_is_reported_with_its_line_and_the_rest_is_read(
    line: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text(json.dumps(make_record()) + "\n" + line)
    loaded = load([tmp_path])
    assert len(loaded.records) == 1
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"{file}:2: ")
    assert problem in loaded.problems[0]


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_what_may_never_end_is_not_read(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(CommlensError, match=f"^{path} is a device or a pipe"):
        load([path])


def test_a_file_or_folder_without_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommlensError, match="cannot be read: No such file"):
        load([tmp_path / "none.jsonl"])
    with pytest.raises(CommlensError, match="a folder without a file of records"):
        load([tmp_path])


def test_sizes_transports_and_memories_share_a_case() -> None:
    both = [
        record(bytes=size, transport=transport, memory=memory)
        for size in (1, 2)
        for transport in ("ccl", "mpi")
        for memory in ("host", "device")
    ]
    (case,) = cases(both)
    assert case.is_sweep and case.sizes == [1, 2] and case.variants == {}
    assert [one.transport for one in case.records[:4]] == ["mpi", "mpi", "ccl", "ccl"]


def test_a_single_size_and_a_sweep_stay_apart() -> None:
    sweep = [record(bytes=size, run="a") for size in (8, 16)]
    found = cases([*sweep, record(bytes=8, run="b"), record(bytes=8, run="c", benchmark="bandwidth")])
    assert [(case.benchmark, case.is_sweep) for case in found] == [
        ("latency", True), ("latency", False), ("bandwidth", False),
    ]  # fmt: skip


def test_runs_of_the_same_are_told_apart_by_their_settings() -> None:
    runs = {"a": {"OMPI_MCA_pml": "ucx", "UCX_TLS": "all"}, "b": {"OMPI_MCA_pml": "ob1", "UCX_TLS": "all"}}
    (case,) = cases([record(run=run, environment=environment) for run, environment in runs.items()])
    assert case.variants == {"a": "pml=ucx", "b": "pml=ob1"}
    one = runs["a"]
    (case,) = cases([record(run=run, environment=e, memory=memory) for run, e, memory in [
        ("a", one, "host"), ("b", runs["b"], "host"), ("c", one, "device"),
    ]])  # fmt: skip
    assert case.variants == {"a": "pml=ucx", "b": "pml=ob1", "c": "pml=ucx"}
    (case,) = cases([record(run=run) for run in "ab"])
    assert case.variants == {"a": "default settings run 1", "b": "default settings run 2"}


def test_the_ratio_is_to_the_best_transport_of_the_size_and_memory() -> None:
    fast, slow, alone = record(median_us=2), record(median_us=5, transport="staged"), record(bytes=8)
    (case,) = cases([fast, slow, alone])
    assert (case.best(fast), case.best(slow), case.best(alone)) == (1, 2.5, None)
    wide, narrow = (record(figure="bandwidth_GBps", median_us=us, transport=name) for us, name in ((1, "a"), (4, "b")))
    (case,) = cases([wide, narrow])
    assert (case.best(wide), case.best(narrow)) == (1, 4)
