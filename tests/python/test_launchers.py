from pathlib import Path

import pytest

from commlens import launchers
from commlens.errors import CommlensError
from commlens.native import find_native
from conftest import FAKES

PROGRAM = ["commlens-bench", "latency"]


def choose(requested: str = "auto", **environment: str) -> launchers.Launcher:
    return launchers.choose(requested, find_native(), {"PATH": str(FAKES), **environment})


def program(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def test_auto_takes_mpirun_where_there_is_no_allocation() -> None:
    assert choose() == launchers.Launcher(str(FAKES / "mpirun"), "Open MPI")


@pytest.mark.parametrize(("variable", "name"), [("SLURM_JOB_ID", "srun"), ("LSB_JOBID", "jsrun"), ("FLUX_URI", "flux")])
def test_auto_takes_the_launcher_of_the_allocation(variable: str, name: str, tmp_path: Path) -> None:
    program(tmp_path, name)
    found = choose(**{variable: "1", "PATH": f"{tmp_path}:{FAKES}"})
    assert found == launchers.Launcher(str(tmp_path / name), name, in_allocation=True)


def test_in_an_allocation_without_its_launcher_mpirun_is_left() -> None:
    assert choose(SLURM_JOB_ID="1").family == "Open MPI"


@pytest.mark.parametrize("name", ["srun", "mpiexec"])
def test_a_missing_launcher_is_named(name: str) -> None:
    with pytest.raises(CommlensError, match=f"--launcher {name}: there is no {name} on the PATH"):
        choose(name)


def test_a_launcher_of_another_mpi_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MPI", "MPICH 4.2")
    with pytest.raises(CommlensError, match=r"built with MPICH, but .*mpirun is Open MPI's"):
        choose()
    assert choose("mpirun").family == "Open MPI"  # who names it is believed


def test_open_mpi_gets_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launchers, "physical_cores", lambda: 2)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    launcher = launchers.Launcher("mpirun", "Open MPI")
    assert launcher.command(2, PROGRAM) == ["mpirun", "--allow-run-as-root", "-n", "2", *PROGRAM]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    crowded = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3", *PROGRAM]
    assert launcher.command(3, PROGRAM) == crowded
    own = ["--bind-to", "core"]
    assert launcher.command(3, PROGRAM, own) == ["mpirun", "--oversubscribe", "-n", "3", *own, *PROGRAM]
    allocated = launchers.Launcher("mpirun", "Open MPI", in_allocation=True)
    assert allocated.command(3, PROGRAM) == ["mpirun", "-n", "3", *PROGRAM]


def test_the_other_launchers_get_what_they_need() -> None:
    def line(family: str, *, with_gpus: bool = False) -> str:
        launcher = launchers.Launcher(family, family)
        return " ".join(launcher.command(4, ["b"], ["-v"], with_gpus=with_gpus))

    assert line("srun") == "srun --ntasks 4 -v b"
    assert line("MPICH") == "MPICH -n 4 -v b"
    assert line("flux") == "flux run --ntasks 4 -v b"
    assert line("flux", with_gpus=True) == "flux run --ntasks 4 --gpus-per-task 1 -v b"
    assert line("jsrun") == "jsrun --nrs 4 --tasks_per_rs 1 --cpu_per_rs 1 -v b"
    assert "--gpu_per_rs 1 --smpiargs=-gpu" in line("jsrun", with_gpus=True)


def test_options_of_the_launcher_count_as_settings() -> None:
    own = ["--mca", "pml", "ucx", "-x", "UCX_MEMTYPE_CACHE=n", "-x", "PATH", "--mca"]
    found = launchers.settings(own, {"UCX_TLS": "all"})
    assert found == {"UCX_TLS": "all", "OMPI_MCA_pml": "ucx", "UCX_MEMTYPE_CACHE": "n"}


def test_cores_are_counted() -> None:
    assert launchers.physical_cores() >= 1
