"""`commlens tune`, with a program whose figures depend on its environment."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from commlens.tuning import bench
from commlens.tuning.launches import Launches
from commlens.tuning.scores import Slots
from conftest import Commlens, command_line
from run_helpers import kept, wait_for
from tuning_helpers import CASES


@pytest.fixture(autouse=True)
def space(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in CASES["spaces"].items():
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("FAKE_MODE", "tuned")
    monkeypatch.setattr(bench, "_LEAST_LIMIT_S", 1.0)
    monkeypatch.setattr("commlens.tuning.launches._SLACK_S", 0.5)


def folder() -> Path:
    (folder,) = Path("results").iterdir()
    return folder


def in_space(old: str, new: str) -> None:
    Path("my.yaml").write_text(Path("my.yaml").read_text().replace(old, new))


def launches_in(place: Path) -> Launches:
    launches = Launches(place, Slots())
    launches.close()
    return launches


def test_from_the_command_to_the_fix(commlens: Commlens) -> None:
    in_space("[bad, ", "[awful, ")
    run = commlens("tune", "latency", "--space", "my.yaml", "--ranks", 1, "--budget", "60s")
    assert run.returncode == 0, run.stderr
    assert "mpi: use FAKE_A=good: 0." in run.stdout
    text = (folder() / "best.env").read_text(encoding="utf-8")
    assert text.splitlines()[1:] == ["export FAKE_A=good"]
    (result,) = json.loads((folder() / "result.json").read_bytes())
    assert (result["recommended"], result["environment"]) == (True, {"FAKE_A": "good"})
    assert "5 values of 2 settings to try for mpi" in run.stderr
    done = launches_in(folder()).done
    endings = {next(iter(launch.choice.values()), ""): launch.ending for launch in done}
    assert endings == {
        "": "ok",
        "good": "ok",
        "awful": "stopped",
        "crash": "crashed",
        "hang": "hung",
        "wrong": "wrong",
    }
    for reason in ("signal 11", "did not end within", "element 3 is wrong"):
        assert reason in run.stdout
    assert (folder() / "curves.png").stat().st_size > 1000

    run = commlens("run", "latency", "--settings", folder() / "best.env", "--record", "again.jsonl")
    assert run.returncode == 0, run.stderr
    assert {record.statistics["latency_us"].median < 60 for record in kept("again.jsonl")} == {True}


def test_a_budget_that_ends_before_anything_was_tried(commlens: Commlens) -> None:
    run = commlens("tune", "latency", "--space", "my.yaml", "--ranks", 1, "--budget", "0.01s")
    assert run.returncode == 1
    assert "mpi: none of 5 values was tried: take a longer --budget" in run.stdout


def stop(by: signal.Signals, lines: int, *words: object) -> int:
    """The command, once it has said so many lines; its status."""
    with Path("said").open("wb") as said:
        process = subprocess.Popen(command_line(*words), stderr=said, env=os.environ)
        read = Path("said").read_text
        wait_for(lambda: read().count("\n") >= lines or process.poll() is not None, text=read)
        process.send_signal(by)
        return process.wait()


def test_a_killed_search_goes_on(commlens: Commlens) -> None:
    in_space("hang, ", "")
    begun = ("tune", "latency", "--space", "my.yaml", "--ranks", 1, "--launches", 3)
    assert stop(signal.SIGKILL, 3, *begun) == -signal.SIGKILL, Path("said").read_text()
    before = [start.number for start in launches_in(folder()).done]
    assert len(before) >= 2
    assert (
        stop(signal.SIGINT, 2, "tune", "--resume", folder(), "--launches", 3) == 128 + signal.SIGINT
    )
    assert f"go on with commlens tune --resume {folder()}" in Path("said").read_text()
    run = commlens("tune", "--resume", folder(), "--launches", 3)
    # 3 launches do not decide; on a busy machine the interrupt may come after some of the final's.
    inconclusive = "inconclusive; --launches 6 may decide" in run.stdout
    assert run.returncode == (4 if inconclusive else 0)
    done = launches_in(folder()).done
    assert [start.number for start in done][: len(before)] == before
    screened = Counter(str(dict(launch.choice)) for launch in done if launch.stage == "screening")
    assert screened == {
        "{'FAKE_X': 'crash'}": 1,
        "{'FAKE_X': 'wrong'}": 1,
        "{'FAKE_A': 'bad'}": 1,
        "{'FAKE_A': 'good'}": 1,
    }


def test_an_option_of_the_benchmark_is_a_setting(commlens: Commlens) -> None:
    run = commlens("tune", "bandwidth", "--space", "option.yaml", "--ranks", 1, "--launches", 3)
    assert run.returncode == 4, run.stderr
    assert launches_in(folder()).find({"window": "8"})


def test_an_option_that_the_benchmark_has_not_is_refused_at_once(commlens: Commlens) -> None:
    text = Path("option.yaml").read_text().replace("window", "windw")
    Path("option.yaml").write_text(text)
    run = commlens("tune", "bandwidth", "--space", "option.yaml", "--ranks", 1)
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert "--space: windw=" in run.stderr and "no option '--windw'" in run.stderr
    assert not Path("results").exists()


def test_a_dry_run_names_the_settings_that_apply(commlens: Commlens) -> None:
    words = ("--dry-run", "--env", "OMPI_MCA_btl_vader_eager_limit=512")
    run = commlens("tune", "latency", *words)
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("\nit takes at most 10 min, the finals included (--budget)\n")
    assert "OMPI_MCA_btl_vader_eager_limit=1024: the environment has" in run.stdout
    assert "NCCL_PROTO: for transport ccl; here it is mpi" in run.stdout
    assert "values of" in run.stdout and "to try for mpi\n" in run.stdout
    variable = "--env OMPI_MCA_btl_vader_eager_limit=512"
    assert run.stdout.startswith(f"commlens run latency --ranks 2 {variable}\n")
    assert not Path("results").exists()


@pytest.mark.parametrize(("words", "message"), CASES["mistakes_of_tune"])
def test_mistakes(commlens: Commlens, words: list[str], message: str) -> None:
    run = commlens("tune", *words)
    assert run.returncode == 2
    assert message in run.stderr
    assert not Path("results").exists()


def test_a_matrix_that_cannot_be_measured_shows_published_values(commlens: Commlens) -> None:
    run = commlens("tune", "latency", "--matrix", "gpudirect")
    assert run.returncode == 4
    assert "missing: a build for cuda, a GPU, InfiniBand adapter, several nodes" in run.stderr
    for text in ("GPUDirect RDMA only", "4.060", "281.6", "752.1"):
        assert text in run.stdout
    assert (folder() / "matrix.png").stat().st_size > 1000


def test_a_matrix_is_measured_in_turns(commlens: Commlens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commlens.tuning.matrix.missing", lambda *_: [])
    run = commlens("tune", "latency", "--matrix", "gpudirect", "--ranks", 1, "--launches", 2)
    assert run.returncode == 0, run.stderr
    said = [line.split(") ")[1].split(":")[0] for line in run.stderr.splitlines() if " (0:" in line]
    assert said == 2 * [
        "setting=GPUDirect RDMA and gdrcopy",
        "setting=GPUDirect RDMA only",
        "setting=gdrcopy only",
        "setting=no GDR optimization",
    ]
    assert "1 MiB" in run.stdout and "no GDR optimization" in run.stdout


def test_a_transport_without_settings_is_named(commlens: Commlens) -> None:
    words = ("--space", "staged.yaml", "--transport", "mpi,staged", "--dry-run")
    run = commlens("tune", "latency", *words)
    assert "1 value of 1 setting to try for mpi and staged" in run.stdout
    assert "mpi: no setting of it applies here" in run.stdout


def test_on_gpus_each_transport_has_a_winner_and_others_are_named(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("BACKEND", "cuda"), ("GPUS", "2"), ("TRANSPORTS", "mpi,staged,ccl")):
        monkeypatch.setenv(f"FAKE_{name}", value)
    in_space("crash, hang, wrong", "crash")
    words = ("--space", "my.yaml", "--ranks", 1, "--launches", 5, "--bytes", "1M")
    run = commlens("tune", "latency", *words)
    assert run.returncode == 0, run.stderr
    assert "mpi: use FAKE_A=good: 0." in run.stdout
    assert "staged: use FAKE_A=" in run.stdout
    assert re.search(r"1 MiB, latency \(us\): mpi [45]\d.*, staged [45]\d.*, ccl 7", run.stdout)
    assert "the best transport is ccl" in run.stdout
    for name in ("mpi", "staged"):
        assert (folder() / name / "best.env").exists()
    assert launches_in(folder()).others[0].file.exists()


def test_matplotlib_is_not_loaded_before_a_search() -> None:
    """Matplotlib takes a second to load, in which a search would wait."""
    modules = "sys, commlens.cli.tune, commlens.tuning.command"
    code = f"import {modules}; print('matplotlib' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert printed.stdout == "False\n", printed.stderr
