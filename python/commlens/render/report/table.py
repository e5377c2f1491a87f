"""A table as a page has it: what all cells of a column have in common is said once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple

from commlens.render.table import Cells, Table

MOST_COLUMNS = 32  # which the page's style can name
COMMON_STYLES = ("left", "dim", "green")
_LONG = 44  # characters
_OFTEN = 4  # times that the long texts of a column stand there


class Cell(NamedTuple):
    """A cell of the page."""

    text: str
    style: str  # words: beside those of its column


@dataclass(frozen=True)
class PageTable:
    """`style` has `left2 dim3`, where the second column is flush left and the third is dim."""

    heads: Sequence[Sequence[str]]  # the lines of each
    style: str
    rows: Sequence[Sequence[Cell]]
    notes: Mapping[str, str]  # the marks that stand in it for long texts, by these

    @classmethod
    def of(cls, table: Table[Any], most_rows: int) -> PageTable:
        """The first rows of a table."""
        notes: dict[str, str] = {}
        style: list[str] = []
        columns = []
        for number, column in enumerate(table.columns, start=1):
            styles = [_words(column, row) for row in range(len(column.texts))]
            common = [word for word in COMMON_STYLES if all(word in words for words in styles)]
            common = common if number <= MOST_COLUMNS else []
            style += [f"{word}{number}" for word in common]
            own = [[word for word in words if word not in common] for words in styles[:most_rows]]
            columns.append(list(_cells(column, own, notes)))
        heads = [column.head.split("\n") for column in table.columns]
        rows = list(zip_longest(*columns, fillvalue=Cell("", "")))
        return cls(heads, " ".join(style), rows, notes)


def _words(column: Cells, row: int) -> list[str]:
    return [*column.style_of(row).split(), *["left"] * column.left]


def _cells(column: Cells, styles: Sequence[list[str]], notes: dict[str, str]) -> Iterator[Cell]:
    long = [text for text in column.texts[: len(styles)] if len(text) > _LONG]
    is_noted = len(long) >= _OFTEN * len(set(long))
    for row, (text, style) in enumerate(zip(column.texts, styles)):
        style = [*style, *["again"] * column.is_again(row)]
        if len(text) > _LONG and is_noted:
            text = notes.setdefault(text, f"[{len(notes) + 1}]")
        elif len(text) > _LONG:
            style.append("long")
        yield Cell(text, " ".join(style))
