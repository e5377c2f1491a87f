"""A published profile stands beside one that calls what leads it."""

from __future__ import annotations

import copy

from msgspec.json import encode

from commlens.model.profile import Profile, parse
from commlens.render.profile_tables import profile_things, published_tables
from commlens.render.table import Table
from sample_records import make_profile


def profile(*names: str) -> Profile:
    fields = make_profile()
    first = fields["functions"][0]
    fields["functions"] = [copy.deepcopy(first) | {"name": name} for name in names]
    return parse(encode(fields).decode())


def test_a_profile_with_the_leading_functions_has_it_beside_its_shares() -> None:
    (table,) = published_tables(profile("MPI_Cart_sub", "MPI_Alltoallv"))
    assert table.title == "Beside it cp2k-fft"
    assert table.subtitle.startswith("CrayPAT profile of PW_TRANSFER")
    rows = list(zip(*(column.texts for column in table.columns)))
    # 0.15 s of 1.05 s, whose largest is a third above the mean, on two ranks.
    assert rows[0] == ("14.3%", "37.1%", "50.0%", "9.3%", "MPI_Cart_sub")
    assert rows[2] == ("-", "0.7%", "-", "4.6%", "mpi_barrier")


def test_others_have_none() -> None:
    for names in (["MPI_Cart_sub"], ["MPI_Alltoallv", "MPI_Barrier"], ["MPI_Send"]):
        assert not list(published_tables(profile(*names)))


def test_it_is_the_end_of_the_output() -> None:
    *_, last = profile_things(profile("MPI_Cart_sub", "MPI_Alltoallv"))
    assert isinstance(last, Table) and last.rows[-1].name == "mpi_comm_free"
