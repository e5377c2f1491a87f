"""The names of cases: what they measure, and what sets them apart from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from commlens.base.text import format_bytes, format_count, memory_name, plural
from commlens.model import CaseKey, Record
from commlens.model.record import BYTES

_ALWAYS = ("case", "transport", "memory")


class CaseId(NamedTuple):
    """A case of a comparison."""

    key: CaseKey
    settings: tuple[tuple[str, str], ...]  # of the environment, as far as they differ within a side


_Key = TypeVar("_Key", CaseId, CaseKey)


def case_names(cases: Mapping[_Key, Sequence[Record]]) -> dict[_Key, str]:
    """`latency 64 KiB, mpi, host`: and of the rest what differs between the cases."""
    described = {case: _description(case, own[0]) for case, own in cases.items()}
    values: dict[str, set[str]] = {}
    for description in described.values():
        for name, text in description.items():
            values.setdefault(name, set()).add(text)
    lacking = {
        name
        for name in values
        if any(name not in description for description in described.values())
    }
    kept = {
        name
        for name, texts in values.items()
        if name in _ALWAYS or len(texts) > 1 or name in lacking
    }
    return {
        case: ", ".join(text for name, text in description.items() if name in kept and text)
        for case, description in described.items()
    }


def _description(case: CaseId | CaseKey, record: Record) -> dict[str, str]:
    key, settings = (case.key, case.settings) if isinstance(case, CaseId) else (case, ())
    size, declared = record.size_parameter, record.start.parameters
    words = {"case": key.benchmark, "transport": key.transport, "memory": memory_name(key.memory)}
    if size is not None and size.name in dict(key.parameters):
        words["case"] += f" {_size_text(record)}"
    words["backend"], words["timing"] = key.backend, f"timing {key.timing}"
    words["ranks"], words["nodes"] = plural(key.ranks, "rank"), plural(key.nodes, "node")
    for name, value in key.parameters:
        if size is None or name != size.name:
            words[f"parameter {name}"] = f"{declared[name].title} {value}"
    return words | {f"setting {name}": f"{name}={value}" for name, value in settings}


def _size_text(record: Record) -> str:
    parameter, size = record.size_parameter, record.size
    assert parameter is not None
    assert size is not None
    if parameter.unit == BYTES:
        return format_bytes(size)
    return f"{parameter.title} {format_count(size)} {parameter.unit}".strip()
