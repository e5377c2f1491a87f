"""How `commlens run` starts the real program, and what it says where that cannot be done as was
asked."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from native_helpers import (
    AT_ONCE,
    BENCH,
    FAILED,
    OK,
    USAGE,
    Job,
    launcher_is_beside_the_library,
    launcher_version,
    needs_native,
    processes_with,
    records_in,
    start,
    through_command,
    under_commlens,
)

pytestmark = needs_native

BRIEFLY = "--bytes 8 --memory host --transport mpi --repeat 2 --batches 2"

# As the launcher of another MPI library, or srun without its plugin: each process is alone.
SINGLETONS = f"""#!{sys.executable} -SE
import subprocess, sys
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print({launcher_version()!r}))
count = int(words[words.index("-n") + 1])
program = words[words.index({str(BENCH)!r}):]
jobs = [subprocess.Popen(program) for _ in range(count)]
sys.exit(max(job.wait() for job in jobs))
"""


def with_launcher(folder: Path, text: str, *words: object) -> Job:
    launcher = folder / "bin" / "mpirun"
    launcher.parent.mkdir()
    launcher.write_text(text)
    launcher.chmod(0o755)
    environment = {
        **AT_ONCE,
        "COMMLENS_BENCH": str(BENCH),
        "PATH": f"{launcher.parent}:{os.environ['PATH']}",
    }
    command = under_commlens(*words, "--launcher mpirun")
    return start(command, folder, environment).wait()


def test_singletons_measure_nothing(tmp_path: Path) -> None:
    if launcher_is_beside_the_library():
        pytest.skip("an MPI with its launcher beside its library: no other is taken")
    job = with_launcher(tmp_path, SINGLETONS, "allreduce", BRIEFLY, "--ranks", 4)
    assert job.status == USAGE, job
    assert "4 ranks were asked for, but MPI has 1: start it with the launcher of" in job.message
    assert job.output == ""
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("true", "mpirun ended with status 0, but has not run commlens-bench"),
        ("--help", "mpirun ended with status 0, but has not run commlens-bench"),
        ("--nonsense", "unrecognized argument|option"),
        (";", "unable to find the specified executable file|No such file or directory"),
    ],
)
def test_a_launcher_that_does_something_else(words: str, said: str, tmp_path: Path) -> None:
    command = [*under_commlens("latency", BRIEFLY), "--launcher-args", words]
    job = start(command, tmp_path, {**AT_ONCE, "COMMLENS_BENCH": str(BENCH)}).wait()
    assert job.status == FAILED
    assert re.search(said, job.message)
    assert job.message.endswith("; no record was written")


@pytest.mark.parametrize("words", ["-n 1000", "-np 3", "--np 2", "-n 1 :"])
def test_the_launcher_is_not_told_another_number_of_ranks(words: str, tmp_path: Path) -> None:
    command = [*under_commlens("latency", BRIEFLY), "--launcher-args", words]
    job = start(command, tmp_path, {**AT_ONCE, "COMMLENS_BENCH": str(BENCH)}).wait()
    assert job.status == USAGE
    assert f"{words.split()[0]} says how many ranks there are" in job.message


def test_a_command_that_is_killed_takes_its_job_along(tmp_path: Path) -> None:
    words = "allreduce --bytes 8:16 --transport mpi --repeat 100000000 --record r.jsonl"
    running = start(under_commlens(words), tmp_path, {"COMMLENS_BENCH": str(BENCH)})
    running.until(lambda: any(file.stat().st_size for file in tmp_path.glob("r*.jsonl")))
    running.signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while len(processes_with(running.mark)) > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running.wait().status == 128 + signal.SIGKILL


@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_records_are_complete_where_nobody_reads_the_tables(output: str, tmp_path: Path) -> None:
    line = " ".join(under_commlens("latency", BRIEFLY, "--bytes", "8:64"))
    line = line.replace("--bytes 8 ", "", 1)
    command = ["bash", "-c", f"{line} --record records.jsonl {output}"]
    job = start(command, tmp_path, {"COMMLENS_BENCH": str(BENCH)}).wait()
    assert job.status == FAILED
    assert len(records_in(tmp_path / "records.jsonl")) == 4
    assert "the standard output cannot be written" in job.message


def test_a_full_disk_shows_the_result_at_hand(tmp_path: Path) -> None:
    job = through_command(tmp_path, "latency", BRIEFLY, "--launches", 1, "--record", "/dev/full")
    assert job.status == FAILED
    assert " 8 B  mpi " in job.output


def test_a_time_limit_ends_a_benchmark_of_any_length(tmp_path: Path) -> None:
    words = "latency --bytes 8 --transport mpi --memory host --batches 1e6 --max-time 1"
    job = through_command(tmp_path, words, "--record r.jsonl")
    assert job.status == OK
    (record,) = records_in(tmp_path / "r.jsonl")
    assert 1 <= len(record.samples.values_s) < 1_000_000


def test_the_last_size_of_a_range_is_measured(tmp_path: Path) -> None:
    words = "latency --bytes 1:4K:x16 --transport mpi --memory host --repeat 2 --batches 2"
    assert through_command(tmp_path, words, "--record r.jsonl").status == OK
    assert [record.size for record in records_in(tmp_path / "r.jsonl")] == [1, 16, 256, 4096]
    words = words.replace("4K", "5K")
    assert through_command(tmp_path, words, "--record s.jsonl").status == OK
    assert [record.size for record in records_in(tmp_path / "s.jsonl")][-2:] == [4096, 5120]
