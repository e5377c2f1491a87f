"""Types in another order or with gaps, and what is written between elements during a call."""

from __future__ import annotations

import pytest

from reroute_library_helpers import Reroute


@pytest.mark.parametrize("to", ["ccl", "staged"])
@pytest.mark.parametrize(
    "name", ["permuted", "permuted-later", "overlapping", "between-blocks", "between-elements"]
)
def test_only_the_elements_are_moved(reroute: Reroute, name: str, to: str) -> None:
    functions = "bcast,allgatherv,iallgatherv,p2p"
    chosen = {"COMMLENS_REROUTE_TO": to, "COMMLENS_REROUTE_FUNCTIONS": functions}
    run = reroute.run(reroute.compile("layouts.cpp"), name, ranks=2, **chosen)
    assert run.status == 0, run.error
    assert run.good == 2
    # A type that MPI has to unpack is MPI's, on all ranks or --to staged on this one, unless the
    # ranks have agreed on the call before.
    is_of_mpi = name == "between-elements" or (to == "ccl" and name in ("permuted", "overlapping"))
    assert (run.total("rerouted_calls") == 0) == is_of_mpi
