"""What srun needs on the machine at hand."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence

_ANSWER_TIME_S = 10

# By the family of the MPI library; the first that this Slurm has.
_MPI_TYPES: Mapping[str, Sequence[str]] = {
    "openmpi": ("pmix", "pmi2"),
    "mpich": ("pmi2", "pmix"),
    "intel": ("pmi2", "pmix"),
}


def options_here(mpi_family: str, environment: Mapping[str, str]) -> list[str]:
    """For the MPI library of the program, and for what the job was asked for."""
    return [*_mpi_type(mpi_family, environment), *_cores(environment)]


def _mpi_type(mpi_family: str, environment: Mapping[str, str]) -> list[str]:
    """What the user or the site has set is right; but where Slurm's own default is left, `none`,
    each rank takes itself for the only one, or Open MPI aborts with a misleading hint."""
    if environment.get("SLURM_MPI_TYPE"):
        return []
    default = re.search(
        r"^MpiDefault\s*=\s*(\S+)", _said(["scontrol", "show", "config"], environment), re.M
    )
    if default is None or default[1] != "none":
        return []
    known = _said(["srun", "--mpi=list"], environment).split()
    wanted = _MPI_TYPES.get(mpi_family, ())
    return next(([f"--mpi={name}"] for name in wanted if name in known), [])


def _cores(environment: Mapping[str, str]) -> list[str]:
    """Since version 22.05 srun does not take this one from the job."""
    cores = environment.get("SLURM_CPUS_PER_TASK", "")
    return [f"--cpus-per-task={cores}"] if cores else []


def _said(command: Sequence[str], environment: Mapping[str, str]) -> str:
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            timeout=_ANSWER_TIME_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr
