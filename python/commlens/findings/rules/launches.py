"""Launches of the same case."""

from __future__ import annotations

from typing import NamedTuple

from commlens.base.text import format_number
from commlens.findings.finding import Evidence
from commlens.findings.rule import Observation, Seen, found
from commlens.findings.view import Alternatives, Curve, View, is_steady, median_us
from commlens.model import TIME_METRIC, Record


class _Spread(NamedTuple):
    low: Record
    high: Record
    launches: int
    share: float  # of the time of the fastest


def launches_differ(view: View, spread: float) -> Seen:
    for own in view.alternatives:
        for curve in own.curves.values():
            spreads = [_spread(records, spread) for records in curve.by_size.values()]
            if any(spreads):
                yield _observation(own, curve, [one for one in spreads if one])


def _spread(records: list[Record], least: float) -> _Spread | None:
    launches = {record.start.start: record for record in records}
    low = min(launches.values(), key=median_us)
    high = max(launches.values(), key=median_us)
    share = median_us(high) / median_us(low) - 1
    is_found = share > least and _is_apart(low, high) and is_steady(low) and is_steady(high)
    return _Spread(low, high, len(launches), share) if is_found else None


def _is_apart(low: Record, high: Record) -> bool:
    """Whether the intervals over their samples do not overlap: what is said of launches here cannot
    be told over launches."""
    end, beginning = low.statistics[TIME_METRIC].ci_high, high.statistics[TIME_METRIC].ci_low
    return end is not None and beginning is not None and end < beginning


def _observation(own: Alternatives, curve: Curve, spreads: list[_Spread]) -> Observation:
    spreads = sorted(spreads, key=lambda one: -one.share)
    worst = spreads[0]
    pair = worst.low, worst.high
    sizes = len(curve.by_size)
    records = tuple(record for one in spreads for record in (one.high, one.low))
    return found(
        Evidence(own.where([one.low.size for one in spreads]), records),
        launches=worst.launches,
        place=own.where([worst.low.size]),
        transport=worst.low.transport,
        share=worst.share,
        times=" and ".join(format_number(median_us(one)) for one in pair),
        width=max(one.statistics[TIME_METRIC].half_width for one in pair),
        many=f"; so at {len(spreads)} of {sizes} sizes" if sizes > 1 else "",
    )
