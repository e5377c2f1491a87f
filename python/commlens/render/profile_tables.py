"""A profile as tables, the first with CrayPAT's columns: by group and function, with the imbalance
over ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from commlens.base.text import format_bytes, format_count, plural
from commlens.compare.references import load
from commlens.findings import findings
from commlens.findings.finding import finding_lines
from commlens.model.profile import (
    Caller,
    CallSite,
    Communicators,
    Function,
    Imbalance,
    Profile,
    Region,
    imbalance_of,
    mean,
)
from commlens.render.table import Column, Lines, Table, Thing

_MOST_CALL_SITES = 30
_MOST_RANKS = 16
_MOST_FUNCTIONS = 4  # of a rank that are columns
_LEAST_SHARE = 0.01  # of the time, for a column
_MOST_FUNCTIONS_OF_REGION = 3
_ADDRESS = re.compile(r"\+0x[0-9a-f]+$")
_SHARE, _IMBALANCE = "Time %", "Imb. Time %"  # of a published profile
_LEADING = 2  # functions of MPI that take most of a published profile: a profile like it has them
_LEAST_PERCENT = 0.1

_seconds = "{:.6f}".format
_percent = "{:.1f}%".format
_calls = "{:,.1f}".format


def profile_things(profile: Profile) -> Iterator[Thing]:
    """Everything that `commlens profile` and `commlens show` print of a profile."""
    yield Lines([[(line, "")] for line in _head(profile)])
    for finding in findings(profiles=[profile]):
        yield Lines([[], *([(line, "")] for line in finding_lines(finding, "finding"))])
    yield time_table(profile)
    for table_of in (_bytes_table, waiting_table, call_sites_table, regions_table, ranks_table):
        table: Table[Any] = table_of(profile)
        if table.rows:
            yield table
    for published in published_tables(profile):
        yield from (Lines([[]]), published)


def _head(profile: Profile) -> Iterator[str]:
    yield f"# profile of {' '.join(profile.command)}"
    where = f"{plural(profile.ranks, 'rank')} on {plural(profile.nodes, 'node')}"
    yield f"# {where}, {profile.library}, {profile.time}"
    if profile.threads > 1:
        count = f"up to {profile.threads} threads"
        yield f"# {count} of a rank call MPI: times are means over its threads"
    yield from (f"# {warning}" for warning in profile.warnings)


class _Line(NamedTuple):
    """A line of a table by time: all, a group or a region; or, indented below it, its function."""

    name: str
    time: Imbalance | None
    part_s: float  # mean over ranks; of a region that in MPI
    whole_s: float  # of which that is a part
    calls: float | None  # or entries

    @property
    def percent(self) -> float:
        """The part of the whole."""
        return _part(self.part_s, self.whole_s)


def time_table(profile: Profile) -> Table[_Line]:
    """Means over ranks. Imb. Time is the maximum less the mean, Imb. Time % as in imbalance.py."""
    total = mean(profile.total_s)
    outside = imbalance_of(profile.outside_s)
    calls = sum(function.mean_calls for function in profile.functions)
    rows = [
        _Line("Total", None, total, total, calls),
        *_group("MPI", profile.communicating, profile),
        *_group("MPI's start and end", profile.initializing, profile),
        _Line("USER (outside MPI)", outside, outside.mean_s, total, None),
    ]
    columns: list[Column[_Line]] = [
        Column("Time %", lambda row: row.percent, format=_percent),
        Column("Time", lambda row: row.part_s, "s", _seconds),
        *_IMBALANCES,
        Column("Calls", lambda row: row.calls, format=_calls),
        _name_column("Group\n  Function"),
    ]
    return Table(columns, rows)


_IMBALANCES: list[Column[_Line]] = [
    Column("Imb. Time", lambda row: row.time and row.time.imbalance_s, "s", _seconds),
    Column("Imb.\nTime %", lambda row: row.time and row.time.percent, format=_percent),
]


def _name_column(title: str) -> Column[_Line]:
    """Functions are indented, below what they belong to."""
    return Column(
        title,
        lambda row: row.name,
        left=True,
        style=lambda row: "" if row.name.startswith(" ") else "bold",
    )


def _group(name: str, functions: Sequence[Function], profile: Profile) -> Iterator[_Line]:
    if not functions and name != "MPI":
        return
    total = mean(profile.total_s)
    calls = sum(function.mean_calls for function in functions)
    yield _Line(name, None, mean(profile.in_functions(functions)), total, calls)
    for function in functions:
        time = function.time
        yield _Line(f"  {function.name}", time, time.mean_s, total, function.mean_calls)


def _part(part: float, whole: float) -> float:
    """In percent."""
    return 100 * part / whole if whole > 0 else 0.0


def _bytes_table(profile: Profile) -> Table[Function]:
    columns: list[Column[Function]] = [
        Column("Bytes per rank", lambda function: mean(function.bytes), format=format_bytes),
        Column("Mean size", _mean_size, format=format_bytes),
        Column("Longest call", lambda function: max(function.max_s), "s", _seconds),
        Column("Ranks", lambda function: _sizes(function.communicators)),
        Column("Memory", lambda function: ", ".join(function.memory) or None, left=True),
        Column("Function", lambda function: function.name, left=True),
    ]
    return Table(columns, [function for function in profile.by_time if any(function.bytes)])


def _mean_size(function: Function) -> float:
    messages = sum(size.calls for size in function.sizes)
    return sum(function.bytes) / messages if messages else 0.0


def _sizes(communicators: Communicators) -> str | None:
    smallest, largest = communicators.min_size, communicators.max_size
    if not isinstance(smallest, int) or not isinstance(largest, int):
        return None
    return str(smallest) if smallest == largest else f"{smallest} to {largest}"


def waiting_table(profile: Profile) -> Table[Function]:
    """Which part of the time of each function was spent waiting for other ranks."""

    def percent(function: Function) -> float:
        return _part(mean(function.waiting_s), mean(function.time_s))

    def transfer(function: Function) -> float:
        return max(0.0, mean(function.time_s) - mean(function.waiting_s))

    def rank(function: Function) -> int:
        index = function.waiting_s.index(max(function.waiting_s))
        return profile.placement[index].rank

    columns: list[Column[Function]] = [
        Column("Time", lambda function: mean(function.time_s), "s", _seconds),
        Column("Waiting", lambda function: mean(function.waiting_s), "s", _seconds),
        Column("Wait %", percent, format=_percent),
        Column("Transfer", transfer, "s", _seconds),
        Column("Most waiting", lambda function: max(function.waiting_s), "s", _seconds),
        Column("Rank", rank),
        Column("Function", lambda function: function.name, left=True),
    ]
    return Table(columns, [function for function in profile.by_time if any(function.waiting_s)])


def call_sites_table(profile: Profile) -> Table[CallSite]:
    """From where functions are called; those that take longest first."""
    ranks = len(profile.total_s)
    sites = profile.call_sites
    waiting_in = {site.function for site in sites if site.waiting_s}  # of others it is not known

    def waiting(site: CallSite) -> float | None:
        return _part(site.waiting_s, site.time_s) if site.function in waiting_in else None

    def chain(site: CallSite) -> str:
        places: list[CallSite | Caller] = [site, *site.callers]
        return f"{site.function} from {' < '.join(map(_place, places))}"

    columns: list[Column[CallSite]] = [
        Column("Time", lambda site: site.time_s / ranks, "s", _seconds),
        Column("Wait %", waiting, format=_percent, if_any=True),
        Column("Calls", lambda site: site.calls / ranks, format=_calls),
        Column("Bytes per rank", lambda site: site.bytes / ranks, format=format_bytes),
        Column("Function called from", chain, left=True),
    ]
    notes = []
    if len(sites) > _MOST_CALL_SITES:
        more = format_count(len(sites) - _MOST_CALL_SITES)
        notes.append(f"... and {more} more sites in the record")
    if any(_ADDRESS.search(site.caller) for site in sites[:_MOST_CALL_SITES]):
        address = "+0x...: an address in a file without symbols (stripped)"
        notes.append(f"{address}; `--call-depth 2` adds the caller")
    return Table(columns, sites[:_MOST_CALL_SITES], notes=notes)


def _place(place: CallSite | Caller) -> str:
    where = f" ({Path(place.file).name}:{place.line})" if place.line else ""
    return f"{place.caller}{where}"


def ranks_table(profile: Profile) -> Table[int]:
    """All ranks, or of many those with the least and the most time in MPI: for the first ones the
    others wait."""
    places, total_s = profile.placement, profile.total_s

    def busy(index: int) -> float | None:
        cpu = places[index].cpu_s
        return 100 * cpu / total_s[index] if isinstance(cpu, float) and total_s[index] > 0 else None

    least = _LEAST_SHARE * mean(total_s)
    functions = [function for function in profile.communicating if function.time.mean_s >= least]
    columns: list[Column[int]] = [
        Column("Rank", lambda index: places[index].rank),
        Column("Time", lambda index: total_s[index], "s", _seconds),
        Column("USER", lambda index: profile.outside_s[index], "s", _seconds),
        Column("MPI", lambda index: profile.mpi_s[index], "s", _seconds),
        Column("CPU %", busy, format="{:.0f}%".format),
        *(
            Column[int](function.name, function.time_s.__getitem__, "s", _seconds)
            for function in functions[:_MOST_FUNCTIONS]
        ),
        Column("Processors", lambda index: places[index].cpus or None, left=True),
        Column("Host", lambda index: places[index].host, left=True),
    ]
    shown = _shown_ranks(profile) if len(places) > 1 else []
    hidden = len(places) - len(shown)
    note = f"... and {hidden} more ranks, whose time in MPI lies between, in the record"
    return Table(columns, shown, notes=[note] if shown and hidden else [])


def _shown_ranks(profile: Profile) -> Sequence[int]:
    indices = range(len(profile.placement))
    if len(indices) <= _MOST_RANKS:
        return indices
    by_time = sorted(indices, key=lambda index: profile.mpi_s[index])
    half = _MOST_RANKS // 2
    return by_time[:half] + by_time[-half:]


def regions_table(profile: Profile) -> Table[_Line]:
    """The time within regions, and what they call most."""
    regions = sorted(profile.regions, key=lambda region: -mean(region.time_s))
    columns: list[Column[_Line]] = [
        Column("Time", lambda row: row.time and row.time.mean_s, "s", _seconds),
        *_IMBALANCES,
        Column("MPI", lambda row: row.part_s, "s", _seconds),
        Column("MPI %", lambda row: row.percent, format=_percent),
        Column("Entries", lambda row: row.calls, format=_calls),
        _name_column("Region\n  Function"),
    ]
    return Table(columns, [row for region in regions for row in _region_rows(region)])


def _region_rows(region: Region) -> Iterator[_Line]:
    time = imbalance_of(region.time_s)
    yield _Line(region.name, time, mean(region.mpi_s), time.mean_s, mean(region.entries))
    functions = sorted(region.functions, key=lambda function: -mean(function.time_s))
    for function in functions[:_MOST_FUNCTIONS_OF_REGION]:
        name, part_s, calls = function.name, mean(function.time_s), mean(function.calls)
        yield _Line(f"  {name}", None, part_s, time.mean_s, calls)


class _Share(NamedTuple):
    """A function of a published profile beside that of this one."""

    name: str
    ours: Function | None
    published: dict[str, float]


def published_tables(profile: Profile) -> Iterator[Table[_Share]]:
    """Of each published profile whose leading functions this one calls, too.

    Shares of the time are compared, as times are another machine's.
    """
    ours = {function.name.lower(): function for function in profile.communicating}
    total = mean(profile.total_s)
    columns: list[Column[_Share]] = [
        Column("Time %", lambda row: row.ours and _part(row.ours.time.mean_s, total), "", _percent),
        Column("published", lambda row: row.published[_SHARE], format=_percent),
        Column("Imb.\nTime %", lambda row: row.ours and row.ours.time.percent, format=_percent),
        Column("published", lambda row: row.published.get(_IMBALANCE, 0.0), format=_percent),
        Column("Function", lambda row: row.name, left=True),
    ]
    for source in load():
        for setup, figures in groupby(source.figures, lambda figure: figure.setup):
            theirs: dict[str, dict[str, float]] = {}
            for figure in figures:
                name, _, quantity = figure.quantity.partition(": ")
                theirs.setdefault(name.rstrip("_"), {})[quantity] = figure.value
            rows = [
                _Share(ours[name].name if name in ours else name, ours.get(name), published)
                for name, published in theirs.items()
                if name.startswith("mpi_") and published.get(_SHARE, 0) >= _LEAST_PERCENT
            ]
            leading = sorted(rows, key=lambda row: -row.published[_SHARE])[:_LEADING]
            if leading and all(row.ours for row in leading) and total > 0:
                title = f"Beside it {source.name}"
                yield Table(columns, rows, title, f"{setup}, {source.machine}")
