"""A profile as tables in CrayPAT's layout: by group and function, with the imbalance over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from commlens.profile.imbalance import Imbalance, imbalance_of, mean
from commlens.profile.record import CallSite, Communicators, Function, Profile
from commlens.text import format_bytes, format_count, plural

_NONE = "--"
_HEAD = (
    " Time % |       Time | Imb. Time |   Imb. |      Calls |Group",
    "        |            |           | Time % |            | Function",
)
_WIDTH = 78
_MAX_CALL_SITES = 30


def profile_lines(profile: Profile) -> Iterator[str]:
    """Everything that `commlens profile` and `commlens show` print of a profile."""
    yield f"# profile of {' '.join(profile.command)}"
    yield (
        f"# {plural(profile.ranks, 'rank')} on {plural(profile.nodes, 'node')}, "
        f"{profile.library}, {profile.time}"
    )
    for warning in profile.warnings:
        yield f"# {warning}"
    yield ""
    yield from time_table(profile)
    sending = [function for function in profile.by_time if any(function.bytes)]
    if sending:
        yield ""
        yield from _bytes_table(sending)
    if profile.call_sites:
        yield ""
        yield from _call_sites_table(profile.call_sites, len(profile.total_s))


def time_table(profile: Profile) -> Iterator[str]:
    """Means over ranks. Imb. Time is the maximum less the mean, Imb. Time % as in imbalance.py."""
    total = mean(profile.total_s)
    yield from _HEAD
    yield ""
    yield _row("", total, total, None, profile.mean_calls, "Total")
    yield "|" + "-" * (_WIDTH - 1)
    yield _row("|", total, mean(profile.mpi_s), None, profile.mean_calls, "MPI")
    yield "||" + "-" * (_WIDTH - 2)
    for function in profile.by_time:
        time = function.time
        yield _row("||", total, time.mean_s, time, function.mean_calls, function.name)
    yield "||" + "=" * (_WIDTH - 2)
    outside = imbalance_of(profile.outside_s)
    yield _row("|", total, outside.mean_s, outside, None, "USER (outside MPI)")
    yield "|" + "=" * (_WIDTH - 1)


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
    has_waiting = any(any(function.waiting_s) for function in functions)
    yield (
        "Bytes per rank |     Mean size | Longest call s |"
        + (" Waiting s |" if has_waiting else "")
        + " Ranks      | Memory       |Function"
    )
    for function in functions:
        messages = sum(size.calls for size in function.sizes)
        mean_bytes = sum(function.bytes) / messages if messages else 0.0
        waiting = f" {mean(function.waiting_s):9.6f} |" if has_waiting else ""
        yield (
            f" {mean(function.bytes):13.0f} | {format_bytes(round(mean_bytes)):>13} |"
            f" {max(function.max_s):14.6f} |{waiting}"
            f" {_sizes(function.communicators):10} |"
            f" {', '.join(function.memory) or _NONE:12} |{function.name}"
        )


def _sizes(communicators: Communicators) -> str:
    smallest, largest = communicators.min_size, communicators.max_size
    if not isinstance(smallest, int) or not isinstance(largest, int):
        return _NONE
    return str(smallest) if smallest == largest else f"{smallest} to {largest}"


def _call_sites_table(sites: Sequence[CallSite], ranks: int) -> Iterator[str]:
    yield "       Time |      Calls | Bytes per rank |Function called from"
    for site in sites[:_MAX_CALL_SITES]:
        where = f" ({Path(site.file).name}:{site.line})" if site.line else ""
        yield (
            f" {site.time_s / ranks:10.6f} | {site.calls / ranks:10.1f} |"
            f" {site.bytes / ranks:14.0f} |{site.function} from {site.caller}{where}"
        )
    if len(sites) > _MAX_CALL_SITES:
        yield f" ... and {format_count(len(sites) - _MAX_CALL_SITES)} more sites in the record"
