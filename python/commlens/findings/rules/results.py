"""Results that are wrong."""

from __future__ import annotations

from commlens.findings.finding import Evidence
from commlens.findings.rule import Seen, found
from commlens.findings.view import View, transport_name, where
from commlens.model import Record

_LONGEST = 300  # characters of a message


def wrong_results(view: View) -> Seen:
    for group in view.groups:
        failed: dict[tuple[str, str], list[Record]] = {}
        for record in group.records:
            if record.validation.status == "failed":
                failed.setdefault((record.transport, record.memory), []).append(record)
        for (_, memory), own in failed.items():
            first = own[0]
            place = where(group, memory, first.variant_value, [record.size for record in own])
            message = first.validation.message[:_LONGEST].rstrip(".")
            yield found(
                Evidence(place, tuple(own)),
                transport=transport_name(first),
                cases=own,
                place=place,
                first=f", first: {message}" if message else "",
            )
