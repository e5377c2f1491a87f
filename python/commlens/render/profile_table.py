"""A profile as tables, the first in CrayPAT's layout: by group and function, with the imbalance
over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import format_bytes, plural
from commlens.findings import findings
from commlens.findings.finding import finding_lines
from commlens.model.imbalance import Imbalance, imbalance_of, mean
from commlens.model.profile import Communicators, Function, Profile
from commlens.render.published_profile import published_table
from commlens.render.rank_tables import ranks_table, regions_table
from commlens.render.site_table import call_sites_table, waiting_table

_NONE = "--"
_HEAD = (
    " Time % |       Time | Imb. Time |   Imb. |      Calls |Group",
    "        |            |           | Time % |            | Function",
)
_WIDTH = 78


def profile_lines(profile: Profile) -> Iterator[str]:
    """Everything that `commlens profile` and `commlens show` print of a profile."""
    for line in _lines(profile):
        # Names come from programs and records: control characters do not reach the terminal.
        yield "".join(letter if letter.isprintable() else "?" for letter in line)


def _lines(profile: Profile) -> Iterator[str]:
    yield f"# profile of {' '.join(profile.command)}"
    yield (
        f"# {plural(profile.ranks, 'rank')} on {plural(profile.nodes, 'node')}, "
        f"{profile.library}, {profile.time}"
    )
    if profile.threads > 1:
        yield (
            f"# up to {profile.threads} threads of a rank call MPI: times are means over its "
            "threads"
        )
    for warning in profile.warnings:
        yield f"# {warning}"
    yield ""
    for finding in findings(profiles=[profile]):
        yield from finding_lines(finding, "finding")
        yield ""
    yield from time_table(profile)
    sending = [function for function in profile.by_time if any(function.bytes)]
    tables = (
        _bytes_table(sending) if sending else (),
        waiting_table(profile),
        call_sites_table(profile),
        regions_table(profile),
        ranks_table(profile),
        published_table(profile),
    )
    for table in tables:
        rows = list(table)
        if rows:
            yield ""
            yield from rows


def time_table(profile: Profile) -> Iterator[str]:
    """Means over ranks. Imb. Time is the maximum less the mean, Imb. Time % as in imbalance.py."""
    total = mean(profile.total_s)
    calls = sum(function.mean_calls for function in profile.functions)
    yield from _HEAD
    yield ""
    yield _row("", total, total, None, calls, "Total")
    yield "|" + "-" * (_WIDTH - 1)
    yield from _group("MPI", profile.communicating, profile)
    if profile.initializing:
        yield from _group("MPI's start and end", profile.initializing, profile)
    outside = imbalance_of(profile.outside_s)
    yield _row("|", total, outside.mean_s, outside, None, "USER (outside MPI)")
    yield "|" + "=" * (_WIDTH - 1)


def _group(name: str, functions: Sequence[Function], profile: Profile) -> Iterator[str]:
    total = mean(profile.total_s)
    calls = sum(function.mean_calls for function in functions)
    yield _row("|", total, mean(profile.in_functions(functions)), None, calls, name)
    yield "||" + "-" * (_WIDTH - 2)
    for function in functions:
        time = function.time
        yield _row("||", total, time.mean_s, time, function.mean_calls, function.name)
    yield "||" + "=" * (_WIDTH - 2)


def _row(
    bars: str,
    total: float,
    time: float,
    imbalance: Imbalance | None,
    calls: float | None,
    name: str,
) -> str:
    percent = 100 * time / total if total > 0 else 0.0
    excess = f"{imbalance.imbalance_s:9.6f}" if imbalance else f"{_NONE:>9}"
    share = f"{imbalance.percent:5.1f}%" if imbalance else f"{_NONE:>6}"
    count = f"{calls:10.1f}" if calls is not None else f"{_NONE:>10}"
    return f"{bars} {percent:5.1f}% | {time:10.6f} | {excess} | {share} | {count} |{name}"


def _bytes_table(functions: Sequence[Function]) -> Iterator[str]:
    yield ("Bytes per rank |     Mean size | Longest call s | Ranks      | Memory       |Function")
    for function in functions:
        messages = sum(size.calls for size in function.sizes)
        mean_bytes = sum(function.bytes) / messages if messages else 0.0
        yield (
            f" {mean(function.bytes):13.0f} | {format_bytes(round(mean_bytes)):>13} |"
            f" {max(function.max_s):14.6f} |"
            f" {_sizes(function.communicators):10} |"
            f" {', '.join(function.memory) or _NONE:12} |{function.name}"
        )


def _sizes(communicators: Communicators) -> str:
    smallest, largest = communicators.min_size, communicators.max_size
    if not isinstance(smallest, int) or not isinstance(largest, int):
        return _NONE
    return str(smallest) if smallest == largest else f"{smallest} to {largest}"
