"""Settings of communication libraries: variables of the environment, and names that none knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

import msgspec

from commlens.machine.system import System
from commlens.secrets import mask_variables

# As the native program has them, and those of CUDA and of Open MPI's runtime.
_BEGINNINGS = (
    "UCX_", "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "MV2_", "MVP_",
    "NCCL_", "RCCL_", "FI_", "HSA_", "PSM2_", "PSM3_", "CUDA_", "ROCR_", "HIP_", "GDRCOPY_",
    "OMP_", "SLURM_MPI_TYPE", "SLURM_CPU_BIND",
)  # fmt: skip
_LIKELY = 0.85  # of a likeness of 0 to 1: `UCX_TSL` is 0.86 like `UCX_TLS`


class Unknown(msgspec.Struct, frozen=True):
    """A name that the library which it is for does not know."""

    name: str
    value: str
    library: str  # `UCX 1.22.0`
    near: str = ""  # the likely spelling


class FileSetting(msgspec.Struct, frozen=True):
    name: str
    value: str
    place: str  # `/etc/openmpi/openmpi-mca-params.conf:68`


def communication(system: System) -> dict[str, str]:
    """The variables that concern communication, secrets masked."""
    own = system.environment.items()
    found = {name: value for name, value in own if name.startswith(_BEGINNINGS)}
    return mask_variables(dict(sorted(found.items())))


def unknown(
    variables: Mapping[str, str],
    beginning: str,
    known: Collection[str],
    library: str,
    ignored: Iterable[str] = (),
) -> tuple[Unknown, ...]:
    """The variables with this beginning that are not among the known names."""
    ignored = tuple(ignored)
    found = [
        (name, value)
        for name, value in variables.items()
        if name.startswith(beginning) and name not in known and not name.startswith(ignored)
    ]
    return tuple(Unknown(name, value, library, _near(name, known)) for name, value in found)


def _near(name: str, known: Collection[str]) -> str:
    """Rather the one in which only letters have changed places."""
    close = get_close_matches(name, known, n=3, cutoff=_LIKELY)
    return next((one for one in close if sorted(one) == sorted(name)), (close or [""])[0])
