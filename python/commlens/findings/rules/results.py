"""Results"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.base.text import plural
from commlens.findings.finding import Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import View, transport_name, where

_LONGEST = 300  # characters of a message


@rule(
    "wrong-results",
    "error",
    "results are wrong",
    needs="records",
    when="the validation of a record failed.",
    fix="Trust no time of this transport in this memory before the cause is known: run the case "
    "again with other transports (`--transport mpi,staged,ccl`), with the default settings of the "
    "environment, and with another version of the library.",
)
def wrong_results(view: View) -> Iterator[Observation]:
    for group in view.groups:
        failed: dict[tuple[str, str], list[int]] = {}
        for number, record in enumerate(group.records):
            if record.validation.status == "failed":
                failed.setdefault((record.transport, record.memory), []).append(number)
        for (_, memory), numbers in failed.items():
            own = tuple(group.records[number] for number in numbers)
            place = where(group, memory, own[0].variant_value, [record.size for record in own])
            message = own[0].validation.message[:_LONGEST]
            yield Observation(
                f"{transport_name(own[0])} delivered wrong results in {plural(len(own), 'case')} "
                f"({place})" + (f", first: {message.rstrip('.')}" if message else ""),
                Evidence(place, own),
            )
