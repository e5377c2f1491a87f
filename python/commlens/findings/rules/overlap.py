"""Overlap"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.base.text import format_percent, format_time, plural
from commlens.findings.disturbance import is_disturbed
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import View, transport_name, where
from commlens.model import Group, Record

_HIDDEN = 0.5
_LEAST_SHARE = 0.03  # of the time: what costs less is not worth a change
_LOOK = "Look in the timeline (`commlens plot`) when each stream works. "
_NOTHING = "Where the steps are shorter than their launches and waits, there is nothing to win."


@rule(
    "communication-not-hidden",
    "warning",
    "communication is not hidden although it could be",
    needs="records",
    when=f"less than {_HIDDEN:.0%} of the shorter streams is hidden behind the longest one, with "
    f"the whole interval, and the whole takes {_LEAST_SHARE:.0%} longer than that stream alone.",
    fix={
        "ccl": f"{_LOOK}Where the library's kernels wait for a place on the GPU: a stream of high "
        f"priority, fewer and larger messages, `NCCL_MAX_CTAS=4`. {_NOTHING}",
        "MPI": f"{_LOOK}Where messages move only within MPI's calls: a progress thread "
        "(`MPICH_ASYNC_PROGRESS=1`, `I_MPI_ASYNC_PROGRESS=1`), or MPI_Test between pieces of work. "
        f"{_NOTHING}",
    },
)
def communication_not_hidden(view: View) -> Iterator[Observation]:
    for group in view.groups:
        found: dict[tuple[str, str], list[Record]] = {}
        for record in group.records:
            if record.parts and group.ranks > 1 and _is_exposed(record):
                found.setdefault((record.transport, record.memory), []).append(record)
        for records in found.values():
            if not is_disturbed(records[0]):
                yield _observation(group, sorted(records, key=_share, reverse=True))


def _observation(group: Group, records: list[Record]) -> Observation:
    """`records`: of one transport, the worst first."""
    worst = records[0]
    together, ideal = worst.together_s or 0.0, worst.ideal_s or 0.0
    hidden = worst.hidden.median if worst.hidden else 0.0
    streams = sorted(worst.alone_s.items(), key=lambda item: -item[1])
    alone = " and ".join(f"{name} {format_time(time)}" for name, time in streams[:2])
    amount = format_percent(hidden) if hidden > 0 else "nothing"
    others = f"; so in {plural(len(records), 'record')}" if len(records) > 1 else ""
    place = where(group, worst.memory, worst.variant_value, [worst.size])
    return Observation(
        f"Over {transport_name(worst)} {amount} of the shorter stream is hidden ({place}{others}): "
        f"alone {alone}, together {format_time(together)}",
        Evidence(place, tuple(records)),
        Cost(together - ideal, _share(worst), "operation"),
        kind="ccl" if worst.transport == "ccl" else "MPI",
    )


def _share(record: Record) -> float:
    """Of the time, what perfect overlap would save."""
    return 1 - (record.ideal_s or 0.0) / (record.together_s or 1.0)


def _is_exposed(record: Record) -> bool:
    """Where it was asked for: `overlap` off is a measurement without it."""
    hidden, together, ideal = record.hidden, record.together_s, record.ideal_s
    if hidden is None or hidden.ci_high is None or not together or not ideal:
        return False
    if not record.measured or record.parameters.get("overlap") is False:
        return False
    return hidden.ci_high < _HIDDEN and together > ideal * (1 + _LEAST_SHARE)
