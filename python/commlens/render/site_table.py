"""Where ranks wait, and from where MPI functions are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from commlens.base.text import format_count
from commlens.model.imbalance import mean
from commlens.model.profile import Caller, CallSite, Profile

_MAX_CALL_SITES = 30
_ADDRESS = re.compile(r"\+0x[0-9a-f]+$")


def waiting_table(profile: Profile) -> Iterator[str]:
    waiting = [function for function in profile.by_time if any(function.waiting_s)]
    if not waiting:
        return
    yield "       Time |    Waiting | Wait % |   Transfer | Most waiting, rank |Function"
    for function in waiting:
        time, wait = mean(function.time_s), mean(function.waiting_s)
        most = max(function.waiting_s)
        rank = profile.placement[function.waiting_s.index(most)].rank
        yield (
            f" {time:10.6f} | {wait:10.6f} | {_percent(wait, time)} |"
            f" {max(0.0, time - wait):10.6f} | {most:10.6f} {rank:7} |{function.name}"
        )


def call_sites_table(profile: Profile) -> Iterator[str]:
    sites = profile.call_sites
    if not sites:
        return
    ranks = len(profile.total_s)
    # Of other functions it is not known.
    waiting_in = {site.function for site in sites if site.waiting_s}
    yield (
        "       Time |"
        + (" Wait % |" if waiting_in else "")
        + "      Calls | Bytes per rank |Function called from"
    )
    for site in sites[:_MAX_CALL_SITES]:
        waits = site.function in waiting_in
        percent = _percent(site.waiting_s, site.time_s) if waits else f"{'--':>6}"
        waiting = f" {percent} |" if waiting_in else ""
        yield (
            f" {site.time_s / ranks:10.6f} |{waiting} {site.calls / ranks:10.1f} |"
            f" {site.bytes / ranks:14.0f} |{site.function} from {_place(site)}"
            + "".join(f" < {_place(caller)}" for caller in site.callers)
        )
    if len(sites) > _MAX_CALL_SITES:
        yield f" ... and {format_count(len(sites) - _MAX_CALL_SITES)} more sites in the record"
    if any(_ADDRESS.search(site.caller) for site in sites[:_MAX_CALL_SITES]):
        yield (
            " +0x...: an address in a file without symbols (stripped); `--call-depth 2` adds the "
            "caller"
        )


def _place(place: CallSite | Caller) -> str:
    where = f" ({Path(place.file).name}:{place.line})" if place.line else ""
    return f"{place.caller}{where}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole > 0 else 0.0:5.1f}%"
