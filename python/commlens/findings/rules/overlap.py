"""Overlap of communication with work."""

from __future__ import annotations

from commlens.base.text import format_percent, format_time
from commlens.findings.disturbance import is_disturbed
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Observation, Seen, found
from commlens.findings.view import View, so_in, transport_name, where
from commlens.model import Group, Record


def communication_not_hidden(view: View, hidden: float, share: float) -> Seen:
    """Less than `hidden` of the shorter streams is, and it costs more than `share`."""
    for group in view.groups:
        exposed: dict[tuple[str, str], list[Record]] = {}
        for record in group.records:
            if record.parts and group.ranks > 1 and _is_exposed(record, hidden, share):
                exposed.setdefault((record.transport, record.memory), []).append(record)
        for records in exposed.values():
            if not is_disturbed(records[0]):
                yield _observation(group, sorted(records, key=_share, reverse=True))


def _observation(group: Group, records: list[Record]) -> Observation:
    """`records`: of one transport, the worst first."""
    worst = records[0]
    together, ideal = worst.together_s or 0.0, worst.ideal_s or 0.0
    hidden = worst.hidden.median if worst.hidden else 0.0
    streams = sorted(worst.alone_s.items(), key=lambda item: -item[1])
    place = where(group, worst.memory, worst.variant_value, [worst.size])
    return found(
        Evidence(place, tuple(records)),
        Cost(together - ideal, _share(worst), "operation"),
        which="ccl" if worst.transport == "ccl" else "MPI",
        transport=transport_name(worst),
        amount=format_percent(hidden) if hidden > 0 else "nothing",
        place=place,
        others=so_in(records),
        alone=" and ".join(f"{name} {format_time(time)}" for name, time in streams[:2]),
        together=together,
    )


def _share(record: Record) -> float:
    """Of the time, what perfect overlap would save."""
    return 1 - (record.ideal_s or 0.0) / (record.together_s or 1.0)


def _is_exposed(record: Record, most: float, share: float) -> bool:
    """Where it was asked for: `overlap` off is a measurement without it."""
    hidden, together, ideal = record.hidden, record.together_s, record.ideal_s
    if hidden is None or hidden.ci_high is None or not together or not ideal:
        return False
    if not record.measured or record.parameters.get("overlap") is False:
        return False
    return hidden.ci_high < most and together > ideal * (1 + share)
