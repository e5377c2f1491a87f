"""Launches"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from commlens.base.text import format_number, format_percent, plural
from commlens.findings.finding import Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import STEADY, Alternatives, Curve, View, is_steady, median_us
from commlens.model import TIME_METRIC, Record

_SPREAD = 0.1


class _Spread(NamedTuple):
    low: Record
    high: Record
    launches: int
    share: float  # of the time of the fastest


@rule(
    "starts-differ",
    "note",
    "launches of the same case differ more than their samples",
    needs="records",
    when=f"the medians of two launches of one case, with the same settings on the same host, are "
    f"more than {_SPREAD:.0%} apart, the samples support that they differ, and half of each "
    f"interval is at most {STEADY:.0%} of its median.",
    fix="The interval of one launch is not that of this machine: measure several "
    "(`commlens run ... --launches 5`), and compare the medians of launches.",
)
def launches_differ(view: View) -> Iterator[Observation]:
    for own in view.alternatives:
        for curve in own.curves.values():
            spreads = {size: _spread(records) for size, records in curve.by_size.items()}
            found = [one for one in spreads.values() if one]
            if found:
                yield _observation(own, curve, found)


def _spread(records: list[Record]) -> _Spread | None:
    launches = {record.start.start: record for record in records}
    if len(launches) < 2:
        return None
    low = min(launches.values(), key=median_us)
    high = max(launches.values(), key=median_us)
    share = median_us(high) / median_us(low) - 1
    is_found = share > _SPREAD and _is_apart(low, high) and is_steady(low) and is_steady(high)
    return _Spread(low, high, len(launches), share) if is_found else None


def _is_apart(low: Record, high: Record) -> bool:
    """Whether the intervals over their samples do not overlap: what is said of launches here cannot
    be told over launches."""
    end, beginning = low.statistics[TIME_METRIC].ci_high, high.statistics[TIME_METRIC].ci_low
    return end is not None and beginning is not None and end < beginning


def _observation(own: Alternatives, curve: Curve, found: list[_Spread]) -> Observation:
    found = sorted(found, key=lambda one: -one.share)
    worst = found[0]
    times = " and ".join(format_number(median_us(one)) for one in (worst.low, worst.high))
    widths = max(one.statistics[TIME_METRIC].half_width for one in (worst.low, worst.high))
    several = len(curve.by_size) > 1
    many = f"; so at {len(found)} of {len(curve.by_size)} sizes" if several else ""
    place = own.where([worst.low.size])
    return Observation(
        f"{plural(worst.launches, 'launch')} of {place}, {worst.low.transport}, differ by "
        f"{format_percent(worst.share)}: {times} us, each within {format_percent(widths)} of "
        f"itself{many}",
        Evidence(
            own.where([one.low.size for one in found]),
            tuple(record for one in found for record in (one.high, one.low)),
        ),
    )
