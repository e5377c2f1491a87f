"""Settings of communication libraries: variables of the environment, and names that none knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

import msgspec

from commlens.base.secrets import mask_variables
from commlens.machine.system import System

# As the native program has them, and those of CUDA and of Open MPI's runtime.
_BEGINNINGS = (
    "UCX_", "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "MPICH_", "MPIR_CVAR_", "I_MPI_", "MV2_", "MVP_",
    "NCCL_", "RCCL_", "FI_", "HSA_", "PSM2_", "PSM3_", "CUDA_", "ROCR_", "HIP_", "GDRCOPY_",
    "OMP_", "SLURM_MPI_TYPE",
)  # fmt: skip
# What Open MPI's launcher passes to its processes: addresses of one job, not settings.
_OF_LAUNCHER = (
    "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_R", "OMPI_MCA_pmix",
    "PRTE_MCA_ess",
)  # fmt: skip
# Of a likeness of 0 to 1. Letters that changed places count more: `UCX_TSL` is 0.86 like `UCX_TLS`,
# but so is `UCX_RC_TIMEOUT` like `UCX_UD_TIMEOUT`.
_LIKELY, _LIKELY_PERMUTED = 0.9, 0.85


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
    found = {
        name: value
        for name, value in own
        if name.startswith(_BEGINNINGS) and not name.startswith(_OF_LAUNCHER)
    }
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
    close = get_close_matches(name, known, n=5, cutoff=_LIKELY_PERMUTED)
    permuted = next((one for one in close if sorted(one) == sorted(name)), "")
    return permuted or next(iter(get_close_matches(name, known, n=1, cutoff=_LIKELY)), "")
