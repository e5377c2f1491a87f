"""Each known cause for which an MPI library does not take GPU memory becomes its sentence.

The logs are what Open MPI really wrote, on a host without a Mellanox adapter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from commlens.jobs.native import find_native
from commlens.jobs.options import Options
from commlens.jobs.probe import GpuSupport, Verdict, explain_failed_start, gather, is_needed, judge
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
) -> Verdict:
    outcome = Outcome(status, ended_because="it takes too long" if timed_out else "")
    return judge(
        gather("\n".join(lines), error, outcome, ranks=2, mpi=OPEN_MPI, environment=environment)
    )


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


def test_ucx_takes_the_gpu_pointer_for_host_memory() -> None:
    found = verdict(CRASH, captured("open-mpi-5-pml-ucx-fixed"), 139)
    assert found.support is GpuSupport.UNSUPPORTED
    assert found.sentence == (
        "MPI_Send of 1 B from device memory crashed (SIGSEGV) inside Open MPI 5.0.7 with UCX "
        "1.22.0, although MPIX_Query_cuda_support says that it takes GPU memory: UCX's memory-type "
        "cache took the GPU pointer for host memory. Set UCX_MEMTYPE_CACHE=n."
    )


def test_the_rank_that_died_is_the_one_to_blame() -> None:
    found = verdict(CRASH, captured("open-mpi-5-pml-ucx-fixed") + ENDED_BY_SIGNAL, 139)
    assert found.sentence.startswith("MPI_Recv of 1 B to device memory crashed (SIGSEGV)")


def test_a_crash_with_the_cache_off_has_another_reason() -> None:
    log = captured("open-mpi-5-pml-ucx-fixed")
    found = verdict(CRASH, log, 139, environment={"UCX_MEMTYPE_CACHE": "n"})
    assert found.support is GpuSupport.UNSUPPORTED
    assert "MEMTYPE" not in found.sentence
    assert (
        "MPI_Send of 1 B from device memory crashed (SIGSEGV) inside Open MPI 5.0.7 with UCX 1.22.0"
        in found.sentence
    )


@pytest.mark.parametrize("log", ["open-mpi-5-pml-ucx-refused", "open-mpi-4-pml-ucx-refused"])
def test_open_mpi_turns_down_the_ucx_that_it_was_told_to_use(log: str) -> None:
    lines = [INIT, INIT]
    found = verdict(lines, captured(log), 1, environment={"OMPI_MCA_pml": "ucx"})
    assert found == Verdict(
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


def test_ucx_passed_over_is_no_more_than_advice() -> None:
    found = verdict(WHOLE, captured("open-mpi-5-pml-default"))
    assert found == Verdict(
        GpuSupport.SUPPORTED,
        "MPI carries GPU memory over pml ob1, not UCX: Open MPI 5.0.7 passes UCX over on a host "
        f"without a Mellanox adapter; to use UCX set {FIX}.",
        FIXES,
    )


def test_all_is_well_over_ucx() -> None:
    assert verdict(WHOLE, captured("open-mpi-5-pml-ucx-fixed")) == Verdict(GpuSupport.SUPPORTED, "")


def test_a_library_that_says_no_is_believed() -> None:
    lines = [*started(0, "no"), *started(1, "no"), done(0), done(1)]
    found = verdict(lines)
    assert found.support is GpuSupport.UNSUPPORTED
    assert found.sentence.startswith(
        "Open MPI 5.0.7 does not take GPU memory (MPIX_Query_cuda_support says no): load or"
    )
    crashed = [*started(0, "no"), *started(1, "no"), *transfer(0, "begin")]
    assert verdict(crashed, status=139) == found


def test_a_library_that_says_no_and_works_is_used() -> None:
    lines = [*started(0, "no"), *WHOLE]
    assert verdict(lines).support is GpuSupport.SUPPORTED


def test_wrong_data() -> None:
    lines = [*started(0), *started(1), *transfer(0, "begin", "end")]
    lines += [*transfer(1, "begin", "end", valid=False), done(0), done(1)]
    found = verdict(lines)
    assert found.support is GpuSupport.UNSUPPORTED
    assert (
        "MPI_Recv of 1 B to device memory with Open MPI 5.0.7 with UCX 1.22.0 delivered wrong data"
        in found.sentence
    )


def test_a_call_that_does_not_return() -> None:
    lines = [*started(0), *started(1), *transfer(0, "begin", "end"), *transfer(1, "begin"), done(0)]
    found = verdict(lines, status=143, timed_out=True)
    assert found.support is GpuSupport.UNSUPPORTED
    assert "MPI_Recv of 1 B to device memory with" in found.sentence
    assert "did not return within 60 s" in found.sentence


def test_any_other_crash_names_call_library_and_signal() -> None:
    lines = [*started(0, "unknown", None), *started(1, "unknown", None), *transfer(0, "begin")]
    found = verdict(lines, captured("open-mpi-5-pml-default"), 135)
    assert found.support is GpuSupport.UNSUPPORTED
    assert found.sentence.startswith(
        "MPI_Send of 1 B from device memory crashed (SIGBUS) inside Open MPI 5.0.7 over pml ob1: "
        "use --transport staged"
    )


def test_a_call_that_fails_in_order_is_quoted() -> None:
    lines = [*started(0), *started(1), *transfer(0, "begin")]
    found = verdict(lines, "commlens: probe: MPI_Send: MPI_ERR_BUFFER\n", 1)
    assert found.support is GpuSupport.UNSUPPORTED
    assert found.sentence.startswith(
        "MPI_Send of 1 B from device memory failed (MPI_Send: MPI_ERR_BUFFER) inside Open MPI"
    )


def test_a_crash_in_the_start_stops_everything() -> None:
    lines = [INIT, INIT]
    assert verdict(lines, ENDED_BY_SIGNAL, 139).sentence == (
        "MPI_Init of Open MPI 5.0.7 crashed (SIGSEGV): no benchmark can start with this MPI "
        "library."
    )
    hung = verdict(lines, status=143, timed_out=True)
    assert hung.support is GpuSupport.BROKEN
    assert "did not return within 60 s" in hung.sentence


def test_a_launcher_that_does_not_launch_condemns_nobody() -> None:
    assert verdict([], captured("open-mpi-4-slots"), 1) == Verdict(GpuSupport.UNKNOWN)


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
