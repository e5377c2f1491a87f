"""How long a run would take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commlens.jobs.estimate import estimate
from commlens.jobs.spec import JobSpec, Options
from conftest import Commlens
from sample_records import lines, make_record

LATENCY = JobSpec("latency", Options({"bytes": "8,64"}), ranks=2, launches=3)
OTHER = JobSpec("latency", Options({"bytes": "8"}), ranks=2, launches=1)
UNKNOWN = "no estimate of the time: results has no launch of the same command"


def kept(seconds: int, *words: str, job: JobSpec = LATENCY, expected: int = 2) -> None:
    """A launch of this job that has written two records of so many, the first at the hour."""
    records = [make_record(bytes=size, start=f"launch-{seconds}") for size in (8, 64)]
    for record, at in zip(records, (0, seconds)):
        program = job.program(Path("/elsewhere/commlens-bench"), Path("of-then.jsonl"))
        record["start"].update(
            command=[*program, *words], records=expected, time="2026-11-27T10:59:50Z"
        )
        record["time"] = f"2026-11-27T11:{at // 60:02}:{at % 60:02}Z"
    file = Path(f"results/some/{seconds}.jsonl")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines(records)))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_is_by_earlier_launches_of_the_same_command() -> None:
    assert estimate([LATENCY], Path("results")) == UNKNOWN
    kept(9)  # 10 s before the hour, and a second for MPI: 20 s
    kept(11, "--gpu-aware-mpi-off", "a probe has found so")
    assert estimate([LATENCY], Path("results")) == (
        "estimated time: 1 min to 2 min, from 2 launches of the same command in results"
    )


def test_launches_of_other_commands_and_those_that_ended_early_are_not_taken() -> None:
    kept(9, job=OTHER)
    kept(10, "--batches", "5")
    kept(11, expected=3)
    Path("results/torn.jsonl").write_text("torn")
    Path("results/gone.jsonl").symlink_to("nowhere")
    assert estimate([LATENCY], Path("results")) == UNKNOWN


def test_jobs_that_were_never_run_are_taken_to_be_like_the_others() -> None:
    kept(35)  # 46 s with the second for MPI: four of them are more than 3 min
    assert estimate([LATENCY, OTHER], Path("results")) == (
        "estimated time: about 4 min, from 1 launch of the same commands in results; 1 of 2"
        " commands estimated from the others"
    )


def test_each_job_has_its_own_time() -> None:
    kept(9)
    kept(289, job=OTHER)
    assert estimate([LATENCY, OTHER], Path("results")) == (
        "estimated time: about 6 min, from 2 launches of the same commands in results"
    )


def test_the_newest_files_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commlens.jobs.estimate._NEWEST", 1)
    kept(289)
    kept(9)
    os.utime("results/some/289.jsonl", (1, 1))
    assert estimate([LATENCY], Path("results")) == (
        "estimated time: about 1 min, from 1 launch of the same command in results"
    )


@pytest.mark.parametrize("what", ["latency", "quick"])
def test_a_dry_run_ends_with_it(what: str, commlens: Commlens) -> None:
    run = commlens("run", what, "--dry-run", "--memory", "host")
    assert run.returncode == 0
    assert run.stderr.startswith(f"commlens: {UNKNOWN}") and run.stderr.count("\n") == 1
