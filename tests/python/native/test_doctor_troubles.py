"""`commlens doctor` on this machine, with troubles that are real."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commlens.jobs.native import Native
from conftest import FAKES
from native_helpers import BENCH, needs_native
from run_helpers import AS_ROOT

pytestmark = needs_native

WRONG_LAUNCHER = "#!/bin/sh\necho 'HYDRA build details:'\necho '    Version: 4.0.2'\n"


def real_environment(changes: dict[str, str]) -> dict[str, str]:
    """Without the fakes of the other tests on the PATH."""
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(FAKES)]
    path = os.pathsep.join(folders)
    environment = {**os.environ, **AS_ROOT, "PATH": path, "COMMLENS_BENCH": str(BENCH), **changes}
    return {**environment, "PATH": environment["PATH"].replace("$PATH", path)}


def doctor(*words: str, limited: bool = False, **environment: str) -> tuple[int, Any, str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        resource.setrlimit(resource.RLIMIT_STACK, (2**20, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40))

    run = subprocess.run(
        [sys.executable, "-m", "commlens", "doctor", "--format", "json", *words],
        env=real_environment(environment),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit if limited else None,
    )
    return run.returncode, json.loads(run.stdout), run.stderr


def codes(report: Any) -> set[str]:
    return {finding["code"] for finding in report["findings"]}


@pytest.fixture(scope="module")
def is_open_mpi() -> bool:
    return Native(BENCH).about.mpi_family == "openmpi"


def test_a_machine_as_it_is(tmp_path: Path) -> None:
    status, report, said = doctor("--out", str(tmp_path))
    problems = {check["code"] for check in report["checks"] if check["verdict"] == "problem"}
    assert status == (1 if problems else 0) and "Traceback" not in said
    by_code = {check["code"]: check for check in report["checks"]}
    assert by_code["library-not-found"]["verdict"] == "ok"
    assert by_code["ranks-are-alone"]["verdict"] == "ok"
    assert by_code["short-run-fails"]["verdict"] == "ok", report["findings"]
    assert report["machines"][0]["mpi"]["library"]["version"]
    assert not [check for check in report["checks"] if "itself failed" in check["reason"]]


def test_troubles_of_limits_and_settings(tmp_path: Path, is_open_mpi: bool) -> None:
    (tmp_path / "mpirun").write_text(WRONG_LAUNCHER)
    (tmp_path / "mpirun").chmod(0o755)
    status, report, _ = doctor(
        "--no-runs",
        limited=True,
        PATH=f"{tmp_path}{os.pathsep}$PATH",
        OMP_NUM_THREADS="4000",
        NCCL_ALOG="Ring",
        OMPI_MCA_bttl="self",
    )
    wanted = {
        "open-files-limited", "stack-small", "address-space-limited", "more-threads-than-cores",
        "misspelt-setting",
    }  # fmt: skip
    if is_open_mpi:
        wanted.add("launcher-of-another-mpi")
    assert status == 1 and wanted <= codes(report)
    near = " ".join(
        finding["fix"] for finding in report["findings"] if finding["code"] == "misspelt-setting"
    )
    assert "NCCL_ALGO" in near and ("OMPI_MCA_btl" in near or not is_open_mpi)


def test_all_ranks_on_one_core(tmp_path: Path) -> None:
    first = min(os.sched_getaffinity(0))
    wrapper = tmp_path / "one-core"
    wrapper.write_text(f'#!/bin/sh\nexec taskset -c {first} "{BENCH}" "$@"\n')
    wrapper.chmod(0o755)
    # Ranks that wait give way to each other, or this takes long.
    status, report, _ = doctor(COMMLENS_BENCH=str(wrapper), OMPI_MCA_mpi_yield_when_idle="1")
    assert status == 1 and "ranks-share-cores" in codes(report)


def test_open_mpi_that_refuses_the_requested_ucx(is_open_mpi: bool) -> None:
    if not is_open_mpi or any(Path("/sys/class/infiniband").glob("*")):
        pytest.skip("needs Open MPI on a host without an RDMA adapter")
    status, report, _ = doctor("--no-runs", OMPI_MCA_pml="ucx")
    has_ucx = "ucx" in report["machines"][0]["mpi"]["open_mpi"]["components"]["pml"]
    has_gpu = report["machines"][0]["devices"]["nvidia_gpus"]
    assert ("ucx-refused" in codes(report)) == (has_ucx and not has_gpu) and status in (0, 1)
