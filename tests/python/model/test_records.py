"""Files of records: what is read, joined and refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from array import array
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

import commlens
from commlens.base.errors import CommlensError
from commlens.model import load, read
from commlens.model.results import Candidate
from conftest import SOURCES
from record_helpers import parsed, record, write
from run_helpers import cases
from sample_applications import (
    make_exchange_record,
    make_overlap_record,
    make_solve_record,
    make_transform_records,
)
from sample_records import lines, make_record

MEASURED = SOURCES.parent / "docs" / "measured"
SCHEMA = json.loads((SOURCES.parent / "docs" / "record.schema.json").read_text(encoding="utf-8"))


def problems(*records: dict[str, Any]) -> list[str]:
    return read(lines(records)).problems


def test_the_version_is_the_same_everywhere() -> None:
    project = (SOURCES.parent / "pyproject.toml").read_text()
    (version,) = re.findall(r'^version = "(.*)"$', project, re.MULTILINE)
    assert version == commlens.__version__


def test_a_record_is_read() -> None:
    decoded = record(bytes=4096, median_us=2.0)
    assert decoded.size == 4096
    assert decoded.main is not None and decoded.main.name == "latency_us"
    assert decoded.statistics["latency_us"].median == 2.0
    assert decoded.ceiling is not None and decoded.ceiling.fraction == 0.25
    assert decoded.start.mpi == "Open MPI 4.1.4"


def test_samples_are_kept_once_and_in_eight_bytes_each() -> None:
    values = record().samples.values_s
    assert isinstance(values, array)
    assert (values.typecode, list(values)) == ("d", [2e-6] * 10)


def test_results_are_read_as_they_were_written() -> None:
    facts = {
        "labels_shared": 236041,
        "bytes_per_iteration": 1.5e9,
        "used": "pairwise",
        "converged": False,
    }
    decoded = record(
        facts=facts,
        series={"relative_residual": [1.0, None, 0.25]},
        report=["mesh", "", "gs_setup"],
        candidate={"name": "pairwise+device", "seconds": 4e-5, "text": "pairwise+device (MPI)"},
    )
    assert list(decoded.facts.items()) == list(facts.items())
    assert decoded.series == {"relative_residual": [1.0, None, 0.25]}
    assert decoded.report == ("mesh", "", "gs_setup")
    candidate = Candidate(name="pairwise+device", seconds=4e-5, text="pairwise+device (MPI)")
    assert decoded.candidate == candidate
    bare = record()
    assert (bare.facts, bare.series, bare.report, bare.candidate) == ({}, {}, (), None)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        *cases("lines that are no records"),
        (lines([make_record(status="fine")])[1], "(status: Invalid enum value 'fine')"),
        (lines([make_record(backend="hip")])[1], "before it, or could not be read)"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_the_rest_is_read(
    line: str, problem: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    with file.open("a") as stream:
        stream.write(line)
    loaded = load([tmp_path])
    assert len(loaded.records) == 1
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"{file}:3: ")
    assert problem in loaded.problems[0]


def test_lines_with_the_same_problem_are_named_together() -> None:
    old, good = '{"schema": 1}\n', lines([make_record()])
    problems = read([old, old, old, *good, "[]\n", old, old], "f").problems
    assert problems == [
        "f:1-3: not a record of schema 2 (its schema is 1)",
        "f:6: not a record (not a JSON object)",
        "f:7-8: not a record of schema 2 (its schema is 1)",
    ]
    _, record = good
    assert [problem.split(" ")[0] for problem in read([record, "[]\n", record]).problems] == [
        "records:1:", "records:2:", "records:3:",
    ]  # fmt: skip


def test_a_start_belongs_to_its_file(tmp_path: Path) -> None:
    start, line = lines([make_record(start="one")])
    (tmp_path / "a.jsonl").write_text(start)
    (tmp_path / "b.jsonl").write_text(line)
    loaded = load([tmp_path])
    assert [launch.start for launch in loaded.launches] == ["one"]
    missing = "start: its start 'one' is not in this file before it, or could not be read"
    problem = f"{tmp_path / 'b.jsonl'}:1: not a record of schema 2 ({missing})"
    assert (loaded.records, loaded.problems) == ([], [problem])


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    (tmp_path / "link.jsonl").symlink_to(file)
    assert len(load([file, tmp_path, file]).records) == 1


def test_a_start_may_be_repeated_but_not_changed() -> None:
    first, second = (lines([make_record(start="one", nodes=nodes)]) for nodes in (1, 2))
    assert read([*first, *first]).problems == []
    assert read([*first, *second]).problems == [
        "records:3: a second start is called 'one', and it is another one"
    ]


def test_the_main_metric_is_the_first_that_was_measured() -> None:
    text = make_overlap_record()
    assert [metric.name for metric in parsed(text)[0].metrics] == [
        "time_s", "rank_TFLOPs", "overlap_efficiency", "time_us",
    ]  # fmt: skip
    del text["statistics"]["time_s"]
    (decoded,) = parsed(text)
    assert decoded.main is not None and decoded.main.name == "rank_TFLOPs"
    assert record(status="skipped", reason="no").main is None


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_files_that_may_never_end_are_not_read(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(CommlensError, match=f"^{path} is a device or a pipe"):
        load([path])


def test_a_file_or_folder_without_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommlensError, match="cannot be read: No such file"):
        load([tmp_path / "none.jsonl"])
    with pytest.raises(CommlensError, match=r"a folder without a file of records \(\*\.jsonl\)$"):
        load([tmp_path])


def test_records_are_found_in_folders_below(tmp_path: Path) -> None:
    """A loose file hides none of them, and a search shows its trials only where it is named."""
    for number, name in enumerate(("a.jsonl", "suite/1.jsonl", "job/records/s/2.jsonl",
                                   "tune/trials/0000.jsonl")):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, make_record(bytes=8 * (number + 1)))
    (tmp_path / "suite" / "loop").symlink_to(tmp_path)
    assert len(load([tmp_path]).records) == 3
    assert len(load([tmp_path / "job"]).records) == len(load([tmp_path / "tune"]).records) == 1


# The JSON schema


def samples() -> list[dict[str, Any]]:
    single = [make_record(), make_overlap_record(), make_exchange_record(), make_solve_record()]
    return [*single, *make_transform_records(), make_record(status="skipped", reason="no")]


def test_the_schemas_are_those_of_the_structs() -> None:
    script = SOURCES.parent / "tools" / "schemas.py"
    checked = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_schema_takes_records_that_are_read() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    for line in lines(samples()):
        validator.validate(json.loads(line))


@pytest.mark.parametrize("changes", cases("what the schema refuses"))
def test_the_schema_refuses_records_that_are_not_read(changes: dict[str, Any]) -> None:
    text = {**make_record(), **changes}
    assert problems(text)
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(json.loads(lines([text])[1]))


def test_the_records_of_the_documentation_are_read() -> None:
    """Each file of lines there; what holds other data is named otherwise."""
    for path in sorted(MEASURED.glob("**/*.jsonl")):
        loaded = load([path])
        assert loaded.problems == [], path
        assert loaded.records or loaded.profiles or loaded.reroutes, path


def test_equal_fields_of_records_are_in_memory_once() -> None:
    """A million records are to fit."""
    first, second = parsed(make_record(bytes=8), make_record(bytes=16))
    for name in ("benchmark", "transport", "memory", "harness"):
        assert getattr(first, name) is getattr(second, name)
    assert first.start is second.start
    assert first.ceilings[0].method is second.ceilings[0].method
