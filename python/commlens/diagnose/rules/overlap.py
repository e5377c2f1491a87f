"""Overlap"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.diagnose.finding import Cost, Evidence
from commlens.diagnose.rule import Observation, rule
from commlens.diagnose.view import View, is_disturbed, transport_name, where
from commlens.records import Record
from commlens.text import format_percent, format_time

_HIDDEN = 0.5
_LEAST_SHARE = 0.03  # of the time: what costs less is not worth a change


@rule(
    "communication-not-hidden",
    "warning",
    "communication is not hidden although it could be",
    speaks=f"less than {_HIDDEN:.0%} of the shorter streams is hidden behind the longest one, with "
    f"the whole interval, and the whole takes {_LEAST_SHARE:.0%} longer than that stream alone.",
    cure="{cure}",
)
def communication_not_hidden(view: View) -> Iterator[Observation]:
    for group in view.groups:
        for record in group.records:
            if not record.measured or not _is_exposed(record) or is_disturbed(record):
                continue
            together, ideal = record.together_s or 0.0, record.ideal_s or 0.0
            place = where(group, record.memory, record.variant_value, [record.size])
            hidden = record.hidden.median if record.hidden else 0.0
            streams = sorted(record.alone_s.items(), key=lambda item: -item[1])
            parts = " and ".join(f"{name} {format_time(time)}" for name, time in streams[:2])
            amount = (
                f"{format_percent(hidden)} of the shorter stream is hidden"
                if hidden > 0
                else "nothing of the shorter stream is hidden"
            )
            yield Observation(
                f"Over {transport_name(record)} {amount} ({place}): alone {parts}, together "
                f"{format_time(together)}",
                Evidence(place, (record,)),
                Cost(together - ideal, 1 - ideal / together, "operation"),
                {"cure": _cure(record)},
            )


def _is_exposed(record: Record) -> bool:
    hidden, together, ideal = record.hidden, record.together_s, record.ideal_s
    if hidden is None or hidden.ci_high is None or not together or not ideal:
        return False
    return hidden.ci_high < _HIDDEN and together > ideal * (1 + _LEAST_SHARE)


def _cure(record: Record) -> str:
    if record.parameters.get("overlap") is False:
        return "It was run with `--no-overlap`: leave that out."
    if record.transport == "ccl":
        return (
            "The library's kernels wait for a place on the GPU: give the communication's stream a "
            "high priority, take fewer and larger messages, and try `NCCL_MAX_CTAS=4`."
        )
    return (
        "MPI moves data only while the program is in one of its calls: try a progress thread "
        "(`MPICH_ASYNC_PROGRESS=1`, `I_MPI_ASYNC_PROGRESS=1`), call MPI_Test between the pieces of "
        "work, or another transport (`--transport mpi,staged,ccl`)."
    )
