"""tools/peers/launches.py: OSU's programs and commlens-bench in turn, without adaptors."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import FAKES
from peer_helpers import PEERS, TIMED, program

HEAD = "# OSU MPI Allreduce Latency Test v7.4"
SIZES = ("1", "2", "4")
LINES = [f"{size} 0.2 0.1 0.25 100" for size in SIZES]
# As period.c's library says them: with a pause this one says the pause.
_TIME = "$([ $PAUSE_US = 0 ] && echo 0.4$FAKE_RANK || echo $PAUSE_US)"
PERIODS = [f"period: rank $FAKE_RANK bytes {size} us {_TIME}" for size in SIZES]


def _osu(folder: Path, status: int = 0, said: Sequence[str] = PERIODS) -> str:
    """A folder with OSU's program, which is timed from call to call."""
    periods = [f'echo "{line}" >&2' for line in said]
    printed = [f"[ $FAKE_RANK = 1 ] || echo '{line}'" for line in (HEAD, *LINES)]
    program(folder / "osu_allreduce", *printed, *periods, f"exit {status}")
    return str(folder)


def _launch(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PEERS / "launches.py"), str(file), "--ranks", "2", *words]
    environment = {
        **os.environ,
        "PATH": f"{FAKES}:{os.environ['PATH']}",
        "OMPI_MCA_accelerator": "null",
        "COMMLENS_BENCH": str(FAKES / "commlens-bench"),
    }
    return subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", timeout=60, check=False
    )


def test_each_launch_has_a_time_of_each_program_and_size(tmp_path: Path) -> None:
    file = tmp_path / "launches.json"
    builds = [f"--osu={name}={_osu(tmp_path / name)}" for name in ("first", "second")]
    groups = ("--cores=0", "--cores=0", "--launches=3", "--period=period.so")
    done = _launch(file, *builds, *groups, "allreduce:1:4")
    assert done.returncode == 0, done.stderr
    (measured,) = json.loads(file.read_text(encoding="utf-8"))
    assert (measured["operation"], measured["ranks"]) == ("allreduce", 2)
    assert measured["settings"]["OMPI_MCA_accelerator"] == "null"
    command = "mpirun -n 2 osu_allreduce -m 1:4 -i 1000 -x 100 -T mpi_float -f"
    assert measured["commands"]["first"] == measured["commands"]["second"] == command
    assert "mpirun -n 2 commlens-bench allreduce --bytes 1:4 " in measured["commands"]["commlens"]
    times = measured["times_us"]
    for build in ("first", "second"):
        assert times[build] == dict.fromkeys(SIZES, [0.25] * 3)
        periods = times[f"{build}, from call to call"]
        assert periods == dict.fromkeys(SIZES, [0.41] * 3)  # of the slowest rank
        paused = f"{build}, 2 ms before each size"
        assert times[paused] == dict.fromkeys(SIZES, [0.25] * 3)
        assert times[f"{paused}, from call to call"] == dict.fromkeys(SIZES, [2000.0] * 3)
    assert {size: len(values) for size, values in times["commlens"].items()} == dict.fromkeys(
        SIZES, 3
    )


def test_the_pause_is_that_of_commlens_bench() -> None:
    source = (PEERS.parents[1] / "src/harness/case_loop.cpp").read_text(encoding="utf-8")
    (pause_ms,) = re.findall(r"pause_before_case = std::chrono::milliseconds\((\d+)\)", source)
    tool = (PEERS / "launches.py").read_text(encoding="utf-8")
    assert f"PAUSE_US = {pause_ms}000 " in tool and f"{pause_ms} ms before each size" in tool


def test_without_the_library_no_call_is_timed(tmp_path: Path) -> None:
    file = tmp_path / "launches.json"
    build = f"--osu=first={_osu(tmp_path / 'first')}"
    assert _launch(file, build, "--cores=0", "--launches=1", "allreduce:1:4").returncode == 0
    (measured,) = json.loads(file.read_text(encoding="utf-8"))
    assert measured["times_us"].keys() == {"commlens", "first"}


def test_what_the_library_does_not_know_is_refused(tmp_path: Path) -> None:
    build = f"--osu=first={_osu(tmp_path / 'first')}"
    done = _launch(tmp_path / "f.json", build, "--cores=0", "--period=period.so", "alltoall:1:4")
    assert done.returncode == 1
    assert f"alltoall:1:4: with --period write one of: {', '.join(TIMED)}\n" in done.stderr


def test_after_a_failure_the_others_go_on(tmp_path: Path) -> None:
    folder, file = tmp_path / "first", tmp_path / "launches.json"
    _osu(folder)
    once = f"mkdir {tmp_path / 'failed'} 2>/dev/null && exit 3"
    text = (folder / "osu_allreduce").read_text(encoding="utf-8")
    first, rest = text.split("\n", 1)
    (folder / "osu_allreduce").write_text(f"{first}\n{once}\n{rest}", encoding="utf-8")
    groups = ("--cores=0", "--cores=0", "--launches=6")
    done = _launch(file, f"--osu=first={folder}", *groups, "allreduce:1:4")
    assert done.returncode == 1
    assert "osu_allreduce -m 1:4" in done.stderr and "has ended with status" in done.stderr
    assert done.stderr.endswith("1 launch failed\n")
    (measured,) = json.loads(file.read_text(encoding="utf-8"))
    launches = {name: len(times["1"]) for name, times in measured["times_us"].items()}
    assert launches == {"commlens": 6, "first": 5}


def test_failures_that_go_on_end_all_groups(tmp_path: Path) -> None:
    build = f"--osu=first={_osu(tmp_path / 'first', status=3)}"
    groups = ("--cores=0", "--cores=0", "--launches=60")
    done = _launch(tmp_path / "launches.json", build, *groups, "allreduce:1:4")
    assert done.returncode == 1
    assert 5 <= done.stderr.count("has ended with status") <= 6


@pytest.mark.parametrize(
    ("sizes", "missing"),
    [("1:8", "commlens: times of [1, 2, 4] B"), ("1:4", "call: times of [1, 2] B")],
)
def test_a_size_without_a_time_is_named(tmp_path: Path, sizes: str, missing: str) -> None:
    said = PERIODS if sizes == "1:8" else PERIODS[:2]
    build = f"--osu=first={_osu(tmp_path / 'first', said=said)}"
    words = ("--cores=0", "--launches=1", "--period=period.so", f"allreduce:{sizes}")
    done = _launch(tmp_path / "launches.json", build, *words)
    assert done.returncode == 1
    assert missing in done.stderr
