"""Each known cause for which an MPI library does not take GPU memory becomes its sentence.

The logs are what Open MPI really wrote, on a host without a Mellanox adapter.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from commlens.jobs.native import find_native
from commlens.jobs.probe import (
    GpuSupport,
    ProbeVerdict,
    explain_failed_start,
    facts,
    is_needed,
    judge,
)
from commlens.jobs.process import Outcome
from commlens.jobs.spec import Options
from conftest import captured
from run_helpers import cases, probe_lines

OPEN_MPI = "Open MPI 5.0.7"
FIX = "OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any"
FIXES = {"OMPI_MCA_opal_common_ucx_tls": "any", "OMPI_MCA_opal_common_ucx_devices": "any"}
UCX = captured("open-mpi-5-pml-ucx-fixed")
CRASH = "yes0 yes1 begin0 begin1"


def verdict(
    steps: str,
    error: str = "",
    status: int = 0,
    *,
    timed_out: bool = False,
    environment: Mapping[str, str] = {},
) -> ProbeVerdict:
    outcome = Outcome(status, ended_because="it takes too long" if timed_out else "")
    output = "\n".join(probe_lines(steps))
    known = facts(output, error, outcome, ranks=2, mpi=OPEN_MPI, environment=environment)
    return judge(known, environment)


@pytest.mark.parametrize(
    ("steps", "logs", "status", "support", "begins"),
    [pytest.param(*values, id=name) for name, *values in cases("ends of probes")],
)
def test_how_a_probe_ends(
    steps: str, logs: list[str], status: int, support: str, begins: str
) -> None:
    log = "".join(name if ":" in name else captured(name) for name in logs)
    judged = verdict(steps, log, status)
    assert judged.support is GpuSupport[support.upper()]
    assert judged.sentence.startswith(begins) and bool(judged.sentence) == bool(begins)
    if "set " in judged.sentence.lower():
        assert judged.fix and all(name in judged.sentence for name in judged.fix)


def test_a_crash_with_the_cache_off_has_another_reason() -> None:
    judged = verdict(CRASH, UCX, 139, environment={"UCX_MEMTYPE_CACHE": "n"})
    assert judged.support is GpuSupport.UNSUPPORTED
    assert "MEMTYPE" not in judged.sentence
    assert "inside Open MPI 5.0.7 with UCX 1.22.0" in judged.sentence


@pytest.mark.parametrize(("steps", "support", "begins"), cases("a call that does not return"))
def test_a_call_that_does_not_return(steps: str, support: str, begins: str) -> None:
    judged = verdict(steps, status=143, timed_out=True)
    assert judged.support is GpuSupport[support.upper()]
    assert judged.sentence.startswith(begins)
    assert "did not return within 60 s" in judged.sentence


@pytest.mark.parametrize("log", ["open-mpi-5-pml-ucx-refused", "open-mpi-4-pml-ucx-refused"])
def test_open_mpi_turns_down_the_requested_ucx(log: str) -> None:
    result = verdict("init init", captured(log), 1, environment={"OMPI_MCA_pml": "ucx"})
    assert result == ProbeVerdict(
        GpuSupport.BROKEN,
        "MPI_Init failed: Open MPI 5.0.7 was told to use pml ucx (OMPI_MCA_pml=ucx), but turns UCX "
        f"off on a host without a Mellanox adapter. Set {FIX}, or do not ask for pml ucx.",
        FIXES,
    )
    # The launcher's own option (--mca pml ucx) does not show in our environment.
    assert verdict("init init", captured(log), 1) == result


def test_the_same_sentence_explains_a_run_without_a_probe() -> None:
    log = captured("open-mpi-5-pml-ucx-refused").replace("init returned failure", "")
    assert FIX in explain_failed_start(log, OPEN_MPI, {"OMPI_MCA_pml": "ucx"})
    assert explain_failed_start(log, OPEN_MPI, {"OMPI_MCA_pml": "cm"}) == ""
    assert explain_failed_start("", OPEN_MPI, {"OMPI_MCA_pml": "ucx"}) == ""


@pytest.mark.parametrize(
    ("backend", "gpus", "options", "needed"), cases("whether a probe is needed")
)
def test_the_probe_is_made_where_mpi_could_meet_gpu_memory(
    backend: str, gpus: str, options: dict[str, str], needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_BACKEND", backend)
    monkeypatch.setenv("FAKE_GPUS", gpus)
    assert is_needed(find_native(), Options(options)) is needed
