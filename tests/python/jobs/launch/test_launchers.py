from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs import launchers
from commlens.jobs.launchers import Chosen
from commlens.jobs.native import find_native
from commlens.jobs.spec import Allocation, JobSpec, Options
from commlens.knowledge.launchers import LAUNCHERS, Launcher
from conftest import FAKES
from run_helpers import cases, executable

PROGRAM = Path("/commlens-bench")


def launcher(name: str) -> Launcher:
    return next(entry for entry in LAUNCHERS if entry.name == name)


def choose(requested: str = "auto", **environment: str) -> Chosen:
    return launchers.choose(requested, find_native(), {"PATH": str(FAKES), **environment})


def job(ranks: int, *arguments: str, **environment: str) -> JobSpec:
    return JobSpec("latency", Options(), ranks, environment, arguments)


def command(
    name: str, wanted: JobSpec, *, with_gpus: bool = False, in_allocation: bool = False
) -> str:
    """Without the program of the ranks."""
    chosen = Chosen("launcher", launcher(name), Allocation("X") if in_allocation else None)
    words = chosen.command(wanted, PROGRAM, with_gpus=with_gpus)
    assert words[-4:] == [str(PROGRAM), "latency", "--expect-ranks", str(wanted.ranks)]
    return " ".join(words[:-4])


def test_auto_takes_mpirun_where_there_is_no_allocation() -> None:
    assert choose() == Chosen(str(FAKES / "mpirun"), launcher("Open MPI"))


@pytest.mark.parametrize(
    ("variable", "name"), [("SLURM_JOB_ID", "srun"), ("LSB_JOBID", "jsrun"), ("FLUX_URI", "flux")]
)
def test_auto_takes_the_launcher_of_the_allocation(
    variable: str, name: str, tmp_path: Path
) -> None:
    executable(tmp_path, name)
    chosen = choose(**{variable: "1", "PATH": f"{tmp_path}:{FAKES}"})
    assert (chosen.program, chosen.launcher) == (str(tmp_path / name), launcher(name))
    assert chosen.allocation and chosen.allocation.variable == variable


def test_in_an_allocation_without_its_launcher_mpirun_is_left() -> None:
    chosen = choose(SLURM_JOB_ID="1")
    assert chosen.launcher.name == "Open MPI"
    assert chosen.allocation == Allocation("SLURM_JOB_ID")


@pytest.mark.parametrize("name", ["srun", "mpiexec"])
def test_a_missing_launcher_is_named(name: str) -> None:
    with pytest.raises(CommlensError, match=f"--launcher {name}: there is no {name} on the PATH"):
        choose(name)


def test_a_launcher_of_another_mpi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MPI", "MPICH 4.2")
    monkeypatch.setenv("FAKE_MPI_FAMILY", "mpich")
    with pytest.raises(CommlensError, match=r"built with MPICH 4.2, but .*mpirun is Open MPI's"):
        choose()
    assert choose("mpirun").launcher.name == "Open MPI"  # who names it is believed


@pytest.mark.parametrize("family", ["mpich", "intel"])
def test_hydra_starts_programs_of_two_families(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MPI_FAMILY", family)
    monkeypatch.setenv("FAKE_LAUNCHER_VERSION", "HYDRA build details:")
    assert choose().launcher.name == "MPICH"


def test_an_mpi_without_its_launcher_takes_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MPI_FAMILY", "other")
    assert choose().launcher.name == "Open MPI"


def test_a_launcher_that_does_not_say_whose_it_is_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_LAUNCHER_VERSION", "mpirun 1.0")
    chosen = choose()
    assert chosen.launcher is launchers.UNKNOWN
    assert chosen.command(job(3, A="b"), PROGRAM)[1:3] == ["-n", "3"]


USER, ROOT = 1000, 0
VARIABLES = {"UCX_TLS": "self,sm", "A": ""}
ON_TWO_NODES = JobSpec("latency", ranks=4, nodes=2)


@pytest.mark.parametrize(("name", "wanted", "expected"), cases("words of launchers"))
def test_a_launcher_gets_its_options(
    name: str, wanted: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launchers, "physical_cores", lambda: 2)
    monkeypatch.setattr("os.geteuid", lambda: USER)
    variables = VARIABLES if wanted.get("variables") else {}
    spec = job(wanted["ranks"], *wanted.get("arguments", "").split(), **variables)
    spread = replace(spec, nodes=wanted.get("nodes", 0))
    assert command(name, spread) == f"launcher {expected}"


def test_options_of_a_launcher_depend_on_where_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "physical_cores", lambda: 2)
    monkeypatch.setattr("os.geteuid", lambda: ROOT)
    assert command("Open MPI", job(2)) == "launcher --allow-run-as-root -n 2"
    monkeypatch.setattr("os.geteuid", lambda: USER)
    assert command("Open MPI", job(3), in_allocation=True) == "launcher -n 3"
    with_gpus = command("flux", job(4, "-v"), with_gpus=True)
    assert with_gpus == "launcher run --ntasks 4 --gpus-per-task 1 -v"
    assert "--gpu_per_rs 1 --smpiargs=-gpu" in command("jsrun", job(4), with_gpus=True)


def test_options_of_the_launcher_count_as_settings() -> None:
    arguments = ["--mca", "pml", "ucx", "-x", "UCX_MEMTYPE_CACHE=n", "-x", "PATH", "--mca"]
    chosen = Chosen("mpirun", launcher("Open MPI"))
    settings = chosen.settings(job(2, *arguments, UCX_NET_DEVICES="lo"), {"UCX_TLS": "all"})
    assert settings == {
        "UCX_TLS": "all",
        "UCX_NET_DEVICES": "lo",
        "OMPI_MCA_pml": "ucx",
        "UCX_MEMTYPE_CACHE": "n",
    }


@pytest.mark.parametrize(("name", "words", "expected"), cases("jobs on several nodes"))
def test_a_job_on_several_nodes_is_known(name: str, words: str, expected: bool) -> None:
    chosen = Chosen("launcher", launcher(name))
    assert chosen.spans_nodes(job(4, *words.split())) is expected
    assert chosen.spans_nodes(ON_TWO_NODES)


def test_cores_are_counted() -> None:
    assert launchers.physical_cores() >= 1
