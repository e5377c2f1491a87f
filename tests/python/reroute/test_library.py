"""The preloaded library of `commlens reroute`: results, agreement, requests, failures, endings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from profile_helpers import ROOT, for_mpi4py
from reroute_library_helpers import Reroute, is_aborted

NONBLOCKING = {"COMMLENS_REROUTE_FUNCTIONS": "allreduce,nonblocking"}
KINDS = ("device", "deviating", "host", "pinned", "managed")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_results_are_those_of_mpi(reroute: Reroute, ranks: int) -> None:
    """Functions, types, operations, MPI_IN_PLACE, roots, counts and communicators."""
    # Ranks of MPICH never give a processor to each other.
    few = ["few"] if reroute.mpi.name == "mpich" and ranks > 2 else []
    run = reroute.run(reroute.compile("conformance.cpp"), "device", *few, ranks=ranks)
    assert run.status == 0, run.error
    assert run.output.count("conforms") == len(run.ranks) == ranks
    for rank in run.ranks:
        assert rank["disabled"] is None and rank["finalized"] and rank["library"] == "NCCL 2.28.3"
        names = [function["function"] for function in rank["functions"]]
        assert len(names) == 11
        for function in rank["functions"]:
            passed_on = function["measured_calls"] + sum(function["fell_back"].values())
            assert function["rerouted_calls"] > function["measured_calls"] > 0
            assert function["calls"] == function["rerouted_calls"] + passed_on
            assert function["bytes"] > function["rerouted_bytes"] > 0
    lacking = {"fewer than 1 bytes", "MPI_IN_PLACE not supported by NCCL"}
    if not few:
        lacking.add("type not supported by NCCL")
    functions = [function for rank in run.ranks for function in rank["functions"]]
    assert {name for function in functions for name in function["fell_back"]} == lacking


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["TO=staged", "VERIFY=1", "DRY_RUN=1", ""])
def test_results_are_right_in_every_mode(reroute: Reroute, kind: str, mode: str) -> None:
    name, _, value = mode.partition("=")
    variables = {f"COMMLENS_REROUTE_{name}": value} if mode else {}
    ranks = 2 if reroute.mpi.name == "mpich" else 3  # as above
    run = reroute.run(reroute.compile("conformance.cpp"), kind, "few", ranks=ranks, **variables)
    assert run.status == 0, run.error
    assert run.output.count("conforms") == ranks
    is_on_gpu = kind in ("device", "deviating")
    assert (run.total("rerouted_calls") > 0) == is_on_gpu
    assert (run.total("local_copies") > 0) == (kind == "deviating" and mode in ("", "VERIFY=1"))
    if mode == "DRY_RUN=1":
        assert run.total("rerouted_s") == 0
        assert (run.total("mpi_estimate_s") > 0) == is_on_gpu
    if mode == "" and kind == "managed":
        assert all(reasons["managed memory"] > 0 for reasons in run.reasons("MPI_Bcast"))
    if mode == "" and kind in ("host", "pinned"):
        assert all(reasons["host memory"] > 0 for reasons in run.reasons("MPI_Bcast"))


@pytest.mark.parametrize("to", ["ccl", "staged"])
def test_results_are_right_with_hip(reroute: Reroute, to: str) -> None:
    program = reroute.compile("conformance.cpp", gpu="libamdhip64.so.6", name="with-hip")
    run = reroute.run(program, "deviating", "few", ranks=2, COMMLENS_REROUTE_TO=to)
    assert run.status == 0, run.error
    assert run.total("rerouted_calls") > 0


def test_a_difference_ends_the_run(reroute: Reroute) -> None:
    program = reroute.compile("conformance.cpp")
    run = reroute.run(program, ranks=2, COMMLENS_REROUTE_VERIFY="1", FAKE_NCCL_WRONG="1")
    assert is_aborted(run.status, run.error)
    # MPICH's launcher may lose the last line of a rank that calls MPI_Abort; its file stays.
    said = re.findall("commlens reroute: (.*)", run.error)
    assert len(said) == 1 or (reroute.mpi.name == "mpich" and not said)
    for line in said:
        assert re.fullmatch(
            r"--verify: MPI_Allreduce, call 2, rank 1, element 2: \d+ by MPI, \d+ rerouted", line
        )
    (rank,) = (rank for rank in run.ranks if rank["rank"] == 1)
    (difference,) = rank["differences"]
    assert difference["function"] == "MPI_Allreduce"
    assert (difference["call"], difference["element"]) == (2, 2)
    assert difference["expected"] != difference["found"]


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    "name",
    [
        "progress",
        "threads",
        "keyvals",
        "requests",
        "default-stream",
        "errors",
        "never",
        "mixed",
    ],
)
def test_programs_can_rely_on(reroute: Reroute, name: str, ranks: int) -> None:
    # Without these, a large message and an accumulation need nothing of the other rank.
    copies = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    copies |= {"OMPI_MCA_btl_sm_single_copy_mechanism": "none"}  # the same in Open MPI 5
    if reroute.has("osc", "pt2pt"):
        copies["OMPI_MCA_osc"] = "pt2pt"
    program = reroute.compile("scenarios.cpp")
    variables = copies if name == "progress" else {}
    run = reroute.run(program, name, ranks=ranks, **NONBLOCKING, **variables)
    assert run.status == 0, run.error
    assert run.good == len(run.ranks) == ranks
    assert "commlens reroute" not in run.error
    rerouted = run.total("rerouted_calls")
    assert (rerouted == 0) == (name in ("never", "mixed"))


@pytest.mark.parametrize("ranks", [2, 3])
def test_an_error_handler_may_leave_a_call(reroute: Reroute, ranks: int) -> None:
    run = reroute.run(reroute.compile("others.cpp"), "jumps", ranks=ranks)
    assert run.status == 0, run.error
    assert run.good == ranks


def test_nonblocking_calls_are_rerouted_after_a_blocking_one(reroute: Reroute) -> None:
    program = reroute.compile("scenarios.cpp")
    for to, before, named in (("ccl", 6, NONBLOCKING), ("staged", 0, {})):
        run = reroute.run(program, "requests", COMMLENS_REROUTE_TO=to, **named)
        assert run.status == 0, run.error
        for rank in run.ranks:
            (calls,) = (f for f in rank["functions"] if f["function"] == "MPI_Iallreduce")
            assert calls["calls"] == 19
            assert calls["rerouted_calls"] == 19 - before
            assert calls["fell_back"].get("ranks have not agreed on it yet", 0) == before
            assert calls["rerouted_s"] == calls["mpi_estimate_s"] > 0


def test_nonblocking_calls_go_to_nccl_only_if_they_are_named(reroute: Reroute) -> None:
    """NCCL would keep the GPU busy until all ranks have made the call."""
    program = reroute.compile("scenarios.cpp")
    for functions, rerouted in (("", 0), ("allreduce", 0), ("allreduce,iallreduce", 13)):
        run = reroute.run(program, "requests", COMMLENS_REROUTE_FUNCTIONS=functions)
        assert run.status == 0, run.error
        for rank in run.ranks:
            (calls,) = (f for f in rank["functions"] if f["function"] == "MPI_Iallreduce")
            assert calls["rerouted_calls"] == rerouted
            if rerouted == 0:
                assert calls["fell_back"] == {"non-blocking, not named in --functions": 19}


@pytest.mark.parametrize("to", ["ccl", "staged"])
def test_a_program_with_its_own_wait(reroute: Reroute, to: str) -> None:
    """Its MPI_Wait completes no request of the library's."""
    program = reroute.compile("others.cpp", "-DWITH_OWN_WAIT", name="own-wait")
    run = reroute.run(program, "own-wait", COMMLENS_REROUTE_TO=to, **NONBLOCKING)
    assert run.status == 0, run.error
    says = "non-blocking, and the program or another library defines MPI_Wait"
    assert run.reasons("MPI_Iallreduce") == [{says: 1}] * 3


def test_what_reroute_itself_takes_is_set_apart(reroute: Reroute) -> None:
    """A rank waits for the others in the agreement, and then before NCCL's first call."""
    program = reroute.compile("others.cpp")
    for call in (1, 2):
        run = reroute.run(program, "late", call, ranks=2)
        assert run.status == 0, run.error
        assert run.ranks[0]["setup_s"] >= 0.5
    run = reroute.run(program, "late", 1, ranks=2, COMMLENS_REROUTE_TO="staged")
    assert [rank["setup_s"] for rank in run.ranks] == [0, 0]


def test_calls_that_copy_save_nothing(reroute: Reroute) -> None:
    run = reroute.run(reroute.compile("others.cpp"), "moved")
    assert run.status == 0, run.error
    for rank in run.ranks:
        (calls,) = rank["functions"]
        assert calls["rerouted_calls"] == calls["local_copies"] == 3
        assert calls["mpi_estimate_s"] == calls["rerouted_s"] > 0


@pytest.mark.parametrize(("to", "staged_bytes"), [("staged", 8000), ("ccl", 0)])
def test_staged_data_goes_through_pinned_memory(
    reroute: Reroute, to: str, staged_bytes: int
) -> None:
    program = reroute.compile("others.cpp")
    run = reroute.run(program, "staged", staged_bytes, COMMLENS_REROUTE_TO=to)
    assert run.status == 0, run.error
    assert run.total("rerouted_calls") == 3 * 2


def test_verification_takes_nothing_of_the_calls(reroute: Reroute) -> None:
    """A rank that comes first waits for the others in MPI's second call."""
    run = reroute.run(
        reroute.compile("others.cpp"), "late", 3, ranks=2, COMMLENS_REROUTE_VERIFY="1"
    )
    assert run.status == 0, run.error
    (calls,) = run.ranks[0]["functions"]
    assert calls["rerouted_calls"] == 2
    assert calls["rerouted_s"] < 0.5


def test_what_is_never_rerouted_says_why(reroute: Reroute) -> None:
    run = reroute.run(reroute.compile("scenarios.cpp"), "never")
    for reasons in run.reasons("MPI_Allreduce"):
        assert reasons == {"operation not supported by NCCL": 6, "intercommunicator": 3}
    run = reroute.run(reroute.compile("scenarios.cpp"), "plain", FAKE_GPU_SHARED="1")
    assert run.reasons("MPI_Allreduce") == [{"several ranks on one GPU": 2}] * 3
    run = reroute.run(reroute.compile("scenarios.cpp"), "plain", least="8001")
    assert run.reasons("MPI_Allreduce") == [{"fewer than 8001 bytes": 2}] * 3
    run = reroute.run(
        reroute.compile("scenarios.cpp"), "plain", COMMLENS_REROUTE_FUNCTIONS="bcast,reduce"
    )
    assert run.reasons("MPI_Allreduce") == [{"not in --functions": 2}] * 3


@pytest.mark.parametrize("to", ["ccl", "staged"])
def test_messages_are_staged_alone(reroute: Reroute, to: str) -> None:
    program = reroute.compile("scenarios.cpp")
    chosen = {"COMMLENS_REROUTE_TO": to, "COMMLENS_REROUTE_FUNCTIONS": "allreduce,p2p"}
    run = reroute.run(program, "messages", ranks=2, **chosen)
    assert run.status == 0, run.error
    assert run.total("rerouted_calls") == {"ccl": 0, "staged": 4}[to]
    if to == "ccl":
        reason = {"message: with --to staged only": 3}
        assert run.reasons("MPI_Recv") == [reason]
    run = reroute.run(program, "messages", ranks=2, COMMLENS_REROUTE_TO=to)
    assert [rank["functions"] for rank in run.ranks] == [[], []]


def test_threads_may_send_on_one_communicator(reroute: Reroute) -> None:
    variables = {"COMMLENS_REROUTE_TO": "staged", "COMMLENS_REROUTE_FUNCTIONS": "p2p"}
    program = reroute.compile("others.cpp")
    run = reroute.run(program, "message-threads", ranks=2, MALLOC_PERTURB_="165", **variables)
    assert run.status == 0, run.error
    assert run.good == 2


def test_each_reason_is_listed() -> None:
    lines = (ROOT / "src/reroute/reasons.txt").read_text().splitlines()
    reasons = [line.split(": ", 1) for line in lines if not line.startswith("#")]
    assert all(len(reason) == 2 for reason in reasons)
    assert len({phrase for _, phrase in reasons}) == len(reasons)


@pytest.mark.parametrize("failure", ["id:0", "init:0", "init:1", "init:2"])
def test_nccl_that_cannot_be_initialized_is_agreed_on(reroute: Reroute, failure: str) -> None:
    run = reroute.run(reroute.compile("scenarios.cpp"), "plain", FAKE_NCCL_FAIL=failure)
    assert run.reasons("MPI_Allreduce") == [{"NCCL could not be initialized": 2}] * 3


@pytest.mark.parametrize(
    "failure", [f"{what}:{rank}" for what in ("call", "run") for rank in (0, 2)]
)
def test_a_failure_of_nccl_is_an_error_on_all_ranks(reroute: Reroute, failure: str) -> None:
    run = reroute.run(
        reroute.compile("scenarios.cpp"), "failing", FAKE_NCCL_FAIL=failure, **NONBLOCKING
    )
    assert run.status == 0, run.error
    assert run.good == 3
    for rank in range(3):
        assert f"commlens reroute: rank {rank}: MPI_Allreduce: " in run.error


def test_communicators_that_come_and_go_leave_nothing(reroute: Reroute) -> None:
    run = reroute.run(reroute.compile("scenarios.cpp"), "growth", ranks=2)
    assert run.status == 0, run.error
    assert run.total("rerouted_calls") == 2 * 200 * 2
    assert len(list(Path("reroute.out/nccl").glob("*.is.*"))) == 2  # one communicator of NCCL


@pytest.mark.parametrize("source", ["rerouted.f90", "rerouted08.f90"])
def test_fortran_is_rerouted_once(reroute: Reroute, source: str) -> None:
    run = reroute.run(reroute.compile(source), ranks=2, **NONBLOCKING)
    assert run.status == 0, run.error
    assert run.good == 2
    for rank in run.ranks:
        calls = {each["function"]: each for each in rank["functions"]}
        assert calls["MPI_Allreduce"]["rerouted_calls"] > 0
        assert calls["MPI_Iallreduce"]["calls"] == 3
        assert (
            calls["MPI_Iallreduce"]["rerouted_calls"]
            == {"rerouted.f90": 1, "rerouted08.f90": 3}[source]
        )


def test_mpi4py_is_rerouted(reroute: Reroute) -> None:
    """Its wheel opens the library of MPI at run time."""
    pytest.importorskip("mpi4py")
    chosen = for_mpi4py(reroute.mpi, reroute.compile("scenarios.cpp"))
    program = ROOT / "tests" / "reroute" / "rerouted.py"
    run = reroute.run(sys.executable, program, reroute.fakes / "libcuda.so.1", **chosen)
    assert (run.status, run.good) == (0, 3), run.error
    for rank in run.ranks:
        counters = {each["function"]: each for each in rank["functions"]}
        assert {
            name: (each["calls"], each["rerouted_calls"]) for name, each in counters.items()
        } == {"MPI_Allreduce": (6, 4), "MPI_Allgather": (3, 2), "MPI_Bcast": (3, 2)}


def test_a_program_that_does_not_finalize(reroute: Reroute) -> None:
    program = reroute.compile("scenarios.cpp")
    run = reroute.run(program, "unfinalized", ranks=1)
    alone = reroute.alone(program, "unfinalized", ranks=1)
    assert run.status == alone.status
    assert run.good == alone.good == 1
    (rank,) = run.ranks
    assert not rank["finalized"]
    assert run.total("rerouted_calls") == 1


def test_without_a_gpu_a_program_runs_as_before(reroute: Reroute) -> None:
    program = reroute.compile("plain.cpp", gpu="")
    run, alone = reroute.run(program), reroute.alone(program)
    assert (run.status, run.output) == (alone.status, alone.output)
    for rank in run.ranks:
        assert rank["disabled"] == "the program has loaded neither CUDA nor HIP"
        assert rank["library"] is None
    assert run.reasons("MPI_Allreduce") == [{"host memory": 3}] * 3


def test_without_nccl_a_program_runs_as_before(reroute: Reroute) -> None:
    program = reroute.compile("scenarios.cpp")
    for variables, says in (
        ({"COMMLENS_REROUTE_NCCL": "/nowhere/libnccl.so"}, "/nowhere/libnccl.so cannot be loaded"),
        ({"COMMLENS_REROUTE_NCCL": "libc.so.6"}, "libc.so.6 is not NCCL"),
        ({"FAKE_NCCL_VERSION": "2604"}, "is too old (NCCL 2.6.4)"),
        ({"COMMLENS_PROFILE_OUT": "out"}, "the program runs under commlens profile"),
    ):
        run = reroute.run(program, "plain", **variables)
        assert (run.status, run.good, run.total("rerouted_calls")) == (0, 3, 0)
        assert run.error == ""
        assert all(says in rank["disabled"] for rank in run.ranks)


def test_a_program_with_its_own_nccl_is_left_alone(reroute: Reroute) -> None:
    own = f"-Wl,--no-as-needed,-l:libnccl.so.2,-rpath,{reroute.fakes}"
    program = reroute.compile("scenarios.cpp", f"-L{reroute.fakes}", own, name="own")
    run = reroute.run(program, "plain")
    assert (run.status, run.good) == (0, 3)
    assert {rank["disabled"] for rank in run.ranks} == {"the program uses libnccl.so.2 itself"}
    assert run.reasons("MPI_Allreduce") == [{"no NCCL": 2}] * 3


def test_a_static_program_runs_as_before(reroute: Reroute, tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("alone"); return 7; }\n')
    program = tmp_path / "static"
    subprocess.run(["cc", "-static", "-o", program, source], check=True)
    run = reroute.run(program, ranks=1)
    assert run.status == reroute.alone(program, ranks=1).status
    assert run.output.startswith("alone\n")
    assert run.ranks == []


def test_nothing_is_done_without_a_folder(reroute: Reroute) -> None:
    run = reroute.run(reroute.compile("scenarios.cpp"), "plain", COMMLENS_REROUTE_DIR="")
    assert (run.status, run.good, run.error, run.ranks) == (0, 3, "", [])
