"""How long a run would take."""

from __future__ import annotations

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
    """A launch of this job that has written two records of so many."""
    records = [make_record(bytes=size, start=f"launch-{seconds}") for size in (8, 64)]
    for record in records:
        program = job.program(Path("/elsewhere/commlens-bench"), Path("of-then.jsonl"))
        record["start"].update(
            command=[*program, *words], records=expected, time="2026-11-27T10:59:50Z"
        )
        record["time"] = f"2026-11-27T11:{seconds // 60:02}:{seconds % 60:02}Z"
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
    kept(39)
    assert estimate([LATENCY, OTHER], Path("results")) == (
        "estimated time: about 4 min, from 1 launch of the same commands in results; 1 of 2"
        " commands estimated from the others"
    )


@pytest.mark.parametrize("what", ["latency", "quick"])
def test_a_dry_run_ends_with_it(what: str, commlens: Commlens) -> None:
    run = commlens("run", what, "--dry-run", "--memory", "host")
    assert run.returncode == 0
    assert run.stderr.startswith(f"commlens: {UNKNOWN}") and run.stderr.count("\n") == 1
