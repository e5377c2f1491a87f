"""The command with the native program and the launcher of the machine at hand; skipped where they
are missing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from commlens.base.errors import CommlensError
from commlens.jobs import suite
from commlens.jobs.native import PROGRAM, Native, find_native
from commlens.jobs.probe import facts
from commlens.jobs.process import Outcome
from commlens.jobs.spec import resolve
from conftest import SOURCES, Commlens, command_line
from native_helpers import LIMIT_S, has_hypre
from run_helpers import kept, wait_for

_ENVIRONMENT = dict(os.environ)  # before the fake world begins
_BRIEFLY = ("--memory", "host", "--repeat", "2", "--warmup", "1")


@pytest.fixture(autouse=True)
def real_world(fake_world: None, monkeypatch: pytest.MonkeyPatch) -> Native:
    for name in ("COMMLENS_BENCH", "PATH"):
        monkeypatch.delenv(name)
    for name, value in _ENVIRONMENT.items():
        if name != "PYTEST_CURRENT_TEST":
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(SOURCES))
    # Of several builds in the tree the host's: a newer one of another backend may want what is not
    # here.
    host_builds = [SOURCES.parent / "build" / "host" / folder / PROGRAM for folder in ("", "src")]
    for path in host_builds:
        if path.exists() and "COMMLENS_BENCH" not in _ENVIRONMENT:
            monkeypatch.setenv("COMMLENS_BENCH", str(path))
    try:
        native = find_native()
    except CommlensError as error:
        pytest.skip(str(error))
    if not any(shutil.which(name) for name in ("mpirun", "mpiexec", "srun")):
        pytest.skip("there is no launcher")
    return native


def test_a_suite_of_every_benchmark_runs(commlens: Commlens) -> None:
    names = {"allreduce", "latency", "bandwidth", "bidirectional-bandwidth", "message-rate"}
    entries = [
        f"- {{benchmark: {name}, options: {{bytes: '8:512:x8'}}}}\n" for name in sorted(names)
    ]
    Path("small.yaml").write_text("".join(["runs:\n", *entries]))
    run = commlens("run", "small.yaml", *_BRIEFLY)
    assert run.returncode == 0, run.stderr
    records = kept()
    assert {record.benchmark for record in records} == names
    assert {record.status for record in records if record.transport in ("mpi", "staged")} == {"ok"}
    (folder,) = Path("results").iterdir()
    assert {path.stem for path in folder.glob("*.png")} == names | {"overview"}
    shown = commlens("show", folder)
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in names)


def test_the_shipped_suites_suit_the_native_program(real_world: Native) -> None:
    for name in suite.shipped():
        entries = suite.load(name).entries
        if not has_hypre():
            entries = [entry for entry in entries if entry.options.get("coarse") != "boomeramg"]
        resolve(entries, real_world)


def test_the_tables_at_the_end_are_those_of_show(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--bytes", "8:64", *_BRIEFLY)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == commlens("show", "results").stdout.strip()


def test_variables_reach_the_ranks_and_their_records(commlens: Commlens) -> None:
    words = ("--env", "OMPI_MCA_btl=self,vader", "--env", "UCX_TLS=a b", "--launches", 2)
    run = commlens("run", "latency", "--bytes", 8, "--transport", "mpi", *words, *_BRIEFLY)
    assert run.returncode == 0, run.stderr
    first, second = kept()
    assert first.start.start != second.start.start
    for record in (first, second):
        assert record.start.environment["OMPI_MCA_btl"] == "self,vader"
        assert record.start.settings_of_transport["UCX_TLS"] == "a b"


def test_a_native_mistake_is_one_line(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--bytes", "8:4", "--memory", "host")
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith("commlens: ")
    assert "8:4" in line


def test_a_ping_pong_of_one_rank_is_refused(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--ranks", 1, *_BRIEFLY)
    assert run.returncode == 2
    assert "--ranks 2" in run.stderr


def test_a_transport_that_was_asked_for_and_is_missing(
    commlens: Commlens, real_world: Native
) -> None:
    if real_world.about.backend != "host":
        pytest.skip("this build may have NCCL or RCCL")
    assert commlens("run", "latency", "--transport", "ccl", "--bytes", 8, *_BRIEFLY).returncode == 4
    (record,) = kept()
    assert record.status == "skipped" and record.reason


def test_a_scaling_by_the_real_program(commlens: Commlens) -> None:
    words = "--scaling 1,2 --elements 4 --memory host --transport mpi --repeat 5 --batches 6"
    run = commlens("run", "gather-scatter", "--mode", "pairwise", *words.split())
    assert run.returncode == 0, run.stderr
    assert [(record.ranks, record.transport) for record in kept()] == [(1, "mpi"), (2, "mpi")]
    assert "gather-scatter by ranks" in run.stdout


@pytest.mark.parametrize(
    ("victim", "number", "status", "said"),
    [
        ("launcher", signal.SIGINT, 130, "interrupted by SIGINT; "),
        ("rank", signal.SIGKILL, 1, "died (signal 9, Killed); "),
    ],
)
def test_a_long_run_that_is_ended(
    victim: str, number: int, status: int, said: str, real_world: Native
) -> None:
    options = "--bytes 8 --repeat 100000000 --memory host --transport mpi"
    process = subprocess.Popen(
        command_line("run", "latency", *options.split()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: len(ranks_in_this_folder(real_world)) == 2 and started())
        victims = {"launcher": process.pid, "rank": ranks_in_this_folder(real_world)[1]}
        os.kill(victims[victim], number)
        _, error = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert process.returncode == status
    reasons = [line for line in error.splitlines() if said in line]
    assert len(reasons) == 1 and reasons[0].endswith("no record was written")
    assert ranks_in_this_folder(real_world) == []


def started() -> bool:
    """The start is in the file of records: the ranks have left MPI_Init."""
    return any(path.stat().st_size for path in Path("results").glob("*.jsonl"))


def ranks_in_this_folder(native: Native) -> list[int]:
    """By their command lines: psutil keeps the exe of a process as it was when first asked for."""
    here, program = str(Path.cwd()), str(native.path)
    return sorted(
        process.pid
        for process in psutil.process_iter(["cwd", "cmdline"])
        if process.info["cwd"] == here and (process.info["cmdline"] or [])[:1] == [program]
    )


def test_the_native_probe_speaks_as_it_is_understood(commlens: Commlens) -> None:
    """In host memory, as every machine has it."""
    line = commlens("run", "latency", "--dry-run", "--ranks", 2, *_BRIEFLY).stdout
    command = [*line.split(" latency ")[0].split(), "probe", "--memory", "host"]
    job = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    probed = facts(job.stdout, job.stderr, Outcome(0), ranks=2, mpi="", environment={})
    assert probed["is_whole"] and probed["mpi"]
    assert probed["culprit"] is None and probed["wrong"] is None
    assert all(f'"call":"{call}"' in job.stdout for call in ("MPI_Init", "MPI_Send", "MPI_Recv"))


def test_dftfe_ends_with_published_results(commlens: Commlens) -> None:
    words = ("--format", "dftfe", "--bytes", "80M", "--transport", "mpi", "--batches", "1")
    run = commlens("run", "allreduce", "--ranks", 2, *words, *_BRIEFLY)
    assert run.returncode == 0, run.stderr
    before, _, published = run.stdout.partition("# published")
    assert "Time in seconds for GPU Direct MPI_Allreduce using standard MPI library: " in before
    assert "# dftfe-summit: Summit, 6 x V100, 1 node, 76.3 MiB, device memory" in published
    assert "3.096087765000000047e+00" in published
