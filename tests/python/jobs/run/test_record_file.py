"""Where records go, and that none is lost on the way."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from commlens.jobs.record_file import RecordFile, append
from conftest import Commlens, command_line
from run_helpers import kept, ranks_alive, started, wait_for


def test_a_record_file_of_the_users_is_used(commlens: Commlens) -> None:
    for number in (3, 6):
        run = commlens("run", "latency", "--record", "mine.jsonl", "--format", "osu")
        assert run.stderr == "commlens: 3 records in mine.jsonl\n"
        assert len(kept("mine.jsonl")) == number
    assert [path.name for path in Path.cwd().iterdir()] == ["mine.jsonl"]


def test_a_file_that_nothing_was_added_to_stays_as_it_was(commlens: Commlens) -> None:
    assert commlens("run", "latency", "--record", "mine.jsonl", "--repeat", 0).returncode == 2
    assert list(Path.cwd().iterdir()) == []
    Path("mine.jsonl").write_text("kept\n")
    assert commlens("run", "latency", "--record", "mine.jsonl", "--repeat", 0).returncode == 2
    assert Path("mine.jsonl").read_text() == "kept\n"
    assert [path.name for path in Path.cwd().iterdir()] == ["mine.jsonl"]


def test_half_a_line_of_an_earlier_crash_stays_apart(commlens: Commlens) -> None:
    Path("mine.jsonl").write_text('{"kind": "rec')
    assert commlens("run", "latency", "--record", "mine.jsonl").returncode == 0
    first, *lines = Path("mine.jsonl").read_text().splitlines()
    assert first == '{"kind": "rec'
    assert [json.loads(line)["kind"] for line in lines] == ["start", *["record"] * 3]


@pytest.mark.parametrize("mode", ["die", "wait"])
def test_a_job_that_ends_early_leaves_its_records_in_the_users_file(mode: str) -> None:
    Path("mine.jsonl").write_text("")
    process = started("run", "latency", "--record", "mine.jsonl", FAKE_MODE=mode)
    if mode == "wait":
        job_has_written(3)
        assert Path("mine.jsonl").read_text() == "", "they come when the job ends"
        process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=30)
    assert error.endswith("; 3 records kept in mine.jsonl\n")
    assert len(kept("mine.jsonl")) == 3
    assert [path.name for path in Path.cwd().iterdir()] == ["mine.jsonl"]


def test_the_jobs_file_survives_a_kill() -> None:
    process = started("run", "latency", "--record", "mine.jsonl", FAKE_MODE="wait")
    job_has_written(3)
    process.kill()
    (job_file,) = Path.cwd().glob("mine-job-*.jsonl")
    assert len(kept(job_file)) == 3
    for rank in ranks_alive():
        with contextlib.suppress(ProcessLookupError):  # the guard of the job was faster
            os.kill(rank, signal.SIGKILL)


def job_has_written(lines: int) -> None:
    wait_for(lambda: [len(kept(file)) for file in Path.cwd().glob("mine-job-*.jsonl")] == [lines])


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_records_may_go_to_an_unreadable_file(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    reader = -1
    with contextlib.ExitStack() as stack:
        if kind == "pipe":  # one who reads, or nobody could write
            os.mkfifo(path)
            reader = os.open(path, os.O_RDWR)
            stack.callback(os.close, reader)
        words = command_line("run", "latency", "--record", path)
        environment = {**os.environ, "FAKE_MODE": "die"}
        run = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=20)
        if kind == "pipe":
            assert os.read(reader, 1 << 20).count(b'"kind": "record"') == 3
    assert run.returncode == 1
    died = "commlens: rank 1 died (signal 9, Killed)"
    assert run.stderr == f"{died}; 3 records written to {path}\n"
    assert not Path("results").exists()


@pytest.mark.parametrize("kind", ["full", "unread"])
def test_records_that_cannot_be_added_are_kept_in_the_jobs_file(
    kind: str, commlens: Commlens, tmp_path: Path
) -> None:
    path = Path("/dev/full") if kind == "full" else tmp_path / "pipe"
    if kind == "unread":
        os.mkfifo(path)
    run = commlens("run", "latency", "--record", path)
    assert run.returncode == 1
    (job_file,) = Path("results").iterdir()
    reason = "No space left on device" if kind == "full" else "No such device or address"
    failure = f"{path}: no record can be written there ({reason})"
    assert run.stderr == f"commlens: {failure}; 3 records kept in {job_file}\n"
    assert len(kept(job_file)) == 3


def test_all_lines_are_added_or_none(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new line\n" * 100)
    target.write_bytes(b"old\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            append(source, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert target.read_bytes() == b"old\n"
    append(source, target)
    assert target.read_bytes() == b"old\n" + b"new line\n" * 100


def test_a_folder_that_takes_no_files_has_the_jobs_file_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, spare = tmp_path / "folder", tmp_path / "spare"
    folder.mkdir()
    (folder / "mine.jsonl").touch()
    taken = Path.touch

    def touch(self: Path, exist_ok: bool = True) -> None:
        if self.parent == folder:
            raise PermissionError(13, "Permission denied")
        taken(self, exist_ok=exist_ok)

    monkeypatch.setattr(Path, "touch", touch)  # as root may write everywhere
    file = RecordFile.of_user(folder / "mine.jsonl", spare)
    assert file.begin_job().parent == spare
