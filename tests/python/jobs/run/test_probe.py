"""Each known cause for which an MPI library does not take GPU memory becomes its sentence.

The logs are what Open MPI really wrote, on a host without a Mellanox adapter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from commlens.jobs.native import find_native
from commlens.jobs.options import Options
from commlens.jobs.probe import (
    GpuSupport,
    ProbeVerdict,
    explain_failed_start,
    is_needed,
    judge,
)
from commlens.jobs.process import Outcome
from conftest import captured

OPEN_MPI = "Open MPI 5.0.7"
QUERY = "MPIX_Query_cuda_support"
FIX = "OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any"
FIXES = {"OMPI_MCA_opal_common_ucx_tls": "any", "OMPI_MCA_opal_common_ucx_devices": "any"}


def step(kind: str, rank: int, call: str, **more: object) -> str:
    return json.dumps({"probe": kind, "rank": rank, "call": call, **more})


def started(rank: int, says: str = "yes", ucx: str | None = "1.22.0") -> list[str]:
    library = {
        "probe": "library",
        "rank": rank,
        "mpi": OPEN_MPI,
        "ucx": ucx,
        "says_gpu_aware": says,
        "how": QUERY,
    }
    return [INIT, json.dumps(library)]


INIT = step(
    "begin", -1, "MPI_Init", bytes=0, memory="device"
)  # a rank does not know its number yet


def transfer(rank: int, *kinds: str, valid: bool = True) -> list[str]:
    call = "MPI_Recv" if rank else "MPI_Send"
    more: dict[str, object] = {"bytes": 1, "memory": "device"}
    return [
        step(kind, rank, call, **more, **({"valid": valid} if kind == "end" else {}))
        for kind in kinds
    ]


def done(rank: int) -> str:
    return json.dumps({"probe": "done", "rank": rank})


def verdict(
    lines: list[str],
    error: str = "",
    status: int = 0,
    *,
    timed_out: bool = False,
    environment: Mapping[str, str] = {},
) -> ProbeVerdict:
    outcome = Outcome(status, ended_because="it takes too long" if timed_out else "")
    output = "\n".join(lines)
    return judge(output, error, outcome, ranks=2, mpi=OPEN_MPI, environment=environment)


CRASH = [*started(0), *started(1), *transfer(0, "begin"), *transfer(1, "begin")]
WHOLE = [
    *started(0),
    *started(1),
    *transfer(0, "begin", "end"),
    *transfer(1, "begin", "end"),
    done(0),
    done(1),
]
ENDED_BY_SIGNAL = captured("open-mpi-5-segv")


UCX, OB1 = captured("open-mpi-5-pml-ucx-fixed"), captured("open-mpi-5-pml-default")
STARTED = [*started(0), *started(1)]
SENT = [*STARTED, *transfer(0, "begin", "end")]
SAYS_NO = [*started(0, "no"), *started(1, "no")]
OLD = [*started(0, "unknown", None), *started(1, "unknown", None)]
WITH_UCX = "Open MPI 5.0.7 with UCX 1.22.0"
DENIED = "Open MPI 5.0.7 does not take GPU memory (MPIX_Query_cuda_support says no): load or build"


@pytest.mark.parametrize(
    ("lines", "log", "status", "support", "begins"),
    [
        pytest.param(
            CRASH, UCX, 139, "unsupported",
            f"MPI_Send of 1 B from device memory crashed (SIGSEGV) inside {WITH_UCX}, although "
            "MPIX_Query_cuda_support says that it takes GPU memory: UCX's memory-type cache took "
            "the GPU pointer for host memory. Set UCX_MEMTYPE_CACHE=n.",
            id="UCX takes the pointer for one to host memory",
        ),
        pytest.param(
            CRASH, UCX + ENDED_BY_SIGNAL, 139, "unsupported",
            "MPI_Recv of 1 B to device memory crashed (SIGSEGV)",
            id="the rank that died is the one to blame",
        ),
        pytest.param([*SAYS_NO, done(0), done(1)], "", 0, "unsupported", DENIED, id="denied"),
        pytest.param(
            SAYS_NO + transfer(0, "begin"), "", 139, "unsupported", DENIED, id="denied, and died"
        ),
        pytest.param([*started(0, "no"), *WHOLE], "", 0, "supported", "", id="denied, but works"),
        pytest.param(
            [*SENT, *transfer(1, "begin", "end", valid=False), done(0), done(1)], "", 0,
            "unsupported", f"MPI_Recv of 1 B to device memory with {WITH_UCX} delivered wrong data",
            id="wrong data",
        ),
        pytest.param(
            OLD + transfer(0, "begin"), OB1, 135, "unsupported",
            "MPI_Send of 1 B from device memory crashed (SIGBUS) inside Open MPI 5.0.7 over pml "
            "ob1: use --transport staged",
            id="any other crash",
        ),
        pytest.param(
            STARTED + transfer(0, "begin"), "commlens: probe: MPI_Send: MPI_ERR_BUFFER\n", 1,
            "unsupported", "MPI_Send of 1 B from device memory failed (MPI_Send: MPI_ERR_BUFFER) "
            "inside Open MPI",
            id="a call returns an error",
        ),
        pytest.param(
            [INIT, INIT], ENDED_BY_SIGNAL, 139, "broken",
            "MPI_Init of Open MPI 5.0.7 crashed (SIGSEGV): no benchmark can start with this MPI "
            "library.",
            id="MPI_Init dies",
        ),
        pytest.param(
            WHOLE, OB1, 0, "supported",
            "MPI carries GPU memory over pml ob1, not UCX: Open MPI 5.0.7 passes UCX over on a "
            f"host without a Mellanox adapter; to use UCX set {FIX}.",
            id="UCX is passed over",
        ),
        pytest.param(WHOLE, UCX, 0, "supported", "", id="all is well over UCX"),
        pytest.param([], captured("open-mpi-4-slots"), 1, "unknown", "", id="no launch"),
    ],
)  # fmt: skip
def test_how_a_probe_ends(
    lines: list[str], log: str, status: int, support: str, begins: str
) -> None:
    judged = verdict(lines, log, status)
    assert judged.support is GpuSupport[support.upper()]
    assert judged.sentence.startswith(begins) and bool(judged.sentence) == bool(begins)
    if "set " in judged.sentence.lower():
        assert judged.fix and all(name in judged.sentence for name in judged.fix)


def test_a_crash_with_the_cache_off_has_another_reason() -> None:
    judged = verdict(CRASH, UCX, 139, environment={"UCX_MEMTYPE_CACHE": "n"})
    assert judged.support is GpuSupport.UNSUPPORTED
    assert "MEMTYPE" not in judged.sentence and f"inside {WITH_UCX}" in judged.sentence


@pytest.mark.parametrize(
    ("lines", "support", "begins"),
    [
        (
            [*SENT, *transfer(1, "begin"), done(0)],
            "unsupported",
            "MPI_Recv of 1 B to device memory",
        ),
        ([INIT, INIT], "broken", "MPI_Init of Open MPI 5.0.7"),
    ],
)
def test_a_call_that_does_not_return(lines: list[str], support: str, begins: str) -> None:
    judged = verdict(lines, status=143, timed_out=True)
    assert judged.support is GpuSupport[support.upper()]
    assert judged.sentence.startswith(begins)
    assert "did not return within 60 s" in judged.sentence


@pytest.mark.parametrize("log", ["open-mpi-5-pml-ucx-refused", "open-mpi-4-pml-ucx-refused"])
def test_open_mpi_turns_down_the_ucx_that_it_was_told_to_use(log: str) -> None:
    lines = [INIT, INIT]
    found = verdict(lines, captured(log), 1, environment={"OMPI_MCA_pml": "ucx"})
    assert found == ProbeVerdict(
        GpuSupport.BROKEN,
        "MPI_Init failed: Open MPI 5.0.7 was told to use pml ucx (OMPI_MCA_pml=ucx), but turns UCX "
        f"off on a host without a Mellanox adapter. Set {FIX}, or do not ask for pml ucx.",
        FIXES,
    )
    # The launcher's own option (--mca pml ucx) does not show in our environment.
    assert verdict(lines, captured(log), 1) == found


def test_the_same_sentence_explains_a_run_without_a_probe() -> None:
    log = captured("open-mpi-5-pml-ucx-refused").replace("init returned failure", "")
    assert FIX in explain_failed_start(log, OPEN_MPI, {"OMPI_MCA_pml": "ucx"})
    assert explain_failed_start(log, OPEN_MPI, {"OMPI_MCA_pml": "cm"}) == ""
    assert explain_failed_start("", OPEN_MPI, {"OMPI_MCA_pml": "ucx"}) == ""


@pytest.mark.parametrize(
    ("backend", "gpus", "options", "needed"),
    [
        ("host", "0", {}, False),
        ("cuda", "0", {}, False),
        ("cuda", "2", {}, True),
        ("cuda", "2", {"transport": "staged,ccl"}, False),
        ("cuda", "2", {"transport": "staged,mpi"}, True),
        ("hip", "1", {"memory": "host"}, False),
        ("hip", "1", {"from": "pinned", "to": "device"}, True),
        ("hip", "1", {"memory": "managed"}, True),
    ],
)
def test_the_probe_is_made_where_mpi_could_meet_gpu_memory(
    backend: str, gpus: str, options: dict[str, str], needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_BACKEND", backend)
    monkeypatch.setenv("FAKE_GPUS", gpus)
    assert is_needed(find_native(), Options(options)) is needed
