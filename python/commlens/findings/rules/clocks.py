"""Clocks and power limits of GPUs."""

from __future__ import annotations

from commlens.findings.finding import Evidence
from commlens.findings.rule import Seen, found
from commlens.findings.view import View, on_gpu_of, text_of
from commlens.model import Place, Record

_LOWERED = 0.99  # of the default limit: drivers round


def gpu_clocks_changed(view: View, change: float) -> Seen:
    for start, records in view.launches:
        own = [record for record in records if _least(record) > 0]
        if len(own) < 2:
            continue
        low, high = min(own, key=_least), max(own, key=_least)
        share = 1 - _least(low) / _least(high)
        if share > change:
            limits = {limit for one in own if one.gpu_clock for limit in one.gpu_clock.limits}
            yield found(
                Evidence(text_of(start), (low, high)),
                launch=text_of(start),
                lowest=_least(low),
                highest=_least(high),
                share=share,
                why=f"; limited by: {', '.join(sorted(limits))}" if limits else "",
            )


def gpu_power_limit_lowered(view: View) -> Seen:
    for start, records in view.launches:
        lowered = [place for place in start.placement if _is_lowered(place)]
        if lowered and (on_gpu := on_gpu_of(records)):
            yield found(
                Evidence(text_of(start), on_gpu), start=start, lowered=lowered, first=lowered[0]
            )


def _least(record: Record) -> float:
    return record.gpu_clock.least_MHz if record.gpu_clock else 0.0


def _is_lowered(place: Place) -> bool:
    device = place.device
    return device is not None and is_lowered(device.power_limit_W, device.default_power_limit_W)


def is_lowered(now: float | None, usual: float | None) -> bool:
    """Of power limits; what is unknown is not."""
    return now is not None and usual is not None and now < _LOWERED * usual
