"""Submitting, with schedulers that are fakes: what they are told, and what is made of their
answers."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from commlens.jobs.sites import submit
from commlens.jobs.sites.schedulers import SCHEDULERS, Phase
from conftest import Commlens
from run_helpers import cases, executable
from site_helpers import FakeScheduler, site_file

WORDS = ("--", "run", "allreduce")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    scheduler = FakeScheduler(tmp_path / "scheduler")
    for real in SCHEDULERS.values():
        scheduler.install(real.submit[0], real.state[0], real.cancel[0])
    for _, _, submits, answer, *_ in cases("schedulers"):
        scheduler.answer(submits.split()[0], answer)
    # By which the script calls commlens.
    folder = tmp_path / "own"
    folder.mkdir()
    executable(folder, "commlens", f'exec {sys.executable} -m commlens "$@"')
    monkeypatch.setenv("PATH", f"{folder}:{scheduler.folder / 'bin'}:{os.environ['PATH']}")
    for variable, value in scheduler.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(submit, "_FIRST_LOOK_S", 0.0)
    monkeypatch.setattr(submit, "_LOOKS_S", (0.05,))
    monkeypatch.setattr(submit, "_STATUS_POLL_S", 0.02)
    monkeypatch.setattr(submit, "_STATUS_ARRIVES_S", 0.2)
    monkeypatch.setattr(submit, "_CLEAN_UP_POLL_S", 0.02)
    return scheduler


def folder_of_job() -> Path:
    (folder,) = Path("results").iterdir()
    return folder


@pytest.mark.parametrize(
    ("scheduler", "job", "submits", "answer", "looks", "running"), cases("schedulers")
)
def test_a_job_from_its_submission_to_its_records(
    scheduler: str,
    job: str,
    submits: str,
    answer: str,
    looks: str,
    running: str,
    commlens: Commlens,
    fake: FakeScheduler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_RUNS", "1")
    command = SCHEDULERS[scheduler].state[0]
    fake.answer(command, *([answer] if command == submits.split()[0] else []), running)
    run = commlens("submit", site_file(scheduler), *WORDS)
    assert run.returncode == 0, run.stderr
    assert "allreduce" in run.stdout and f"job {job} in " in run.stdout
    folder = folder_of_job()
    assert (folder / "status").read_text() == "0\n"
    assert {"job.sh", "job.json", "log", "records"} <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "job.json").read_text())["job"] == job
    SCHEDULERS[scheduler].look(job)
    calls = fake.calls()
    assert (calls[0].strip(), calls[-1]) == (submits, f"{looks} {job}")


@pytest.mark.parametrize(
    ("scheduler", "command", "answer", "phase", "reason"), cases("answers of schedulers")
)
def test_answers(
    scheduler: str, command: str, answer: str, phase: str, reason: str, fake: FakeScheduler
) -> None:
    fake.answer(command, answer)
    state = SCHEDULERS[scheduler].look("12")
    assert (state.phase, state.reason) == (Phase[phase], reason)


def test_a_refused_job_leaves_nothing(commlens: Commlens, fake: FakeScheduler) -> None:
    fake.answer("sbatch", "!sbatch: error: Invalid account or account/partition combination")
    run = commlens("submit", site_file("slurm"), *WORDS)
    assert run.returncode == 1
    assert run.stderr == (
        "commlens: sbatch refuses the job: sbatch: error: Invalid account or account/partition "
        "combination\n"
    )
    assert list(Path("results").iterdir()) == []


def test_without_a_scheduler(commlens: Commlens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    path = site_file("slurm")
    run = commlens("submit", path, *WORDS)
    assert run.returncode == 2 and "sbatch cannot be started" in run.stderr
    dry = commlens("submit", path, "--dry-run", *WORDS)
    assert dry.returncode == 0
    assert dry.stdout.startswith("# sbatch --parsable job.sh\n#!/bin/bash\n#SBATCH ")


def test_a_job_that_never_starts_is_cancelled(commlens: Commlens, fake: FakeScheduler) -> None:
    fake.answer("squeue", "PENDING|n/a|Priority", "PENDING|n/a|PartitionTimeLimit")
    run = commlens("submit", site_file("slurm"), *WORDS)
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "commlens: job 12 is pending (Priority)",
        "commlens: job 12 is pending (PartitionTimeLimit)",
        "commlens: job 12 will never start (PartitionTimeLimit): it asks for more time than is "
        "allowed: choose a smaller --time. It is cancelled",
    ]
    assert fake.calls()[-1] == "scancel 12"


def test_a_job_that_left_no_status(commlens: Commlens, fake: FakeScheduler) -> None:
    fake.answer("squeue", "RUNNING|n1|None", "NODE_FAIL|n1|None")
    run = commlens("submit", site_file("slurm"), *WORDS)
    assert run.returncode == 1
    assert "job 12 lost a node (NODE_FAIL); there is no log: n1 may not have" in run.stderr
    assert "no record in " in run.stderr


def test_a_job_that_could_not_be_started(commlens: Commlens, fake: FakeScheduler) -> None:
    fake.answer("flux", "f12", "SCHED||", "FAILED||unsatisfiable request")
    run = commlens("submit", site_file("flux"), *WORDS)
    assert run.returncode == 1
    assert "commlens: job f12 could not be started (unsatisfiable request)" in run.stderr


@pytest.mark.parametrize(("reason", "text", "is_hopeless"), cases("reasons to wait"))
def test_a_job_for_which_nobody_can_do_anything_is_cancelled(
    reason: str, text: str, is_hopeless: bool, commlens: Commlens, fake: FakeScheduler
) -> None:
    fake.answer("squeue", f"PENDING|n/a|{reason}", "CANCELLED|n/a|None")
    said = commlens("submit", site_file("slurm"), *WORDS).stderr.splitlines()
    assert any(call.startswith("scancel") for call in fake.calls()) == is_hopeless
    if is_hopeless:
        assert said[1].startswith(f"commlens: job 12 will never start ({reason}): {text}")
    else:
        assert said[0].startswith(f"commlens: job 12 is pending ({reason}): ") and text in said[0]
        assert "commlens: job 12 was cancelled (CANCELLED)" in said


def test_the_status_file_is_believed(commlens: Commlens, fake: FakeScheduler) -> None:
    """Although the scheduler does not know the job any more."""
    fake.answer("squeue", "!slurm_load_jobs error: Invalid job id specified")
    run = commlens("submit", site_file("slurm"), "--detach", *WORDS)
    assert run.returncode == 0 and "--attach" in run.stderr
    (folder_of_job() / "status").write_text("3\n")
    attached = commlens("submit", "--attach", "12")
    assert attached.returncode == 1, "there are no records"
    assert "job 12 ended with status 3" in attached.stderr
    assert commlens("submit", "--attach", folder_of_job()).stderr == attached.stderr


@pytest.mark.parametrize(
    ("end", "sentence"), [("CANCELLED", "was cancelled"), ("TIMEOUT", "ran into its time limit")]
)
def test_how_a_job_ended_is_known_when_the_scheduler_has_cleaned_up(
    end: str, sentence: str, commlens: Commlens, fake: FakeScheduler
) -> None:
    commlens("submit", site_file("slurm"), "--detach", *WORDS)
    (folder_of_job() / "status").write_text("143\n")
    fake.answer("squeue", "COMPLETING|n1|None", "COMPLETING|n1|None", f"{end}|n1|None")
    attached = commlens("submit", "--attach", "12")
    assert attached.stderr.startswith(f"commlens: job 12 {sentence}; see ")


def test_an_unknown_job(commlens: Commlens) -> None:
    run = commlens("submit", "--attach", "99")
    assert run.returncode == 2
    assert run.stderr.startswith("commlens: --attach 99: no job of this number in results")


@pytest.mark.parametrize(("answer", "is_cancelled"), [("y", True), ("", False)])
def test_ctrl_c_asks(
    answer: str,
    is_cancelled: bool,
    commlens: Commlens,
    fake: FakeScheduler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    # Not time.sleep itself, with which subprocess waits, too.
    clock = SimpleNamespace(monotonic=time.monotonic, time=time.time, sleep=interrupt)
    monkeypatch.setattr(submit, "time", clock)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    fake.answer("squeue", "RUNNING|n1|None")
    run = commlens("submit", site_file("slurm"), *WORDS)
    assert run.returncode == 130
    assert ("scancel 12" in fake.calls()) == is_cancelled
    assert ("job 12 is cancelled" if is_cancelled else "job 12 goes on") in run.stderr


def test_the_terminal_is_safe_from_the_scheduler(commlens: Commlens, fake: FakeScheduler) -> None:
    fake.answer("sbatch", "!no\\033[31m")
    run = commlens("submit", site_file("slurm"), *WORDS)
    assert "\033" not in run.stderr
