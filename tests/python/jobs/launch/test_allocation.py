"""What is known of an allocation, and what is asked of launchers in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs.launchers import options_here
from commlens.jobs.native import Native, find_native
from commlens.jobs.spec import Allocation, JobSpec
from commlens.knowledge.launchers import LAUNCHERS
from conftest import Commlens
from run_helpers import cases, executable


@pytest.mark.parametrize(("environment", "expected"), cases("nodes of allocations"))
def test_the_nodes_of_an_allocation(environment: dict[str, str], expected: list[Any]) -> None:
    Path("nodes").write_text("n1 4 queue\nn1 4 queue\nn2 4 queue\n")
    assert Allocation.current(environment) == (Allocation(*expected) if expected else None)


def test_flux_is_asked_for_its_nodes(tmp_path: Path) -> None:
    executable(tmp_path, "flux", "echo 3")
    allocation = Allocation.current({"FLUX_URI": "local:///x", "PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert allocation == Allocation("FLUX_URI", 3)


@pytest.mark.parametrize(("family", "default", "wanted"), cases("types of MPI"))
def test_the_type_of_mpi_is_chosen_where_the_site_has_not(
    family: str, default: str, wanted: list[str], tmp_path: Path
) -> None:
    executable(tmp_path, "scontrol", f"echo 'MpiDefault              = {default}'")
    executable(tmp_path, "srun", "echo 'MPI plugin types are...' >&2; echo pmix none pmi2 >&2")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert options_here(SRUN, family, environment) == wanted
    assert options_here(SRUN, family, {**environment, "SLURM_MPI_TYPE": "pmix"}) == []
    cores = options_here(SRUN, family, {**environment, "SLURM_CPUS_PER_TASK": "7"})
    assert cores == [*wanted, "--cpus-per-task=7"]


SRUN = next(launcher for launcher in LAUNCHERS if launcher.name == "srun")
TWO = Allocation("SLURM_JOB_ID", 2)


@pytest.mark.parametrize(("given", "wanted", "expected"), cases("ranks and nodes"))
def test_how_many_ranks_and_nodes(
    given: list[int], wanted: dict[str, Any], expected: list[int]
) -> None:
    spec = JobSpec(**{"benchmark": "allreduce", **wanted})
    job = spec.resolved(find_native(), Allocation("SLURM_JOB_ID", *given) if given else None)
    assert [job.ranks, job.nodes] == expected


def test_gpus_are_counted_on_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node where commlens was started has none; those of the allocation have four."""
    monkeypatch.setenv("FAKE_BACKEND", "cuda")
    executable(tmp_path, "launcher", 'FAKE_GPUS=4 exec "$@"')
    native = find_native()
    assert native.about.gpus == 0
    there = Native(native.path, (str(tmp_path / "launcher"),))
    assert there.about.gpus == 4
    job = JobSpec("allreduce").resolved(there, TWO)
    assert job.ranks == 8


def test_more_nodes_than_there_are() -> None:
    with pytest.raises(CommlensError, match="--nodes 3: this allocation has 2 nodes"):
        JobSpec("allreduce", nodes=3).resolved(find_native(), TWO)


def test_several_benchmarks(commlens: Commlens) -> None:
    run = commlens("run", "allreduce", "latency", "--memory", "host", "--dry-run")
    assert run.returncode == 0
    first, second = run.stdout.splitlines()
    assert "commlens-bench allreduce" in first and "01-allreduce.jsonl" in first
    assert "commlens-bench latency" in second and "--memory host" in second
    wrong = commlens("run", "allreduce", "latncy", "--dry-run")
    assert wrong.returncode == 2 and "did you mean latency?" in wrong.stderr
