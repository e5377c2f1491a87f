"""A published profile beside one of ours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from commlens.base.errors import CommlensError
from commlens.compare.references import Source, find, load
from commlens.model.profile import Function, Profile
from commlens.render.table import Column, Table

_SHARE, _IMBALANCE = "Time %", "Imb. Time %"  # of a published profile
LEAST_PERCENT = 0.1  # of the time, for a row of its own

as_percent = "{:.1f}%".format


class _Share(NamedTuple):
    """A function of a published profile beside that of this one."""

    name: str
    ours: Function | None
    published: dict[str, float]


def published_profile(name: str) -> Source:
    """The source of this name. Raises CommlensError where it is none of a profile."""

    def has_profile(source: Source) -> bool:
        return any(figure.quantity.endswith(f": {_SHARE}") for figure in source.figures)

    if not has_profile(source := find(name)):
        names = ", ".join(source.name for source in load() if has_profile(source))
        raise CommlensError(f"--reference {name}: it has no profile of a program; {names} has")
    return source


def published_tables(profile: Profile, source: Source) -> Iterator[Table[_Share]]:
    """A published profile beside this one. Shares of the time are compared, as times are another
    machine's."""
    ours = {function.name.lower(): function for function in profile.communicating}
    columns: list[Column[_Share]] = [
        Column(
            "Time %\nof Total",
            lambda row: row.ours and profile.percent(row.ours.time.mean_s),
            format=as_percent,
        ),
        Column("published", lambda row: row.published[_SHARE], format=as_percent),
        Column("Imb.\nTime %", lambda row: row.ours and row.ours.time.percent, format=as_percent),
        Column("published", lambda row: row.published.get(_IMBALANCE, 0.0), format=as_percent),
        Column("Function", lambda row: row.name, left=True),
    ]
    for setup, figures in groupby(source.figures, lambda figure: figure.setup):
        theirs: dict[str, dict[str, float]] = {}
        for figure in figures:
            name, _, quantity = figure.quantity.partition(": ")
            theirs.setdefault(name.rstrip("_"), {})[quantity] = figure.value
        rows = [
            _Share(ours[name].name if name in ours else name, ours.get(name), quantities)
            for name, quantities in theirs.items()
            if name.startswith("mpi_") and quantities.get(_SHARE, 0) >= LEAST_PERCENT
        ]
        if rows:
            yield Table(columns, rows, f"Beside it {source.name}", f"{setup}, {source.machine}")
