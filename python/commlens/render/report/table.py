"""A table as a page has it: what all cells of a column have in common is said once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from commlens.render.table import Cells, Table

MOST_COLUMNS = 32  # which the page's style can name
COMMON_STYLES = ("dim", "green")
_LONG = 44  # characters
_OFTEN = 4  # times that the long texts of a column stand there


class Cell(NamedTuple):
    """A cell of the page."""

    text: str
    style: str  # words: beside those of its column


class Note(NamedTuple):
    """A long text, and the mark that stands for it."""

    mark: str
    text: str


@dataclass(frozen=True)
class PageTable:
    """`style` has `left2 dim3`, where the second column is flush left and the third is dim."""

    heads: Sequence[Sequence[str]]  # the lines of each
    style: str
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[Note]  # long texts that stand in it as marks

    @classmethod
    def of(cls, table: Table[Any], most_rows: int) -> PageTable:
        """The first rows of a table."""
        notes: dict[str, str] = {}
        style: list[str] = []
        columns = []
        for number, column in enumerate(table.columns, start=1):
            common = _common(column) if number <= MOST_COLUMNS else []
            style += [f"{word}{number}" for word in common]
            columns.append(list(_cells(column, common, most_rows, notes)))
        return cls(
            [column.head.split("\n") for column in table.columns],
            " ".join(style),
            list(zip_longest(*columns, fillvalue=Cell("", ""))),
            [Note(mark, text) for text, mark in notes.items()],
        )


def _common(column: Cells) -> list[str]:
    """The words of COMMON_STYLES that all its cells have."""
    styles = [column.style_of(row).split() for row in range(len(column.texts))]
    words = [word for word in COMMON_STYLES if all(word in style for style in styles)]
    return ["left"] * column.left + words


def _cells(
    column: Cells, common: Sequence[str], most_rows: int, notes: dict[str, str]
) -> Iterator[Cell]:
    texts = column.texts[:most_rows]
    long = [text for text in texts if len(text) > _LONG]
    is_noted = len(long) >= _OFTEN * len(set(long))
    for row, text in enumerate(texts):
        style = [*column.style_of(row).split(), *["left"] * column.left]
        style = [word for word in style if word not in common]
        style += ["again"] * column.is_again(row)
        if len(text) > _LONG and is_noted:
            text = notes.setdefault(text, f"[{len(notes) + 1}]")
        elif len(text) > _LONG:
            style.append("long")
        yield Cell(text, " ".join(style))
