"""`commlens run` and `commlens list` from outside, with a native program and a launcher that are scripts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import FAKES, Commlens, captured, command_line

BENCH = FAKES / "commlens-bench"
GPUS = {"FAKE_BACKEND": "cuda", "FAKE_GPUS": "4"}


def records() -> list[dict[str, object]]:
    return [json.loads(line) for file in Path("results").rglob("*.jsonl") for line in file.read_text().splitlines()]


def command_of_record() -> list[str]:
    command = records()[0]["command"]
    assert isinstance(command, list)
    return command


def test_a_run_passes_options_on_and_keeps_records(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--bytes", "8:1K", "--ranks", 2, "--format=osu", "-x", "--in-place")
    assert run.returncode == 0, run.stderr
    assert run.stdout == "row 0\nrow 1\nrow 2\n"
    (file,) = Path("results").iterdir()
    assert run.stderr == f"commlens: 3 records in {file}\n"
    assert file.name.startswith("latency-20")
    expected = ["latency", "--record", str(file), "--bytes", "8:1K", "--format=osu", "-x", "--in-place"]
    assert command_of_record()[1:] == expected


def test_two_runs_in_a_second_do_not_share_a_file(commlens: Commlens) -> None:
    for _ in range(3):
        commlens("run", "latency", "--out", "here")
    assert len(list(Path("here").iterdir())) == 3


def test_a_record_file_of_the_users_is_used(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--record", "mine.jsonl")
    assert run.stderr == "commlens: 3 records in mine.jsonl\n"
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        (["allreduce"], {}, "-n 2 "),
        (["allreduce"], GPUS, "-n 4 "),
        (["allreduce", "--ranks", "3"], GPUS, "-n 3 "),
        (["latency"], GPUS, "-n 2 "),
        (["message-rate", "--pairs", "3"], {}, "-n 6 "),
        (["latency", "--launcher-args", "--host 'a b'"], {}, "--host 'a b' "),
    ],
)
def test_dry_run_prints_the_command_line_and_does_nothing(
    commlens: Commlens, words: list[str], environment: dict[str, str], expected: str
) -> None:
    run = commlens("run", *words, "--dry-run", **environment)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(str(FAKES / "mpirun"))
    assert expected in run.stdout
    assert f" {words[0]} --record results/{words[0]}-TIME.jsonl" in run.stdout
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["latncy"], "no benchmark is called 'latncy': did you mean latency?"),
        ([], "run what? name a benchmark or a suite: `commlens list` shows them"),
        (["latency", "--ranks", "0"], "Invalid value for '-n' / '--ranks': 0 is not in the range 1<=x<=1000000."),
        (["latency", "--record", ""], "--record '': name a file"),
        (["latency", "--record="], "--record '': name a file"),
        (["quick", "--record", ""], "--record '': name a file"),
        (
            ["latency", "--pairs", "999999999999"],
            "--pairs 999999999999: a pair is two ranks, and more than 1,000,000 cannot be started",
        ),
        (["latency", "--launcher", "srun"], "--launcher srun: there is no srun on the PATH; load its module first"),
        (["latency", "--launcher-args", "'"], '--launcher-args "\'": no closing quotation'),
        (["mine.yaml"], "mine.yaml cannot be read: No such file or directory"),
        (
            ["latency", "--out", "/dev/null/here"],
            "--out /dev/null/here: results cannot be written there (a file is in the way); name another folder",
        ),
    ],
)
def test_bad_usage_is_one_line(commlens: Commlens, words: list[str], message: str) -> None:
    run = commlens("run", *words)
    assert run.returncode == 2
    assert run.stderr == f"commlens: {message}\n"
    assert run.stdout == ""
    assert not Path("results").exists()


def test_an_option_without_its_value_takes_none_of_ours(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--repeat")
    assert command_of_record()[-1] == "--repeat"
    assert run.returncode == 0


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_records_may_go_to_what_cannot_be_read_back(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(path)
    with contextlib.ExitStack() as stack:
        if kind == "pipe":  # one who reads, or nobody could write
            stack.callback(os.close, os.open(path, os.O_RDWR))
        words = command_line("run", "latency", "--record", path)
        run = subprocess.run(words, env={**os.environ, "FAKE_MODE": "die"}, capture_output=True, text=True, timeout=20)
    assert run.returncode == 1
    assert run.stderr == f"commlens: rank 1 died (signal 9, Killed); what was recorded went to {path}\n"


def test_a_missing_native_program_says_how_to_build(commlens: Commlens) -> None:
    run = commlens("run", "latency", COMMLENS_BENCH="/none")
    assert run.returncode == 2
    assert run.stderr == "commlens: COMMLENS_BENCH=/none is not a program: name the built commlens-bench, or unset it\n"


@pytest.mark.parametrize(
    ("mode", "status", "said"),
    [
        ("die", 1, "commlens: rank 1 died (signal 9, Killed); 3 records kept in FILE\n"),
        ("crash said", 1, "commlens: rank 1 crashed (SIGSEGV) in MPI_Send\n"),
        ("wrong", 1, ""),
        ("leave", 1, "commlens: rank 1 left without MPI_Finalize; 3 records kept in FILE\n"),
        ("die among many", 1, "commlens: rank 1 died (signal 9, Killed); 3 records kept in FILE\n"),
        ("ended", 1, "commlens: ended by SIGTERM while timing\n"),
        ("progress", 0, "commlens progress: size 3 of 4\n"),
        ("stall", 3, "commlens: no rank has made progress for 1 s: rank 0 in MPI_Recv\n"),
        ("skip", 4, ""),
    ],
)
def test_what_goes_wrong_is_said_once(commlens: Commlens, mode: str, status: int, said: str) -> None:
    run = commlens("run", "latency", FAKE_MODE=mode)
    (file,) = Path("results").iterdir()
    assert run.returncode == status
    own = [line for line in run.stderr.splitlines(keepends=True) if " records in " not in line]
    assert "".join(own) == said.replace("FILE", str(file))


def test_bad_usage_of_the_native_program_leaves_nothing_behind(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--repeat", 0)
    assert (run.returncode, run.stderr) == (2, "commlens: --repeat 0: must be at least 1\n")
    assert list(Path("results").iterdir()) == []


def test_a_status_that_nobody_explained_is_not_hidden(commlens: Commlens) -> None:
    run = commlens("run", "latency", FAKE_STATUS="7")
    assert run.returncode == 1
    assert "Exit code:    7" in run.stderr
    assert "commlens: mpirun ended with status 7; 3 records kept in results/latency-" in run.stderr


def test_a_launcher_that_refuses_is_heard(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--launcher-args=--refuse")
    assert run.returncode == 1
    assert run.stderr == (
        "mpirun: no such option: --refuse\ncommlens: mpirun ended with status 213; no record was written\n"
    )


@pytest.mark.parametrize(
    ("mode", "launcher", "number"),
    [
        ("wait", "", signal.SIGINT),
        ("wait and tell", "", signal.SIGTERM),
        ("stubborn", "", signal.SIGTERM),
        ("wait", "stubborn", signal.SIGINT),
    ],
)
def test_an_interrupted_run_leaves_records_and_no_process(mode: str, launcher: str, number: int) -> None:
    environment = {**os.environ, "FAKE_MODE": mode, "FAKE_LAUNCHER": launcher}
    process = subprocess.Popen(
        command_line("run", "latency"), env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(lambda: len(records()) == 3)
    time.sleep(0.2)
    process.send_signal(number)
    if launcher or mode == "stubborn":  # asked again and again, as an impatient user does
        for _ in range(3):
            time.sleep(0.3)
            process.send_signal(number)
    _, error = process.communicate(timeout=30)
    (file,) = Path("results").iterdir()
    assert process.returncode == 128 + number
    assert error == f"commlens: interrupted by {signal.Signals(number).name}; 3 records kept in {file}\n"
    assert ranks_alive() == []


def test_a_rank_that_outlives_its_launcher_is_ended(commlens: Commlens) -> None:
    started = time.monotonic()
    assert commlens("run", "latency", FAKE_MODE="daemon").returncode == 0
    assert time.monotonic() - started < 20
    assert ranks_alive() == []


def wait_for(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ranks_alive() -> list[str]:
    """The fakes that run in this test's folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink() == Path.cwd() and b"commlens-bench" in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def library(rank: int) -> str:
    start = {"rank": rank, "call": "MPI_Init", "bytes": 0, "memory": "device"}
    library = {"rank": rank, "mpi": "Open MPI v5.0.7", "ucx": "1.22.0", "says_gpu_aware": "yes", "how": "asking"}
    lines = [{"probe": "begin", **start}, {"probe": "library", **library}]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def probe_script(tmp_path: Path, *lines: str) -> dict[str, str]:
    script = tmp_path / "probe.txt"
    script.write_text(library(0) + library(1) + "".join(f"{line}\n" for line in lines))
    return {**GPUS, "FAKE_PROBE": str(script)}


def test_a_crash_in_the_probe_is_explained_and_survived(commlens: Commlens, tmp_path: Path) -> None:
    step = '{"probe":"begin","rank":0,"call":"MPI_Send","bytes":1,"memory":"device"}'
    run = commlens("run", "latency", **probe_script(tmp_path, step, "die SIGSEGV"))
    assert run.returncode == 0, run.stderr
    sentence = run.stderr.splitlines()[0].removeprefix("commlens: ")
    assert sentence.startswith(
        "MPI_Send of 1 B from device memory crashed (SIGSEGV) inside Open MPI 5.0.7 with UCX 1.22"
    )
    assert sentence.endswith("Set UCX_MEMTYPE_CACHE=n.")
    command = command_of_record()
    assert command[command.index("--gpu-aware-mpi-off") + 1] == sentence


def test_a_probe_that_passes_says_nothing(commlens: Commlens, tmp_path: Path) -> None:
    done = [f'{{"probe":"done","rank":{rank}}}' for rank in (0, 1)]
    environment = probe_script(tmp_path, *done)
    run = commlens("run", "latency", **environment)
    assert run.returncode == 0
    assert "--gpu-aware-mpi-off" not in command_of_record()
    assert len(run.stderr.splitlines()) == 1


def test_no_probe_where_it_is_not_wanted(commlens: Commlens) -> None:
    environment = {**GPUS, "FAKE_PROBE": "/none"}
    for words in (["--no-probe"], ["--memory", "host"], ["--transport", "staged"]):
        assert commlens("run", "latency", *words, **environment).returncode == 0


def test_a_suite_goes_on_after_a_failure_and_draws(commlens: Commlens) -> None:
    Path("mine.yaml").write_text(
        "name: mine\nruns:\n"
        "- {benchmark: latency, options: {memory: host}}\n"
        "- {benchmark: latency, options: {repeat: 0}}\n"
        "- {benchmark: allreduce, ranks: 1}\n"
    )
    run = commlens("run", "mine.yaml", "--memory", "pinned")
    assert run.returncode == 2
    assert run.stderr == "commlens: --repeat 0: must be at least 1\n"
    (folder,) = Path("results").iterdir()
    assert folder.name.startswith("mine-20")
    assert sorted(path.name for path in folder.iterdir()) == [
        "allreduce.png", "latency.png", "overview.png", "records.jsonl",
    ]  # fmt: skip
    assert f"picture:  {folder}/overview.png" in run.stdout
    assert "[1/3] latency --memory pinned" in run.stdout
    rows = [line.split() for line in run.stdout.splitlines() if line.startswith(("latency", "allreduce"))]
    assert [(row[0], row[-1]) for row in rows] == [
        ("latency", "ok"), ("latency", "usage"), ("allreduce", "ok"),
    ]  # fmt: skip


def test_the_help_has_the_options_of_the_benchmark_too(commlens: Commlens) -> None:
    both = commlens("run", "latency", "--help")
    assert both.returncode == 0
    assert "--launcher" in both.stdout and "commlens run quick" in both.stdout
    assert "options of the native latency" in both.stdout
    assert "options of the native" not in commlens("run", "--help").stdout


@pytest.mark.parametrize("words", [[], ["run"], ["list"], ["show"], ["plot"]])
def test_every_help_has_an_example(commlens: Commlens, words: list[str]) -> None:
    shown = commlens(*words, "--help")
    assert shown.returncode == 0
    assert re.search(r"^ *Examples?:\n +commlens " + " ".join(words), shown.stdout, re.MULTILINE)


def test_list_needs_no_launcher(commlens: Commlens) -> None:
    listed = commlens("list", PATH=f"{Path(BENCH).parent / 'none'}:/usr/bin:/bin")
    assert listed.returncode == 0, listed.stderr
    for text in (
        "message-rate",
        "what latency measures",
        "quick",
        "mpi, staged",
        "Open MPI v4.1.4",
        "table, json, osu",
    ):
        assert text in listed.stdout


def test_open_mpi_without_its_ucx_is_explained_without_a_probe(commlens: Commlens, tmp_path: Path) -> None:
    launcher = tmp_path / "bin" / "mpirun"
    launcher.parent.mkdir()
    message = tmp_path / "message"
    message.write_text(captured("open-mpi-4-pml-ucx-refused").replace("init returned failure", ""))
    launcher.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo 'Open MPI' && exit\ncat {message} >&2\nexit 1\n")
    launcher.chmod(0o755)
    run = commlens("run", "latency", OMPI_MCA_pml="ucx", PATH=f"{launcher.parent}:{os.environ['PATH']}")
    assert run.returncode == 1
    (said,) = [line for line in run.stderr.splitlines() if line.startswith("commlens: ")]
    assert said.startswith("commlens: MPI_Init failed: Open MPI 4.1.4 was told to use pml ucx")
