"""`commlens submit` with a real Flux, where there is one: an instance of two brokers."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from commlens.jobs.sites import site
from commlens.jobs.sites.script import Request, render
from native_helpers import Job, missing, start

FLUX = shutil.which("flux") or ""
WHY_NOT = missing() or ("" if FLUX else "there is no flux")
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "-")
LONG = "latency --bytes 8:4M:x2 --memory host --transport mpi --repeat 500 --no-probe"
COMMLENS = f"exec {sys.executable} -m commlens"


def in_flux(folder: Path, *lines: str) -> Job:
    """Lines of a shell in an instance. The job's script finds the command as `commlens`."""
    command = folder / "bin" / "commlens"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\n{COMMLENS} "$@"\n')
    command.chmod(0o755)
    (folder / "lines.sh").write_text("\n".join([f"PATH={command.parent}:$PATH", *lines]))
    words = [FLUX, "start", "--test-size=2", "bash", "lines.sh"]
    return start(words, folder).wait()


def submitting(words: str, nodes: int = 1, minutes: int = 5) -> str:
    return (
        f"commlens submit generic-flux --nodes {nodes} --time {minutes} --out jobs -- run {words}"
    )


def status_in(folder: Path) -> str:
    (file,) = folder.glob("jobs/*/status")
    return file.read_text()


def test_a_job(tmp_path: Path) -> None:
    job = in_flux(tmp_path, submitting("latency --bytes 8 --batches 2 --memory host --no-probe"))
    assert job.status == 0, job.output
    assert "latency" in job.output and status_in(tmp_path) == "0\n"


@pytest.mark.parametrize("end", ["was cancelled", "ran into its time limit"])
def test_a_job_that_flux_ends_keeps_its_records(end: str, tmp_path: Path) -> None:
    cancel = (
        'while ! grep -qs \'"kind":"record"\' jobs/*/records/*; do sleep 0.2; done',
        "flux cancel --all",
    )
    lines = [f"{submitting(LONG, minutes=1)} &", *(cancel if "cancel" in end else ()), "wait $!"]
    job = in_flux(tmp_path, *lines)
    assert job.status == 143, job.output
    assert end in job.error and "kept in records" in job.error
    assert status_in(tmp_path) == "143\n"


def test_a_job_that_is_too_large_is_explained(tmp_path: Path) -> None:
    job = in_flux(tmp_path, submitting("latency", nodes=9))
    assert job.status == 1
    assert "could not be started (unsatisfiable request" in job.error


@pytest.mark.parametrize("name", ["generic-flux", "tuolumne"])
def test_flux_reads_the_directives_of_a_site(name: str, tmp_path: Path) -> None:
    script = render(site.load(name), Request(2, 30, ["run", "latency"], "CSC262"), "commlens")
    (tmp_path / "job.sh").write_text(script)
    job = in_flux(tmp_path, "flux batch --dry-run job.sh")
    assert job.status == 0 and '"duration": 1800.0' in job.output, job.error
