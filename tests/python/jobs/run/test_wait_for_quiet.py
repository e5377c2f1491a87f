"""`commlens run --wait-for-quiet`: a launch waits until no other program uses the machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from commlens.base.text import plural
from commlens.jobs import session
from commlens.jobs.native import find_native
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Session, Settings
from commlens.jobs.spec import JobSpec, Options
from commlens.machine import gpu_drivers
from commlens.machine.load import measure_load
from commlens.model.interference import why_disturbed
from commlens.model.results import Interference
from conftest import Commlens
from run_helpers import executable, hogs


def test_the_load_of_a_moment_names_the_program() -> None:
    with hogs():
        load = measure_load(1.0)
    assert load is not None and load.cores == len(os.sched_getaffinity(0))
    assert (load.busy_cores or 0) > 0.5 * load.cores
    assert any(program.name.startswith("python") for program in load.programs)
    why = why_disturbed(load)
    assert "python" in why and f"of {plural(load.cores, 'core')} of {platform.node()}" in why


@pytest.mark.parametrize(
    ("stolen", "gpus", "used", "why"),
    [
        (0.0, "0", 90, ""),  # the build has no GPU: nobody is asked
        (0.3, "0", 0, "the hypervisor gave 0.30 of 2 cores to others"),
        (0.0, "1", 1, ""),
        (0.0, "1", 90, "python3 used GPU 0 of"),
    ],
)
def test_a_launch_waits_for_the_hypervisor_and_for_gpus_too(
    stolen: float,
    gpus: str,
    used: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    load = Interference(seconds=0.5, cores=2, busy_cores=0.0, stolen_cores=stolen)
    monkeypatch.setattr(session, "measure_load", lambda: load)
    process = "<process_info><type>C</type><process_name>python3</process_name></process_info>"
    executable(
        tmp_path,
        "nvidia-smi",
        f'echo \'<l><gpu id="00000000:19:00.0"><processes>{process}</processes>'
        f"<utilization><gpu_util>{used} %</gpu_util></utilization></gpu></l>'",
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(gpu_drivers.pci, "gpus", lambda _: [])
    monkeypatch.setenv("FAKE_BACKEND", "cuda")
    monkeypatch.setenv("FAKE_GPUS", gpus)
    settings = Settings("mpirun", tmp_path, quiet_within_s=0.01, use_probe=False)
    jobs = Session(find_native(), settings)
    (job,) = jobs.jobs([JobSpec("latency", Options({}), 2)])
    result = jobs.run(job, RecordFile(tmp_path / "records.jsonl"))
    assert bool(why) == bool(result.status)
    assert result.reason.startswith(f"--wait-for-quiet 0.01s: {why}" if why else "")


def test_a_busy_machine_starts_nothing_and_says_why(commlens: Commlens) -> None:
    with hogs():
        run = commlens("run", "latency", "--wait-for-quiet", "2s")
    assert run.returncode == 1
    first, last = run.stderr.splitlines()[0], run.stderr.splitlines()[-1]
    assert first.startswith("commlens: waiting for a quiet machine, at most ")
    assert last.startswith("commlens: --wait-for-quiet 2s: ") and "python" in last
    assert "used " in last and "no record was written" in last
    assert not [file for file in Path("results").glob("*") if file.stat().st_size]


@pytest.mark.parametrize("text", ["0", "soon", "-1s", "5 m", ""])
def test_odd_times_are_refused(commlens: Commlens, text: str) -> None:
    run = commlens("run", "latency", f"--wait-for-quiet={text}")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1 and "write a time, as in 90s, 10m or 2h" in run.stderr
