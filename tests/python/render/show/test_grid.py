"""Tables of any length, in time that grows with their length."""

from __future__ import annotations

import cProfile
import io
import pstats

import pytest
from rich.console import Console

from commlens.model import Record
from commlens.render import show
from commlens.render.show.grid import Column, Grid, Lines, print_whole
from record_helpers import parsed
from sample_records import make_record


def printed(*things: Grid | Lines, width: int = 40, color: bool = False) -> str:
    text = io.StringIO()
    console = Console(
        file=text, width=width, force_terminal=color, color_system="standard" if color else None
    )
    print_whole(console, things)
    return text.getvalue()


def test_columns_are_flush_and_as_wide_as_their_longest_text() -> None:
    names = Column("name\nof it", ["a", "long name"], left=True)
    numbers = Column("n", ["1", "1234"])
    assert printed(Grid([names, numbers])).split("\n") == [
        "",
        "  name",
        "  of it         n",
        "  ───────────────",
        "  a             1",
        "  long name  1234",
        "",
    ]


def test_wide_characters_take_their_room() -> None:
    grid = Grid([Column("x", ["日本", "a"], left=True), Column("y", ["1", "2"])])
    assert printed(grid).split("\n")[3:5] == ["  日本  1", "  a     2"]


def test_optional_columns_are_left_out_where_there_is_no_room() -> None:
    columns = [
        Column("always", ["1"]),
        Column("first", ["1"], optional=True),
        Column("second", ["1"], optional=True),
    ]
    heads = {
        width: [column.head for column in Grid(columns).fitted(width).columns]
        for width in (5, 14, 15, 22, 23)
    }
    assert heads == {
        5: ["always"],
        14: ["always"],
        15: ["always", "first"],
        22: ["always", "first"],
        23: ["always", "first", "second"],
    }


def test_lines_are_not_cut_at_the_width() -> None:
    assert printed(Lines([[("x" * 90, "")]]), width=40) == "x" * 90 + "\n"
    assert "y" * 90 in printed(Grid([Column("head", ["y" * 90])]), width=40)


def test_styles_reach_the_terminal_alone() -> None:
    lines = Lines([[("failed", "bold red"), (": why", "")]])
    assert printed(lines) == "failed: why\n"
    assert printed(lines, color=True) == "\x1b[1;31mfailed\x1b[0m: why\n"
    grid = Grid([Column("check", ["passed", "off"], left=True, styles=["green", ""])])
    assert "\x1b[32mpassed\x1b[0m\n  off\n" in printed(grid, color=True)


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


def test_a_record_with_a_table_of_its_own_takes_few_calls() -> None:
    """100,000 of them are shown in seconds, which a test cannot time; it counts calls instead."""

    def calls(count: int) -> int:
        cases = [make_record(parameters={"bytes": 8, "pairs": pairs}, start="one")
                 for pairs in range(count)]  # fmt: skip
        records = parsed(*cases)
        profile = cProfile.Profile()
        profile.runcall(show.show, records, Console(file=io.StringIO(), width=160))
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    calls(10)  # what is done once
    assert (calls(300) - calls(100)) / 200 < 640
