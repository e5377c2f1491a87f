"""Clocks and power limits"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.base.text import format_percent, plural
from commlens.findings.finding import Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import View, on_gpu_of, text_of
from commlens.model import Place, Record

_CHANGE = 0.05
_LOWERED = 0.99  # of the default limit: drivers round

# Doctor finds the same on a machine.
POWER_CODE = "gpu-power-limit-lowered"
POWER_TITLE = "a GPU may take less power than its default"
POWER_FIX = (
    "Ask an administrator for the default, {default} W: `nvidia-smi --power-limit={default}`; "
    "or name the limit beside the results."
)


@rule(
    "gpu-clocks-changed",
    "warning",
    "the clocks of the GPUs changed between cases",
    needs="records",
    when=f"in the cases of one launch, the clocks of the GPUs right after the samples are more "
    f"than {_CHANGE:.0%} apart.",
    fix="Compare these cases with care. Lock the clock (`nvidia-smi --lock-gpu-clocks={least}`, "
    "by an administrator), or look for what lowers it: `nvidia-smi --query --display=PERFORMANCE`.",
)
def gpu_clocks_changed(view: View) -> Iterator[Observation]:
    for start, records in view.launches:
        own = [record for record in records if _least(record) > 0]
        if len(own) < 2:
            continue
        low, high = min(own, key=_least), max(own, key=_least)
        share = 1 - _least(low) / _least(high)
        if share > _CHANGE:
            limits = sorted(
                {limit for one in own if one.gpu_clock for limit in one.gpu_clock.limits}
            )
            why = f"; limited by: {', '.join(limits)}" if limits else ""
            yield Observation(
                f"GPU clocks were {_least(low):.0f} MHz after one case of {text_of(start)} and "
                f"{_least(high):.0f} MHz after another, {format_percent(share)} less{why}",
                Evidence(text_of(start), (low, high)),
                words={"least": f"{_least(low):.0f}"},
            )


@rule(
    POWER_CODE,
    "warning",
    POWER_TITLE,
    needs="records",
    when="the power limit of a rank's GPU is below the default of its kind, "
    "and the memory of a GPU was measured.",
    fix=POWER_FIX,
)
def gpu_power_limit_lowered(view: View) -> Iterator[Observation]:
    for start, records in view.launches:
        lowered = [place for place in start.placement if _is_lowered(place)]
        on_gpu = on_gpu_of(records)
        if not lowered or not on_gpu or lowered[0].device is None:
            continue
        first, device = lowered[0], lowered[0].device
        yield Observation(
            f"GPU {device.ordinal} of {first.host} ({device.name}) may take "
            f"{device.power_limit_W:.0f} W, and its default is "
            f"{device.default_power_limit_W:.0f} W; so {len(lowered)} of "
            f"{plural(start.ranks, 'rank')}",
            Evidence(text_of(start), on_gpu),
            words={"default": f"{device.default_power_limit_W:.0f}"},
        )


def _least(record: Record) -> float:
    return record.gpu_clock.least_MHz if record.gpu_clock else 0.0


def _is_lowered(place: Place) -> bool:
    device = place.device
    return device is not None and is_lowered(device.power_limit_W, device.default_power_limit_W)


def is_lowered(now: float | None, usual: float | None) -> bool:
    """Of power limits; what is unknown is not."""
    return now is not None and usual is not None and now < _LOWERED * usual
