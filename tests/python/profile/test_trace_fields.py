"""The recorder of traces and the replay take the fields of a call for the same."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SRC = Path(__file__).resolve().parents[3] / "src"
LETTERS = {
    "send_buffer": "b", "receive_buffer": "b", "send_tag": "t", "receive_tag": "t", "dest": "r",
    "source": "r", "root": "r", "send_count": "n", "receive_count": "n", "both_count": "n",
    "send_type": "T", "receive_type": "T", "both_type": "T", "send_counts": "a",
    "receive_counts": "a", "send_displacements": "a", "receive_displacements": "a",
    "send_types": "y", "receive_types": "y", "operation": "o", "communicator": "cF",
    "second_communicator": "c", "made_communicator": "C", "group": "g", "number": "nkrt",
    "array": "a", "ignored": "nb", "request": "q", "requests": "s", "made_request": "Q",
    "message": "m", "made_message": "M", "flag": "f", "index": "i", "indices": "I",
}  # fmt: skip


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, dict[str, Any]]]:
    monkeypatch.syspath_prepend(SRC / "profile")
    import trace_fields

    yield trace_fields, runpy.run_path(str(SRC / "benchmarks/replay/generate.py"))
    for name in ("trace_fields", "function_table", "operands"):
        sys.modules.pop(name, None)


def test_what_is_recorded_is_replayed(modules: tuple[Any, dict[str, Any]]) -> None:
    trace_fields, generate = modules
    functions = sys.modules["function_table"].read_tables(SRC / "profile/functions")
    known = {own.name: own for own in filter(None, map(generate["replayed"], functions))}
    assert len(known) > 150
    for function in functions:
        letters = trace_fields.letters(function)
        if function.name not in known:
            continue
        own = known[function.name]
        roles = [field.role for field in own.fields if field.role]
        roles += [own.last_role] if own.last_role else []
        assert len(roles) == len(letters), function.name
        for role, letter in zip(roles, letters):
            assert letter in LETTERS[role], (function.name, role, letter)
    recorded = {own.name for own in functions if trace_fields.letters(own)}
    assert recorded <= set(known)
