"""tools/peers/launches.py: OSU's programs and commlens-bench in turn, without adaptors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from conftest import FAKES
from peer_helpers import PEERS, program

HEAD = "# OSU MPI Allreduce Latency Test v7.4"
LINES = ("4 0.2 0.1 0.25 100", "8 0.3 0.1 0.5 100")
PERIODS = (
    "period: rank $FAKE_RANK bytes 4 us 0.4$FAKE_RANK",
    "period: rank $FAKE_RANK bytes 8 us 0.6$FAKE_RANK",
)


def _osu(folder: Path, status: int = 0) -> str:
    """A folder with OSU's program, which is timed from call to call."""
    said = [f'echo "{line}" >&2' for line in PERIODS]
    printed = [f"[ $FAKE_RANK = 1 ] || echo '{line}'" for line in (HEAD, *LINES)]
    program(folder / "osu_allreduce", *printed, *said, f"exit {status}")
    return str(folder)


def _launch(file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PEERS / "launches.py"), str(file), "--ranks", "2", *words]
    environment = {
        **os.environ,
        "PATH": f"{FAKES}:{os.environ['PATH']}",
        "COMMLENS_BENCH": str(FAKES / "commlens-bench"),
    }
    return subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", timeout=60, check=False
    )


def test_each_launch_has_a_time_of_each_program_and_size(tmp_path: Path) -> None:
    file = tmp_path / "launches.json"
    builds = [f"--osu={name}={_osu(tmp_path / name)}" for name in ("first", "second")]
    groups = ("--cores=0", "--cores=0", "--launches=3", "--period=period.so")
    done = _launch(file, *builds, *groups, "allreduce:4:8")
    assert done.returncode == 0, done.stderr
    (measured,) = json.loads(file.read_text(encoding="utf-8"))
    assert (measured["operation"], measured["ranks"]) == ("allreduce", 2)
    command = "mpirun -n 2 osu_allreduce -m 4:8 -i 1000 -x 100 -T mpi_float -f"
    assert measured["commands"]["first"] == measured["commands"]["second"] == command
    assert "mpirun -n 2 commlens-bench allreduce --bytes 4:8 " in measured["commands"]["commlens"]
    times = measured["times_us"]
    for build in ("first", "second"):
        assert times[build] == {"4": [0.25] * 3, "8": [0.5] * 3}
        periods = times[f"{build}, from call to call"]
        assert periods == {"4": [0.41] * 3, "8": [0.61] * 3}  # of the slowest rank
    assert {len(values) for values in times["commlens"].values()} == {3}


def test_a_launch_that_fails_is_named(tmp_path: Path) -> None:
    build = f"--osu=first={_osu(tmp_path / 'first', status=3)}"
    done = _launch(tmp_path / "launches.json", build, "--cores=0", "allreduce:4:8")
    assert done.returncode == 1
    assert "osu_allreduce -m 4:8" in done.stderr
    assert "has ended with status" in done.stderr
