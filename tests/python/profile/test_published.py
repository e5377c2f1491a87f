"""A published profile stands beside one that calls what leads it."""

from __future__ import annotations

import copy

import pytest
from msgspec.json import encode

from commlens.base.errors import CommlensError
from commlens.model.profile import Profile, parse
from commlens.render.profile_tables import profile_things
from commlens.render.published_profile import published_profile, published_tables
from commlens.render.table import Table
from sample_records import make_profile

CP2K = published_profile("cp2k-fft")


def profile(*names: str) -> Profile:
    fields = make_profile()
    first = fields["functions"][0]
    fields["functions"] = [copy.deepcopy(first) | {"name": name} for name in names]
    return parse(encode(fields).decode())


def test_a_profile_with_the_leading_functions_has_it_beside_its_shares() -> None:
    (table,) = published_tables(profile("MPI_Cart_sub", "MPI_Alltoallv"), CP2K)
    assert table.title == "Beside it cp2k-fft"
    assert table.subtitle.startswith("CrayPAT profile of PW_TRANSFER")
    rows = list(zip(*(column.texts for column in table.columns)))
    # 0.15 s of 1.05 s, whose largest is a third above the mean, on two ranks.
    assert rows[0] == ("14.3%", "37.1%", "50.0%", "9.3%", "MPI_Cart_sub")
    assert rows[2] == ("-", "0.7%", "-", "4.6%", "mpi_barrier")


def test_it_is_shown_where_it_is_asked_for() -> None:
    ours = profile("MPI_Cart_sub", "MPI_Alltoallv")
    *_, last = profile_things(ours, reference=CP2K)
    assert isinstance(last, Table) and last.rows[-1].name == "mpi_comm_free"
    assert not any(isinstance(thing, Table) and thing.title for thing in profile_things(ours))
    with pytest.raises(CommlensError, match="juliet: it has no profile of a program; cp2k-fft has"):
        published_profile("juliet")
