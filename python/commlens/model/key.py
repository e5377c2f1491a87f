"""The key of a case, which follows from the roles that a benchmark declares for its parameters."""

from __future__ import annotations

from typing import NamedTuple

from commlens.model.record import Record, option_text


class CaseKey(NamedTuple):
    """What makes two records records of one case."""

    benchmark: str
    backend: str
    ranks: int
    nodes: int
    timing: str
    memory: str
    transport: str
    parameters: tuple[tuple[str, str], ...]  # those of role size, setting or variant, by name


def case_key(record: Record) -> CaseKey:
    own = record.parameters
    parameters = [
        (name, option_text(own[name])) for name in record.start.case_parameters if name in own
    ]
    return CaseKey(
        record.benchmark,
        record.start.backend,
        record.ranks,
        record.start.nodes,
        record.harness.timing,
        record.memory,
        record.transport,
        tuple(parameters),
    )
