"""Ranks that differ from each other: in their settings, memory, or what they have at first."""

from __future__ import annotations

from pathlib import Path

import pytest

from reroute_library_helpers import Reroute


def _on_rank_0(settings: str, program: Path, name: str) -> list[str | Path]:
    """The command in which rank 0 has other variables."""
    of_rank_0 = '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || ' + settings
    return ["sh", "-c", f'{of_rank_0}; exec "$@"', "sh", program, name]


@pytest.mark.parametrize(
    "settings",
    [
        "export COMMLENS_REROUTE_MIN_BYTES=9000",
        "export COMMLENS_REROUTE_FUNCTIONS=bcast",
        "export COMMLENS_REROUTE_TO=staged",
        "export COMMLENS_REROUTE_VERIFY=1",
        "unset COMMLENS_REROUTE_DIR",
    ],
)
def test_ranks_with_other_settings_reroute_nothing(reroute: Reroute, settings: str) -> None:
    run = reroute.run(*_on_rank_0(settings, reroute.compile("scenarios.cpp"), "plain"))
    assert (run.status, run.good) == (0, 3)
    assert len(run.ranks) == (2 if "unset" in settings else 3)
    for rank in run.ranks:
        assert rank["disabled"].startswith("the ranks have different settings: ")
        assert rank["functions"] == []


def test_processes_outside_the_world_are_not_waited_for(reroute: Reroute) -> None:
    program = reroute.compile("spawned.cpp")
    if reroute.alone(program, ranks=1).status != 0:
        pytest.skip("this MPI cannot spawn processes here")
    run = reroute.run(program, ranks=1)
    assert run.status == 0, run.error
    assert run.good == 2
    reason = "communicator with processes outside MPI_COMM_WORLD"
    assert run.reasons("MPI_Allreduce") == [{reason: 3}]


def test_a_rank_without_pinned_memory_leaves_its_data_to_mpi(reroute: Reroute) -> None:
    variables = {"COMMLENS_REROUTE_TO": "staged", "FAKE_GPU_NO_PINNED": "1"}
    for name in ("plain", "requests"):
        run = reroute.run(reroute.compile("scenarios.cpp"), name, **variables)
        assert run.status == 0, run.error
        assert run.good == 3
        assert "commlens reroute" not in run.error


def test_ranks_are_connected_before_they_have_something_for_each_other(reroute: Reroute) -> None:
    # With this, a large message needs the other rank.
    copies = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    run = reroute.run(reroute.compile("first_calls.cpp"), "self-first", **copies)
    assert run.status == 0, run.error
    assert run.good == 3
    assert run.total("rerouted_calls") == 3 * 2


@pytest.mark.parametrize(
    ("name", "reason"),
    [("host-first", "host memory"), ("nothing-first", "rank that has not used a GPU yet")],
)
def test_a_first_call_of_another_kind_does_not_decide_for_all(
    reroute: Reroute, name: str, reason: str
) -> None:
    run = reroute.run(reroute.compile("first_calls.cpp"), name)
    assert run.status == 0, run.error
    assert run.good == 3
    assert run.reasons("MPI_Alltoallv") == [{reason: 1}] * 3
    assert run.total("rerouted_calls") == 3 * 99


def test_memory_of_another_context_is_left_to_mpi(reroute: Reroute) -> None:
    reason = {"memory of a CUDA context that is not the primary one": 4}
    program = reroute.compile("first_calls.cpp")
    run = reroute.run(program, "other-context")
    assert run.status == 0, run.error
    assert run.reasons("MPI_Alltoallv") == [reason] * 3
    run = reroute.run(program, "other-context", COMMLENS_REROUTE_TO="staged")
    assert run.status == 0, run.error
    assert run.reasons("MPI_Alltoallv") == [{}, reason, {}]


def test_memory_for_copies_is_freed_where_there_is_none_left(reroute: Reroute) -> None:
    program = reroute.compile("first_calls.cpp")
    run = reroute.run(program, "growing", ranks=2, FAKE_GPU_BYTES="450000")
    assert run.status == 0, run.error
    assert run.total("rerouted_calls") == 2 * 7
    run = reroute.run(program, "large", ranks=2, FAKE_GPU_BYTES="300000")
    assert run.status == 0, run.error
    reason = {"GPU without memory for a copy": 2}
    assert run.reasons("MPI_Reduce_scatter_block") == [reason] * 2
