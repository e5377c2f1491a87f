"""Tables of any length, in time that grows with their length."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from commlens.model import Record
from commlens.render import show
from record_helpers import parsed
from report_helpers import calls_of
from sample_records import make_record


def asked_of(records: list[Record], monkeypatch: pytest.MonkeyPatch) -> int:
    """How often tables of the records ask for a main metric."""
    asked = 0
    real = vars(Record)["main"].fget

    def counting(record: Record) -> object:
        nonlocal asked
        asked += 1
        return real(record)

    with monkeypatch.context() as patch:
        patch.setattr(Record, "main", property(counting))
        show.show(records, Console(file=io.StringIO(), width=160))
    return asked


def test_the_work_of_a_table_grows_with_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not with their square: counted in a property that a table asks of each record."""

    def work(sizes: int) -> int:
        both = ("mpi", "ccl")
        texts = [make_record(bytes=n + 1, transport=name) for n in range(sizes) for name in both]
        return asked_of(parsed(*texts), monkeypatch)

    assert 100 < work(50) < work(200) < 4.2 * work(50)


def test_a_record_with_a_separate_table_takes_few_calls() -> None:
    """100,000 of them are shown in seconds, which a test cannot time; it counts calls instead."""

    def calls(count: int) -> int:
        cases = [make_record(parameters={"bytes": 8, "pairs": pairs}, start="one")
                 for pairs in range(count)]  # fmt: skip
        records = parsed(*cases)
        return calls_of(show.show, records, Console(file=io.StringIO(), width=160))

    calls(10)  # what is done once
    assert (calls(300) - calls(100)) / 200 < 700
