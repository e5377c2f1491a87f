"""The known causes of a probe's end, and the sentence for each. A new cause is one entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from commlens.jobs.probe.evidence import START, Evidence, GpuSupport, Verdict

TIME_LIMIT_S = 60.0

_ON_ANY_DEVICE = {"OMPI_MCA_opal_common_ucx_tls": "any", "OMPI_MCA_opal_common_ucx_devices": "any"}
_UCX_ON_ANY_DEVICE = " and ".join(f"{name}={value}" for name, value in _ON_ANY_DEVICE.items())
_CACHE_OFF = {"UCX_MEMTYPE_CACHE": "n"}
_OTHER_WAYS = "use --transport staged or ccl for device memory"
_NO_PML = re.compile(r"No components were able to be opened in the\s+pml framework")


@dataclass(frozen=True)
class Cause:
    applies: Callable[[Evidence], bool]
    support: GpuSupport
    sentence: Callable[[Evidence], str]
    fix: Mapping[str, str] = field(default_factory=dict)  # the variables that it says to set


def _in_start(evidence: Evidence) -> bool:
    return evidence.culprit == START


def _is_whole(evidence: Evidence) -> bool:
    return len(evidence.done) == evidence.ranks


def _asked_for_refused_ucx(evidence: Evidence) -> bool:
    asked = "ucx" in evidence.environment.get("OMPI_MCA_pml", "") or evidence.ucx_refused
    fixed = evidence.environment.get("OMPI_MCA_opal_common_ucx_tls") == "any"
    return _NO_PML.search(evidence.log) is not None and asked and not fixed


def _says_no_and_did_not_prove_otherwise(evidence: Evidence) -> bool:
    went_wrong = evidence.crashed or evidence.timed_out or bool(evidence.wrong)
    return evidence.says_gpu_aware == "no" and (went_wrong or not evidence.tried_device)


def _ucx_mistook_the_pointer(evidence: Evidence) -> bool:
    step = evidence.culprit
    cache_is_off = evidence.environment.get("UCX_MEMTYPE_CACHE", "").lower() in (
        "n",
        "no",
        "0",
        "off",
    )
    on_gpu = evidence.death is not None and step is not None and step.memory == "device"
    return on_gpu and evidence.ucx_in_use and not cache_is_off


def _claim(evidence: Evidence) -> str:
    if evidence.says_gpu_aware != "yes":
        return ""
    return f", although {evidence.how or 'the library'} says that it takes GPU memory"


# The first that applies is the one.
CAUSES: Sequence[Cause] = (
    Cause(
        _asked_for_refused_ucx,
        GpuSupport.BROKEN,
        lambda e: (
            f"MPI_Init failed: {e.mpi} was told to use pml ucx (OMPI_MCA_pml=ucx), but turns UCX "
            "off on a host without a Mellanox adapter. "
            f"Set {_UCX_ON_ANY_DEVICE}, or do not ask for pml ucx."
        ),
        _ON_ANY_DEVICE,
    ),
    Cause(
        lambda e: e.timed_out and _in_start(e),
        GpuSupport.BROKEN,
        lambda e: (
            f"MPI_Init of {e.library} did not return within {TIME_LIMIT_S:.0f} s: check that the "
            "launcher belongs to this MPI library, and the network that it tries to use."
        ),
    ),
    Cause(
        lambda e: e.crashed and _in_start(e),
        GpuSupport.BROKEN,
        lambda e: f"MPI_Init of {e.library} {e.end}: no benchmark can start with this MPI library.",
    ),
    Cause(
        _says_no_and_did_not_prove_otherwise,
        GpuSupport.UNSUPPORTED,
        lambda e: (
            f"{e.mpi} does not take GPU memory ({e.how or 'it'} says no): load or build an MPI "
            f"library with GPU support, or {_OTHER_WAYS}."
        ),
    ),
    Cause(
        _ucx_mistook_the_pointer,
        GpuSupport.UNSUPPORTED,
        lambda e: (
            f"{e.culprit} {e.end} inside {e.library}{_claim(e)}: UCX's memory-type cache took the "
            "GPU pointer for host memory. Set UCX_MEMTYPE_CACHE=n."
        ),
        _CACHE_OFF,
    ),
    Cause(
        lambda e: bool(e.wrong),
        GpuSupport.UNSUPPORTED,
        lambda e: (
            f"{e.wrong[0]} with {e.library} delivered wrong data{_claim(e)}: "
            f"do not trust it with GPU memory; {_OTHER_WAYS}."
        ),
    ),
    Cause(
        lambda e: e.timed_out and e.culprit is not None,
        GpuSupport.UNSUPPORTED,
        lambda e: (
            f"{e.culprit} with {e.library} did not return within {TIME_LIMIT_S:.0f} s{_claim(e)}: "
            f"{_OTHER_WAYS}, or try another messaging layer of the library."
        ),
    ),
    Cause(
        lambda e: e.crashed and e.culprit is not None,
        GpuSupport.UNSUPPORTED,
        lambda e: (
            f"{e.culprit} {e.end} inside {e.library}{_claim(e)}: "
            f"{_OTHER_WAYS}, or try another messaging layer of the library."
        ),
    ),
    Cause(
        lambda e: _is_whole(e) and e.ucx_passed_over and e.pml not in ("", "ucx"),
        GpuSupport.SUPPORTED,
        lambda e: (
            f"MPI carries GPU memory over pml {e.pml}, not UCX: {e.mpi} passes UCX over on a host "
            f"without a Mellanox adapter; to use UCX set {_UCX_ON_ANY_DEVICE}."
        ),
        _ON_ANY_DEVICE,
    ),
    Cause(_is_whole, GpuSupport.SUPPORTED, lambda e: ""),
)


def judge(evidence: Evidence) -> Verdict:
    """What the first cause that applies says; UNKNOWN where the probe did not come far enough."""
    for cause in CAUSES:
        if cause.applies(evidence):
            return Verdict(cause.support, cause.sentence(evidence), cause.fix)
    return Verdict(GpuSupport.UNKNOWN)


def explain_failed_start(log: str, mpi: str, environment: Mapping[str, str]) -> str:
    """The sentence for a job that ended in MPI_Init for a known reason; empty for any other end."""
    evidence = Evidence(ranks=1, log=log, mpi=mpi, environment=environment, status=1)
    return CAUSES[0].sentence(evidence) if CAUSES[0].applies(evidence) else ""
