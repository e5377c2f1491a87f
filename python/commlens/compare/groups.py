"""Groups inside one set of records: by transport, memory, host, a parameter, a variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from commlens.base.errors import CommlensError
from commlens.compare.matching import KeyOf, Side
from commlens.model import CaseKey, Record, case_key, merged_transports, option_text

_UNSET = "not set"
# Its value in a record, and the fields of a case's key that follow from it.
_FIELDS: dict[str, tuple[Callable[[Record], str], dict[str, Any]]] = {
    "transport": (lambda record: record.transport, {"transport": ""}),
    "memory": (lambda record: record.memory, {"memory": ""}),
    "host": (lambda record: record.start.host, {}),
    "ranks": (lambda record: str(record.ranks), {"ranks": 0, "nodes": 0}),
}


def split(records: Sequence[Record], by: str) -> tuple[list[Side], KeyOf]:
    """A side for each value, the first of which is the baseline, and the key without it.

    Raises CommlensError where there are not two values.
    """
    value_of, key_of = _parts(records, by)
    found: dict[str, list[Record]] = {}
    if by == "transport":
        found = {name: [] for name in merged_transports(records)}
    for record in records:
        value = value_of(record)
        if value is not None:
            found.setdefault(value, []).append(record)
    measured = [
        Side(value, own) for value, own in found.items() if any(one.measured for one in own)
    ]
    if len(measured) < 2:
        have = f"all that was measured has {by} {measured[0].name}" if measured else "none has it"
        raise CommlensError(f"--by {by}: {have}; name what differs between these records")
    return measured, key_of


def _parts(records: Sequence[Record], by: str) -> tuple[Callable[[Record], str | None], KeyOf]:
    if by in _FIELDS:
        value, changes = _FIELDS[by]
        return value, lambda record: case_key(record)._replace(**changes)
    parameters = {
        word: name
        for record in records
        for name, parameter in record.start.parameters.items()
        for word in (name, parameter.title)
    }
    if by in parameters:
        return _by_parameter(parameters[by])
    if any(by in record.start.environment for record in records):
        return lambda record: record.start.environment.get(by, _UNSET), case_key
    variables = sorted({name for record in records for name in record.start.environment})
    known = [*_FIELDS, *dict.fromkeys(parameters.values())]
    raise CommlensError(
        f"--by {by[:80]}: the records have none; there are {', '.join([*known, *variables])}"
    )


def _by_parameter(name: str) -> tuple[Callable[[Record], str | None], KeyOf]:
    def value_of(record: Record) -> str | None:
        return option_text(record.parameters[name]) if name in record.parameters else None

    def key_of(record: Record) -> CaseKey:
        key = case_key(record)
        others = tuple((own, text) for own, text in key.parameters if own != name)
        return key._replace(parameters=others)

    return value_of, key_of
