"""One table model and its writers."""

from __future__ import annotations

import csv
import io
import json
import runpy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commlens.compare import Side, judge, match
from commlens.render.comparison import COLUMNS, FORMATS, Comparison
from commlens.render.markdown import section, table_lines
from commlens.render.report.html import PageTable
from commlens.render.table import Column, Lines, Table, Thing, data
from commlens.render.terminal import print_things
from record_helpers import parsed
from sample_records import make_record


@dataclass
class Fruit:
    name: str
    grams: float | None
    note: str = ""


NAME = Column[Fruit]("name\nof it", lambda fruit: fruit.name, left=True, key="name")
WEIGHT = Column[Fruit]("weight", lambda fruit: fruit.grams, "g", "{:.1f}".format, key="grams")
NOTE = Column[Fruit]("", lambda fruit: fruit.note, left=True, if_any=True, wraps=True)
FRUIT = [Fruit("fig", 40.0), Fruit("watermelon", 2500.0), Fruit("unknown", None)]


def printed(*things: Thing, width: int = 40, color: bool = False) -> str:
    text = io.StringIO()
    system = "standard" if color else None
    console = Console(file=text, width=width, height=25, force_terminal=color, color_system=system)
    print_things(console, things)
    return text.getvalue()


def column(title: str, *texts: str, **declared: Any) -> Column[int]:
    return Column(title, texts.__getitem__, **declared)


def test_columns_are_flush_and_as_wide_as_their_longest_text() -> None:
    assert printed(Table([NAME, WEIGHT, NOTE], FRUIT)).split("\n") == [
        "",
        "  name",
        "  of it       weight (g)",
        "  ──────────────────────",
        "  fig               40.0",
        "  watermelon      2500.0",
        "  unknown              -",
        "",
    ]


def test_wide_characters_take_their_room() -> None:
    table = Table([column("x", "日本", "a", left=True), column("y", "1", "2")], range(2))
    assert printed(table).split("\n")[3:5] == ["  日本  1", "  a     2"]


def test_a_title_stands_above_and_notes_below() -> None:
    table = Table([WEIGHT], FRUIT[:1], "fruit", "fresh", about=["each"], notes=[("!", "red"), "w"])
    assert printed(table).split("\n") == [
        "fruit  fresh", "  each", "", "  weight (g)", "  ──────────", "        40.0", "  !", "  w",
        "", "",
    ]  # fmt: skip
    assert printed(Table([WEIGHT], [], "none")) == "none\n\n", "no head without rows"


def test_a_column_without_values_may_be_left_out() -> None:
    assert len(Table([NAME, NOTE], FRUIT).columns) == 1
    assert len(Table([NAME, NOTE], [Fruit("fig", 1.0, "ripe")]).columns) == 2


def test_texts_of_the_row_above_are_not_repeated() -> None:
    size = Column[int]("size", lambda row: row // 2, once=lambda row: row // 2)
    table = Table([size, column("n", "a", "b", "c")], range(3))
    assert [line.split() for line in printed(table).split("\n")[3:6]] == [
        ["0", "a"],
        ["b"],
        ["1", "c"],
    ]
    assert list(table_lines(table))[2:] == ["| 0 | a |", "| 0 | b |", "| 1 | c |"], "to be sorted"


def test_optional_columns_are_left_out_where_there_is_no_room() -> None:
    columns = [
        column("always", "1"),
        column("first", "1", optional=True),
        column("second", "1", optional=True),
    ]
    left_out = {width: Table(columns, range(1)).fitted(width) for width in (5, 14, 15, 22, 23)}
    assert left_out == {
        5: ["first", "second"],
        14: ["first", "second"],
        15: ["second"],
        22: ["second"],
        23: [],
    }


def test_units_stand_below_titles_where_there_is_no_room() -> None:
    table = Table([WEIGHT], FRUIT)
    assert table.fitted(11) == [] and table.columns[0].heads == ("weight", "(g)")


def test_long_texts_are_wrapped_on_a_terminal_and_whole_in_a_file() -> None:
    words = "a text of many words " * 4
    table = Table([WEIGHT, NOTE], [Fruit("fig", 40.0, words)])
    assert words.strip() in printed(table, width=40)
    lines = printed(table, width=40, color=True).split("\n")
    assert max(map(len, lines)) < 60 and sum("words" in line for line in lines) > 2


def test_optional_columns_are_left_out_before_a_text_is_too_narrow_to_read() -> None:
    table = Table([NOTE, replace(WEIGHT, optional=True)], [Fruit("fig", 40.0, "word " * 40)])
    lines = printed(table, width=28, color=True).split("\n")
    assert "weight" not in lines[1] and max(len(line) for line in lines[3:]) <= 28


def test_lines_are_not_cut_at_the_width() -> None:
    assert printed(Lines([[("x" * 90, "")]]), width=40) == "x" * 90 + "\n"
    assert "y" * 90 in printed(Table([column("head", "y" * 90)], range(1)), width=40)


def test_styles_reach_the_terminal_alone() -> None:
    lines = Lines([[("failed", "bold red"), (": why", "")]])
    assert printed(lines) == "failed: why\n"
    assert printed(lines, color=True) == "\x1b[1;31mfailed\x1b[0m: why\n"
    styles = ("green", "")
    table = Table([column("check", "passed", "off", left=True, style=styles.__getitem__)], range(2))
    assert "\x1b[32mpassed\x1b[0m\n  off\n" in printed(table, color=True)


def test_csv_and_json_have_the_values_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table([NAME, WEIGHT, NOTE, data("length", lambda fruit: len(fruit.name))], FRUIT)
    Comparison([table, table]).print_as("csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 6 and rows[1] == {"name": "watermelon", "grams": "2500.0", "length": "10"}
    Comparison([table]).print_as("json")
    assert json.loads(capsys.readouterr().out)["cases"][2] == {
        "name": "unknown", "grams": None, "length": 7
    }  # fmt: skip


def test_markdown_has_the_title_the_rows_and_the_notes() -> None:
    table = Table([NAME, WEIGHT], FRUIT[:1], "fruit", notes=["a note"])
    assert list(section(table)) == [
        "### fruit", "", "| name of it | weight (g) |", "| :-- | --: |", "| fig | 40.0 |", "",
        "- a note", "",
    ]  # fmt: skip
    assert list(section(Lines([[("  sum", "bold")], [("x*", "")]]))) == ["**sum**", "x\\*"]


EXAMPLE = Path(__file__).parents[2] / "examples" / "column.py"


def test_the_column_of_contributing_is_in_all_formats(capsys: pytest.CaptureFixture[str]) -> None:
    column = runpy.run_path(str(EXAMPLE))["SAMPLES"]
    sides = [Side(name, parsed(make_record(start=name))) for name in ("before", "after")]
    matched = match(*sides)
    table = Table((*COLUMNS, column), judge([matched]).rows, "after")
    for form in FORMATS:
        Comparison([table]).print_as(form)
        assert "samples" in capsys.readouterr().out, form
    assert PageTable.of(table, 10).heads[-1] == ["samples"]
    assert table.columns[-1].texts == ["20"], "10 of each side"


def test_a_column_of_a_part_of_the_row() -> None:
    styled = replace(NAME, style=lambda fruit: fruit.note, once=lambda fruit: fruit.name)
    owned = styled.of(lambda owner: owner[0])
    table = Table([owned], [(Fruit("fig", 1.0, "red"), "me"), (Fruit("fig", 2.0), "you")])
    (cells,) = table.columns
    assert cells.texts == ["fig", "fig"] and cells.shown(1) == "" and cells.style_of(0) == "red"


def test_a_page_has_the_same_texts() -> None:
    page = PageTable.of(Table([NAME, WEIGHT], FRUIT), 2)
    assert page.heads == [["name", "of it"], ["weight (g)"]]
    assert [[cell.text for cell in row] for row in page.rows] == [
        ["fig", "40.0"], ["watermelon", "2500.0"],
    ]  # fmt: skip
