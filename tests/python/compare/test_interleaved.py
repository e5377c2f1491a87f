"""`commlens compare --run`: A and B measured interleaved, then compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import FAKES, Commlens
from run_helpers import cases, kept


def test_a_and_b_take_turns(commlens: Commlens) -> None:
    run = commlens(
        *("compare", "--run", "latency", "--a", "UCX_TLS=sm", "--b", "UCX_TLS=tcp"),
        *("--launches", 3, "--ranks", 2, "--", "--bytes", "1,2"),
    )
    assert run.returncode == 0, run.stderr
    said = [line for line in run.stderr.splitlines() if ", launch " in line]
    assert said == [
        f"commlens: latency, launch {start} of 3: UCX_TLS={value}"
        for start in (1, 2, 3)
        for value in ("sm", "tcp")
    ]
    (folder,) = Path("results").iterdir()
    for name, value in (("a", "sm"), ("b", "tcp")):
        launches = {record.start.start: record.start for record in kept(folder / f"{name}.jsonl")}
        assert [record.environment["UCX_TLS"] for record in launches.values()] == [value] * 3
    assert "UCX_TLS=tcp  against UCX_TLS=sm" in run.stdout
    assert "row 0" not in run.stdout  # the jobs' own tables


def test_5_starts_are_the_default(commlens: Commlens) -> None:
    run = commlens(
        "compare", "--run", "latency", "--a", "", "--b", "UCX_TLS=tcp", "--format", "json"
    )
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert {case["baseline_launches"] for case in document["cases"]} == {5}
    assert {case["baseline"] for case in document["cases"]} == {"default settings"}


def test_two_builds_are_compared(commlens: Commlens, tmp_path: Path) -> None:
    builds = []
    for name in ("old", "new"):
        program = tmp_path / f"{name}-bench"
        program.write_text(
            f'#!/bin/sh\nexport UCX_BUILD={name}\nexec {FAKES / "commlens-bench"} "$@"\n'
        )
        program.chmod(0o755)
        builds.append(f"COMMLENS_BENCH={program}")
    run = commlens(
        "compare", "--run", "latency", "--a", builds[0], "--b", builds[1], "--launches", 1
    )
    assert run.returncode == 0, run.stderr
    (folder,) = Path("results").iterdir()
    for letter, name in (("a", "old"), ("b", "new")):
        environment = kept(folder / f"{letter}.jsonl")[0].start.environment
        assert environment["UCX_BUILD"] == name
        assert "COMMLENS_BENCH" not in environment


@pytest.mark.parametrize(("benchmark", "a", "b", "said"), cases("mistakes before anything runs"))
def test_a_mistake_is_refused_before_anything_runs(
    commlens: Commlens, benchmark: str, a: str, b: str, said: str
) -> None:
    run = commlens("compare", "--run", benchmark, "--a", a, "--b", b)
    assert run.returncode == 2
    assert said in run.stderr
    assert not Path("results").exists()


def test_records_of_a_run_have_no_file_of_the_user(commlens: Commlens) -> None:
    run = commlens("compare", "--run", "latency", "--b", "X=1", "--", "--record", "x.jsonl")
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert "--record beside --run: name the folder of the records with --out" in run.stderr
    assert not Path("results").exists() and not Path("x.jsonl").exists()


def test_two_launches_without_a_record_end_the_comparison(commlens: Commlens) -> None:
    run = commlens(
        *("compare", "--run", "latency", "--a", "FAKE_X=1", "--b", "FAKE_MODE=die early"),
        *("--launches", 7),
    )
    assert run.returncode == 1
    assert "nothing is compared: no launch of FAKE_MODE=die early left a record" in run.stderr
    launches = [line for line in run.stderr.splitlines() if ", launch " in line]
    assert len(launches) == 4 and launches[-1].startswith("commlens: latency, launch 2 of 7")


def test_a_side_that_is_refused_ends_the_comparison_at_once(commlens: Commlens) -> None:
    words = ("compare", "--run", "latency", "--a", "X=1", "--b", "X=2", "--launches", 7)
    run = commlens(*words, "--", "--repeat", 0)
    assert run.returncode == 1 and "--repeat 0: must be at least 1" in run.stderr
    assert sum(", launch " in line for line in run.stderr.splitlines()) == 1
