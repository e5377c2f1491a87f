"""Which launcher starts the ranks, and with which command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commlens.errors import CommlensError
from commlens.native import Native

MOST_RANKS = 1_000_000  # for more, launchers have no answer that helps

CHOICES = ("auto", "mpirun", "mpiexec", "srun", "jsrun", "flux")

# Inside an allocation the resource manager's own launcher knows the nodes; elsewhere the MPI library's does.
_ALLOCATIONS = (("SLURM_JOB_ID", "srun"), ("LSB_JOBID", "jsrun"), ("FLUX_URI", "flux"))
_OTHER_ALLOCATIONS = ("PBS_JOBID", "PE_HOSTFILE")

# Debian's names for the launchers of an MPI that is not the default one stand after the usual names.
_MPI_LAUNCHERS = ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "mpirun.mpich")

_FAMILIES = (
    ("Open MPI", re.compile(r"Open MPI|OpenRTE|prterun|PRRTE", re.IGNORECASE)),
    ("MPICH", re.compile(r"HYDRA|MPICH|MVAPICH|Intel\(R\) MPI", re.IGNORECASE)),
)


@dataclass(frozen=True)
class Launcher:
    program: str
    family: str  # "Open MPI", "MPICH", "srun", "jsrun", "flux"; empty: unknown
    in_allocation: bool = False

    def command(
        self, ranks: int, program: Sequence[str], arguments: Sequence[str] = (), *, with_gpus: bool = False
    ) -> list[str]:
        """The command line that starts `program` on `ranks` ranks; `arguments` are the user's own for the launcher."""
        return [self.program, *self._options(ranks, arguments, with_gpus), *arguments, *program]

    def _options(self, ranks: int, arguments: Sequence[str], with_gpus: bool) -> list[str]:
        count = str(ranks)
        if self.family == "Open MPI":
            return [*self._open_mpi_options(ranks, arguments), "-n", count]
        if self.family == "srun":
            return ["--ntasks", count]
        if self.family == "jsrun":
            per_rank = ["--tasks_per_rs", "1", "--cpu_per_rs", "1"]
            # Without -gpu, Spectrum MPI takes every pointer for one to host memory.
            gpus = ["--gpu_per_rs", "1", "--smpiargs=-gpu"] if with_gpus else []
            return ["--nrs", count, *per_rank, *gpus]
        if self.family == "flux":
            # Flux hides the GPUs from tasks that did not ask for any.
            return ["run", "--ntasks", count, *(["--gpus-per-task", "1"] if with_gpus else [])]
        return ["-n", count]

    def _open_mpi_options(self, ranks: int, arguments: Sequence[str]) -> list[str]:
        """Not --quiet: Open MPI 5 does not know it, and with it Open MPI 4 keeps to itself which rank died."""
        options = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        if ranks > physical_cores() and not self.in_allocation:
            wanted = [["--oversubscribe"], ["--bind-to", "none"]]
            options += [word for option in wanted if option[0] not in arguments for word in option]
        return options


def choose(requested: str, native: Native, environment: Mapping[str, str] = os.environ) -> Launcher:
    """The launcher that was asked for, or for `auto` that of the allocation, or that of the program's own MPI.

    Raises CommlensError where it is missing, or where `auto` finds only launchers of another MPI: under one of those
    every rank would take itself for the only one.
    """
    allocation = next((launcher for variable, launcher in _ALLOCATIONS if variable in environment), None)
    in_allocation = allocation is not None or any(variable in environment for variable in _OTHER_ALLOCATIONS)
    path = environment.get("PATH")
    if requested == "auto" and allocation and shutil.which(allocation, path=path):
        requested = allocation
    if requested in ("srun", "jsrun", "flux"):
        program = shutil.which(requested, path=path)
        if program is None:
            raise CommlensError(f"--launcher {requested}: there is no {requested} on the PATH; load its module first")
        return Launcher(program, requested, in_allocation)
    names = _MPI_LAUNCHERS if requested == "auto" else (requested,)
    folders = [*_folders_of_linked_mpi(native.path), path or ""]
    candidates = [program for folder in folders for name in names if (program := shutil.which(name, path=folder))]
    if not candidates:
        raise CommlensError(
            f"--launcher {requested}: there is no {names[0]} on the PATH; "
            "load the MPI module with which commlens was built"
        )
    if requested != "auto":
        return Launcher(candidates[0], _family_of_launcher(candidates[0]), in_allocation)
    return _launcher_of_same_mpi(candidates, native, in_allocation)


def _launcher_of_same_mpi(candidates: Sequence[str], native: Native, in_allocation: bool) -> Launcher:
    wanted = _family(native.about.mpi)
    launchers = [
        Launcher(program, _family_of_launcher(program), in_allocation) for program in dict.fromkeys(candidates)
    ]
    for launcher in launchers:
        if not wanted or not launcher.family or launcher.family == wanted:
            return launcher
    raise CommlensError(
        f"{native.path} was built with {wanted}, but {launchers[0].program} is {launchers[0].family}'s: "
        f"put the bin folder of that {wanted} first in the PATH, or choose with --launcher"
    )


def settings(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment as the ranks see it: with what the user's own options for Open MPI's mpirun put there."""
    merged = dict(environment)
    for index, word in enumerate(arguments):
        option, values = word.lstrip("-"), arguments[index + 1 : index + 3]
        if option in ("mca", "gmca") and len(values) == 2:
            merged[f"OMPI_MCA_{values[0]}"] = values[1]
        elif option == "x" and values and "=" in values[0]:
            name, _, value = values[0].partition("=")
            merged[name] = value
    return merged


def physical_cores() -> int:
    """The cores that this process may use; the hardware threads of a core count once, as Open MPI counts its slots."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            package = (topology / "physical_package_id").read_text()
            core = (topology / "core_id").read_text()
        except OSError:
            cores.add((str(cpu), ""))
        else:
            cores.add((package, core))
    return len(cores)


def _family(text: str) -> str:
    return next((family for family, pattern in _FAMILIES if pattern.search(text)), "")


def _family_of_launcher(program: str) -> str:
    return _family(_output([program, "--version"]))


def _folders_of_linked_mpi(program: Path) -> list[str]:
    """The bin folders beside the MPI library that the program loads, where the loader can tell."""
    match = re.search(r"libmpi\S* => (/\S+)", _output(["ldd", str(program)]))
    if match is None:
        return []
    library = Path(match[1])
    return [str(path.parent.parent / "bin") for path in dict.fromkeys((library, library.resolve()))]


def _output(command: Sequence[str]) -> str:
    try:
        answer = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr
