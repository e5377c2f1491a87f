"""What each rank did, and what happened within regions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.model.imbalance import imbalance_of, mean
from commlens.model.profile import Profile

_MAX_RANKS = 16
_MAX_FUNCTIONS = 4
_LEAST_SHARE = 0.01  # of the time, for a column
_MAX_FUNCTIONS_OF_REGION = 3


def ranks_table(profile: Profile) -> Iterator[str]:
    """All ranks, or of many those with the least and the most time in MPI: for the first ones the
    others wait."""
    if len(profile.placement) < 2:
        return
    least = _LEAST_SHARE * mean(profile.total_s)
    functions = [own for own in profile.communicating if own.time.mean_s >= least][:_MAX_FUNCTIONS]
    widths = [max(10, len(function.name)) for function in functions]
    names = "".join(f" {function.name:>{width}} |" for function, width in zip(functions, widths))
    yield f" Rank |       Time |       USER |        MPI |  CPU % |{names}Processors, host"
    shown = _shown(profile)
    for index in shown:
        place = profile.placement[index]
        times = "".join(
            f" {function.time_s[index]:{width}.6f} |" for function, width in zip(functions, widths)
        )
        total = profile.total_s[index]
        cpu = place.cpu_s if isinstance(place.cpu_s, float) else None
        busy = f"{100 * cpu / total:5.0f}%" if cpu is not None and total > 0 else "    --"
        yield (
            f" {place.rank:4} | {total:10.6f} | {profile.outside_s[index]:10.6f} |"
            f" {profile.mpi_s[index]:10.6f} | {busy} |{times}{place.cpus or '--'}, {place.host}"
        )
    hidden = len(profile.placement) - len(shown)
    if hidden:
        yield f" ... and {hidden} more ranks, whose time in MPI lies between, in the record"


def _shown(profile: Profile) -> Sequence[int]:
    indices = range(len(profile.placement))
    if len(indices) <= _MAX_RANKS:
        return indices
    by_time = sorted(indices, key=lambda index: profile.mpi_s[index])
    half = _MAX_RANKS // 2
    return by_time[:half] + by_time[-half:]


def regions_table(profile: Profile) -> Iterator[str]:
    if not profile.regions:
        return
    yield "       Time | Imb. Time |   Imb. |        MPI |  MPI % |    Entries |Region"
    yield "            |           | Time % |            |        |            | Function"
    for region in sorted(profile.regions, key=lambda region: -mean(region.time_s)):
        time, mpi = imbalance_of(region.time_s), mean(region.mpi_s)
        yield (
            f" {time.mean_s:10.6f} | {time.imbalance_s:9.6f} | {time.percent:5.1f}% |"
            f" {mpi:10.6f} | {_percent(mpi, time.mean_s)} | {mean(region.entries):10.1f} |"
            f"{region.name}"
        )
        functions = sorted(region.functions, key=lambda own: -mean(own.time_s))
        for function in functions[:_MAX_FUNCTIONS_OF_REGION]:
            own = mean(function.time_s)
            yield (
                f" {'':10} | {'':9} | {'':6} | {own:10.6f} | {_percent(own, time.mean_s)} |"
                f" {mean(function.calls):10.1f} | {function.name}"
            )


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole > 0 else 0.0:5.1f}%"
