"""Calls, bytes, peers, memory kinds and call sites of real programs in C, C++ and Fortran."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from profile_helpers import ENVIRONMENT, SOURCES, Mpi
from run_helpers import cases


def test_calls_and_bytes_are_exact(mpi: Mpi) -> None:
    ranks = 3
    run = mpi.profile(mpi.compile("counts.c"), ranks=ranks)
    assert run.status == 0
    assert run.calls() == {
        "MPI_Init": [1] * 3, "MPI_Finalize": [1] * 3,
        "MPI_Comm_rank": [1] * 3, "MPI_Comm_size": [1] * 3,
        "MPI_Irecv": [3] * 3, "MPI_Wait": [3] * 3, "MPI_Send": [4, 4, 5], "MPI_Recv": [1, 0, 0],
        "MPI_Allreduce": [6] * 3, "MPI_Alltoall": [2] * 3, "MPI_Alltoallv": [1] * 3,
        "MPI_Bcast": [1] * 3, "MPI_Comm_split": [1] * 3, "MPI_Comm_free": [1] * 3,
    }  # fmt: skip
    assert run.bytes("MPI_Send") == [1200, 1200, 1204]
    assert run.bytes("MPI_Allreduce") == [6 * 128] * 3
    assert run.bytes("MPI_Alltoall") == [2 * 16 * ranks] * 3
    assert run.bytes("MPI_Alltoallv") == [24 * ranks] * 3
    assert run.bytes("MPI_Bcast") == [7] * 3
    sizes = {entry["from_bytes"]: entry["calls"] for entry in run.functions()["MPI_Send"]["sizes"]}
    assert sizes == {0: 3, 4: 1, 256: 9}
    send = run.functions()["MPI_Send"]
    assert send["communicators"] == {"mean_size": 3, "min_size": 3, "max_size": 3}
    assert send["memory"] == {"host": 13}


def test_peers_are_ranks_of_the_world(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), ranks=3)
    all_to_all = 16 + 16 + 24, 3
    expected = {(rank, other): all_to_all for rank in range(3) for other in range(3)}
    # Rank 2 sent one more message, to the last rank of a communicator in reverse order.
    sent = {(0, 1): (1200, 3), (1, 2): (1200, 3), (2, 0): (1204, 4)}
    for pair, (bytes_, messages) in sent.items():
        expected[pair] = (expected[pair][0] + bytes_, expected[pair][1] + messages)
    assert run.peers() == expected


@pytest.mark.parametrize("source", ["fortran.f90", "fortran08.f90"])
def test_fortran_is_counted_once(mpi: Mpi, source: str) -> None:
    run = mpi.profile(mpi.compile(source))
    assert run.status == 0
    assert run.output.count("sum  1.0") == 2
    twice = {"MPI_Allreduce", "MPI_Recv", "MPI_Wait"}
    assert run.calls() == {name: [2 if name in twice else 1] * 2 for name in run.calls()}
    assert len(run.calls()) == 20
    assert run.bytes("MPI_Isend") == [100, 100]
    assert run.bytes("MPI_Start") == [40, 40]
    assert run.bytes("MPI_Allreduce") == [128, 128]
    assert run.bytes("MPI_Allgather") == [16, 16]
    assert run.bytes("MPI_File_write_at") == [400, 400]
    assert Path("fortran.data").stat().st_size == 800


def test_one_sided_and_neighbors(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("onesided.cpp"))
    assert run.bytes("MPI_Put") == [80, 80]
    assert run.bytes("MPI_Neighbor_alltoall") == [8, 8]
    assert run.peers() == {(0, 1): (80, 1), (1, 0): (80, 1)}


def test_persistent_requests_send_at_each_start(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("requests.c"), ranks=3)
    assert run.status == 0
    assert run.bytes("MPI_Send_init") == [0] * 3
    assert run.bytes("MPI_Startall") == [3 * 400] * 3
    assert run.bytes("MPI_Start") == [400] * 3
    assert run.peers() == {(rank, (rank + 1) % 3): (1600, 4) for rank in range(3)}


def test_arguments_without_meaning_are_not_read(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("requests.c"), ranks=3)
    assert run.bytes("MPI_Gather") == [0, 4, 4]
    assert run.bytes("MPI_Bcast") == [16] * 3
    assert run.bytes("MPI_Alltoallv") == [0] * 3


@pytest.mark.parametrize(("library", "function"), cases("the memory kind comes from the driver"))
def test_the_memory_kind_comes_from_the_driver(
    mpi: Mpi, library: str, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Path("driver.so").resolve()
    options = ["-shared", "-fPIC", f"-DFUNCTION={function}", f"-Wl,-soname,{library}"]
    subprocess.run(["cc", *options, str(SOURCES / "driver.c"), "-o", str(driver)], check=True)
    monkeypatch.setitem(ENVIRONMENT, "LD_PRELOAD", str(driver))
    run = mpi.profile(mpi.compile("counts.c"))
    assert run.functions()["MPI_Send"]["memory"] == {"device": 9}


def test_the_environment_is_that_of_communication(
    mpi: Mpi, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = {"UCX_TLS": "all", "NCCL_AUTH_TOKEN": "1", "FI_KEY": 8 * "0a1b", "TITLE": "x"}
    for name, value in variables.items():
        monkeypatch.setitem(ENVIRONMENT, name, value)
    run = mpi.profile(mpi.compile("counts.c"))
    environment = run.record["environment"]
    assert environment["UCX_TLS"] == "all"
    assert not {"NCCL_AUTH_TOKEN", "FI_KEY", "TITLE"} & environment.keys()
    assert not any(name.startswith("OMPI_MCA_orte") for name in environment)


def test_call_sites_have_lines(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--callsites",))
    lines = (SOURCES / "counts.c").read_text().splitlines()
    sites = [site for site in run.record["call_sites"] if site["function"] == "MPI_Allreduce"]
    assert sorted(site["calls"] for site in sites) == [2, 10]
    assert {site["caller"] for site in sites} == {"collectives"}
    assert all("MPI_Allreduce" in lines[site["line"] - 1] for site in sites)
    assert "MPI_Allreduce from collectives (counts.c:" in run.output


def test_callers_in_cpp_are_named_without_parameters(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("onesided.cpp"), options=("--callsites",))
    assert "MPI_Put from ring::put<double> (onesided.cpp:" in run.output
    assert "+0x" not in run.output


def test_call_sites_of_a_stripped_program_are_addresses(mpi: Mpi) -> None:
    program = Path("stripped").resolve()
    subprocess.run(["strip", "-o", str(program), str(mpi.compile("counts.c"))], check=True)
    run = mpi.profile(program, options=("--callsites",))
    sites = [site for site in run.record["call_sites"] if site["function"] == "MPI_Allreduce"]
    assert sorted(site["calls"] for site in sites) == [2, 10]
    assert all(re.fullmatch(r"stripped\+0x[0-9a-f]+", site["caller"]) for site in sites)
    assert "an address in a file without symbols" in run.output


def test_waiting_is_part_of_the_time(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--waiting",))
    function = run.functions()["MPI_Allreduce"]
    times = list(zip(function["waiting_s"], function["time_s"]))
    assert len(times) == 2 and all(0 < waiting <= total for waiting, total in times)
    assert "MPI_Barrier" not in run.functions()


def test_threads_lose_no_call(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("endings.c"), "threads")
    assert run.calls()["MPI_Comm_size"] == [4000, 4000]
    assert run.record["thread_level"] == "multiple"


def test_sessions_and_large_counts(mpi: Mpi) -> None:
    if mpi.name != "mpich":
        pytest.skip("Open MPI 4 has no sessions")
    run = mpi.profile(mpi.compile("sessions.c"))
    assert run.status == 0
    assert run.endings() == ["finalized"] * 2
    assert run.bytes("MPI_Allreduce_c") == [8, 8]
