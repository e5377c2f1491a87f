"""A profile as tables, the first with CrayPAT's columns: by group and function, with the imbalance
over ranks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commlens.base.text import format_bytes, format_count, plural
from commlens.compare.references import Source
from commlens.findings import findings
from commlens.findings.finding import finding_lines
from commlens.findings.view import calls
from commlens.model.profile import (
    Caller,
    CallSite,
    Function,
    Imbalance,
    Profile,
    Region,
    imbalance_of,
    mean,
)
from commlens.render.published_profile import LEAST_PERCENT, as_percent, published_tables
from commlens.render.table import Column, Lines, Table, Thing

_MOST_CALL_SITES = 30
_MOST_RANKS = 16
_MOST_FUNCTIONS = 4  # of a rank that are columns
_LEAST_SHARE = 0.01  # of the time, for a column
_MOST_FUNCTIONS_OF_REGION = 3
_ADDRESS = re.compile(r"\+0x[0-9a-f]+$")
_TOTAL = "Total (MPI_Init to MPI_Finalize)"
_COMPLETES = re.compile(r"MPI_(Wait|Test)(all|any|some)?")
_POSTS = re.compile(
    r"MPI_(I(?!n(fo|it|ter)|s_|m?probe)|R(put|get|accumulate)|Comm_idup|File_i|Start)\w*"
)
_MOST_PEERS = 8  # rows and columns of the matrix

_seconds = "{:.6f}".format
_calls = "{:,.1f}".format


def profile_things(
    profile: Profile, every: bool = False, reference: Source | None = None
) -> Iterator[Thing]:
    """Everything that `commlens profile` and `commlens show` print of a profile.

    `every`: also functions that take next to no time; `reference`: whose profile is put beside it.
    """
    yield Lines([[(line, "")] for line in _head(profile)])
    for finding in findings(profiles=[profile]):
        yield Lines([[], *([(line, "")] for line in finding_lines(finding, "finding"))])
    yield time_table(profile, every)
    tables_of = (_bytes_table, waiting_table, call_sites_table, regions_table, peers_table)
    for table_of in (*tables_of, ranks_table):
        table: Table[Any] = table_of(profile)
        if table.rows:
            yield table
    if reference is not None:
        for published in published_tables(profile, reference):
            yield from (Lines([[]]), published)


def _head(profile: Profile) -> Iterator[str]:
    yield f"# profile of {' '.join(profile.command)}"
    where = f"{plural(profile.ranks, 'rank')} on {plural(profile.nodes, 'node')}"
    yield f"# {where}, {profile.library}, {profile.time}"
    if profile.threads > 1:
        count = f"up to {profile.threads} threads"
        yield f"# {count} of a rank call MPI: times are means over its threads"
    yield from (f"# {warning}" for warning in profile.warnings)
    if profile.too_short:
        yield f"# {profile.too_short}"


class _Line(NamedTuple):
    """A line of a table by time: all, a group or a region; or, indented below it, its function."""

    name: str
    time: Imbalance | None
    part_s: float  # mean over ranks; of a region that in MPI
    profile: Profile  # of whose time that is a part
    calls: float | None  # or entries

    @property
    def percent(self) -> float:
        """The part of the run."""
        return self.profile.percent(self.part_s)

    @property
    def us_per_call(self) -> float | None:
        """Of a function or a region."""
        return 1e6 * self.part_s / self.calls if self.calls and self.time else None


def time_table(profile: Profile, every: bool = False) -> Table[_Line]:
    """Means over ranks. Imb. Time is the maximum less the mean, Imb. Time % as in imbalance.py.

    `every`: also functions that take less than LEAST_PERCENT of the time, which are one row else.
    """
    outside = imbalance_of(profile.outside_s)
    calls = sum(function.mean_calls for function in profile.functions)
    rows = [
        _Line(_TOTAL, None, profile.wall_s, profile, calls),
        *_group("MPI", profile.communicating, profile, every),
        *_group("MPI's start and end", profile.initializing, profile, every=True),
        _Line("USER (outside MPI)", outside, outside.mean_s, profile, None),
    ]
    columns: list[Column[_Line]] = [
        Column("Time %\nof Total", lambda row: row.percent, format=as_percent),
        Column("Time", lambda row: row.part_s, "s", _seconds),
        *_IMBALANCES,
        Column("Calls", lambda row: row.calls, format=_calls),
        Column("Per call", lambda row: row.us_per_call, "us", "{:,.2f}".format),
        _name_column("Group\n  Function"),
    ]
    return Table(columns, rows, notes=_posted(profile))


def _posted(profile: Profile) -> list[str]:
    """Whose requests are waited for: MPI_Waitall's time is that of what MPI_Irecv has begun."""
    waits = [call.name for call in profile.by_time if _COMPLETES.fullmatch(call.name)]
    posting = [call for call in profile.by_time if _POSTS.fullmatch(call.name)]
    posting.sort(key=lambda function: -function.mean_calls)
    if not (waits and posting):
        return []
    return [f"requests that {' and '.join(waits)} complete: {calls(posting)}"]


_IMBALANCES: list[Column[_Line]] = [
    Column("Imb. Time", lambda row: row.time and row.time.imbalance_s, "s", _seconds),
    Column("Imb.\nTime %", lambda row: row.time and row.time.percent, format=as_percent),
]


def _name_column(title: str) -> Column[_Line]:
    """Functions are indented, below what they belong to."""
    return Column(
        title,
        lambda row: row.name,
        left=True,
        style=lambda row: "" if row.name.startswith(" ") else "bold",
    )


def _group(
    name: str, functions: Sequence[Function], profile: Profile, every: bool
) -> Iterator[_Line]:
    if not functions and name != "MPI":
        return
    number = sum(function.mean_calls for function in functions)
    yield _Line(name, None, mean(profile.in_functions(functions)), profile, number)
    small = [call for call in functions if profile.percent(call.time.mean_s) < LEAST_PERCENT]
    hidden = small if len(small) > 1 and not every else []
    for call in functions[: len(functions) - len(hidden)]:  # the longest first
        yield _Line(f"  {call.name}", call.time, call.time.mean_s, profile, call.mean_calls)
    if hidden:
        folded = f"  {plural(len(hidden), 'more function')} (--all)"
        number = sum(function.mean_calls for function in hidden)
        yield _Line(folded, None, mean(profile.in_functions(hidden)), profile, number)


def _bytes_table(profile: Profile) -> Table[Function]:
    """Of MPI_Start and MPI_Startall communicators and memory are those of their requests."""
    requests = [function for function in profile.functions if function.name.endswith("_init")]

    def made_by(function: Function) -> list[Function]:
        return requests if function.name.startswith("MPI_Start") else [function]

    def memory(function: Function) -> str | None:
        kinds = dict.fromkeys(kind for maker in made_by(function) for kind in maker.memory)
        return ", ".join(kinds) or None

    columns: list[Column[Function]] = [
        Column("Bytes per rank", lambda function: mean(function.bytes), format=format_bytes),
        Column("Mean size", _mean_size, format=format_bytes),
        Column("Longest call", lambda function: max(function.max_s), "s", _seconds),
        Column("Ranks", lambda function: _sizes(made_by(function))),
        Column("Memory", memory, left=True),
        Column("Function", lambda function: function.name, left=True),
    ]
    return Table(columns, [function for function in profile.by_time if any(function.bytes)])


def _mean_size(function: Function) -> float:
    messages = sum(size.calls for size in function.sizes)
    return sum(function.bytes) / messages if messages else 0.0


def _sizes(functions: Sequence[Function]) -> str | None:
    used = (function.communicators for function in functions)
    ends = (end for sizes in used for end in (sizes.min_size, sizes.max_size))
    if not (known := [end for end in ends if isinstance(end, int)]):
        return None
    return str(known[0]) if len(set(known)) == 1 else f"{min(known)} to {max(known)}"


def waiting_table(profile: Profile) -> Table[Function]:
    """Which part of the time of each function was spent waiting for other ranks."""

    def percent(function: Function) -> float:
        return profile.percent(mean(function.waiting_s))

    def transfer(function: Function) -> float:
        return max(0.0, mean(function.time_s) - mean(function.waiting_s))

    def rank(function: Function) -> int:
        index = function.waiting_s.index(max(function.waiting_s))
        return profile.placement[index].rank

    columns: list[Column[Function]] = [
        Column("Time", lambda function: mean(function.time_s), "s", _seconds),
        Column("Waiting", lambda function: mean(function.waiting_s), "s", _seconds),
        Column("Wait %\nof Total", percent, format=as_percent),
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
        share = profile.percent(site.waiting_s / ranks)
        return share if site.function in waiting_in else None

    posting: dict[tuple[str, str], list[str]] = {}
    for site in sites:
        if _POSTS.fullmatch(site.function):
            line = f":{site.line}" if site.line else ""
            posting.setdefault((site.file, site.caller), []).append(site.function + line)

    def chain(site: CallSite) -> str:
        places: list[CallSite | Caller] = [site, *site.callers]
        text = f"{site.function} from {' < '.join(map(_place, places))}"
        waits = _COMPLETES.fullmatch(site.function)
        requests = posting.get((site.file, site.caller), []) if waits else []
        return f"{text}, requests of {', '.join(sorted(set(requests)))}" if requests else text

    columns: list[Column[CallSite]] = [
        Column("Time", lambda site: site.time_s / ranks, "s", _seconds),
        Column("Wait %\nof Total", waiting, format=as_percent, if_any=True),
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


def peers_table(profile: Profile) -> Table[int]:
    """Bytes from rank to rank; of many ranks, from as many consecutive ones to others."""
    together = -(-profile.ranks // _MOST_PEERS)
    blocks = range(-(-profile.ranks // together))
    sent: Counter[tuple[int, int]] = Counter()
    for peer in profile.peers:
        sent[peer.sender // together, peer.receiver // together] += peer.bytes

    def name(block: int) -> str:
        first, last = block * together, min(profile.ranks, (block + 1) * together) - 1
        return f"{first}" if first == last else f"{first}-{last}"

    def to(receiver: int) -> Column[int]:
        def value(sender: int) -> int | None:
            return sent[sender, receiver] or None

        return Column(f"to {name(receiver)}", value, format=format_bytes)

    return Table(
        [Column("From rank", name), *map(to, blocks)], blocks if any(sent.values()) else []
    )


def ranks_table(profile: Profile) -> Table[int]:
    """All ranks, or of many those with the least and the most time in MPI: for the first ones the
    others wait."""
    places, total_s = profile.placement, profile.total_s

    def busy(index: int) -> float | None:
        cpu = places[index].cpu_s
        return 100 * cpu / total_s[index] if isinstance(cpu, float) and total_s[index] > 0 else None

    least = _LEAST_SHARE * profile.wall_s
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
        Column("MPI %\nof Total", lambda row: row.percent, format=as_percent),
        Column("Entries", lambda row: row.calls, format=_calls),
        _name_column("Region\n  Function"),
    ]
    rows = [row for region in regions for row in _region_rows(region, profile)]
    return Table(columns, rows)


def _region_rows(region: Region, profile: Profile) -> Iterator[_Line]:
    time = imbalance_of(region.time_s)
    yield _Line(region.name, time, mean(region.mpi_s), profile, mean(region.entries))
    functions = sorted(region.functions, key=lambda function: -mean(function.time_s))
    for function in functions[:_MOST_FUNCTIONS_OF_REGION]:
        name, part_s, calls = function.name, mean(function.time_s), mean(function.calls)
        yield _Line(f"  {name}", None, part_s, profile, calls)
