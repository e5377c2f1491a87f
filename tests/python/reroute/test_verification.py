"""`--verify`: what it finds, in each function and type, and what it takes for rounding."""

from __future__ import annotations

import pytest

from reroute_library_helpers import Ran, Reroute, is_aborted

_FUNCTIONS = (
    "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Bcast", "Allgather",
    "Allgatherv", "Alltoall", "Alltoallv", "Gather", "Scatter", "Iallreduce",
)  # fmt: skip


def _verified(reroute: Reroute, *words: str, **variables: str) -> Ran:
    program = reroute.compile("verified.cpp")
    chosen = ",".join(name.lower() for name in _FUNCTIONS)
    return reroute.run(
        program, *words, ranks=2,
        COMMLENS_REROUTE_VERIFY="1", COMMLENS_REROUTE_FUNCTIONS=chosen, **variables,
    )  # fmt: skip


@pytest.mark.parametrize("name", _FUNCTIONS)
def test_a_wrong_result_of_each_function_is_found(reroute: Reroute, name: str) -> None:
    # A blocking call goes before a non-blocking one, and is right.
    first = "1" if name == "Iallreduce" else "0"
    wrong = _verified(reroute, name, FAKE_NCCL_WRONG="1", FAKE_NCCL_WRONG_FROM=first)
    assert is_aborted(wrong.status, wrong.error)
    ((found, *_),) = (rank["differences"] for rank in wrong.ranks if rank["rank"] == 1)
    assert found["function"] == f"MPI_{name}" and found["element"] in (99, 199)


@pytest.mark.parametrize(
    ("words", "bit", "is_rounding"),
    [
        ("Allreduce double", 0, True),
        ("Allreduce double", 20, False),
        ("Allreduce float", 0, True),
        ("Allreduce float", 12, False),
        ("Allreduce double cancelling", 20, True),  # the terms are much larger than the sum
        ("Allreduce double cancelling", 40, False),
        ("Allreduce double max", 0, False),
        ("Allreduce int", 0, False),
        ("Bcast double", 0, False),
    ],
)
def test_sums_alone_are_rounded(
    reroute: Reroute,
    words: str,
    bit: int,
    is_rounding: bool,
) -> None:
    run = _verified(reroute, *words.split(), FAKE_NCCL_WRONG="1", FAKE_NCCL_WRONG_BIT=str(bit))
    is_right = run.status == 0 if is_rounding else is_aborted(run.status, run.error)
    assert is_right, run.error
