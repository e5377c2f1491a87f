"""One model of a table: columns are declared once, rows are anything, and four writers print it.

The writers are `terminal.py`, `markdown.py`, `comparison.py` (CSV and JSON) and `report/html.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Generic, TypeVar, Union

from rich.cells import cell_len

from commlens.base.text import labelled, printable

NOTHING = "-"
INDENT = 2
GAP = 2  # between columns
NARROWEST = 16  # characters of a column that is wrapped
Row = TypeVar("Row")
Line = Sequence[tuple[str, str]]  # pieces of text, each with its style
Note = Union[str, tuple[str, str]]  # a sentence, with its style if that is not `dim`


@dataclass(frozen=True, eq=False)
class Column(Generic[Row]):
    """What a table shows of each row: declared in one place, for all writers."""

    title: str | None  # of several lines where it has newlines; None: for CSV and JSON alone
    value: Callable[[Row], Any]  # None: the row has none, and `-` is printed
    unit: str = ""
    format: Callable[[Any], str] = str
    left: bool = False  # else flush right
    style: str | Callable[[Row], str] = ""
    optional: bool = False  # left out where the terminal is narrow
    wraps: bool = False  # broken into lines where the terminal is narrow
    folds: bool = False  # on a line below its row, with its title, where the terminal is narrow
    if_any: bool = False  # left out where no row has a value
    once: Callable[[Row], Hashable] | None = None  # printed where this differs from the row above
    key: str = ""  # its name in CSV and JSON, which have the value itself; empty: it is not there

    def of(self, part: Callable[[Any], Row | None]) -> Column[Any]:
        """The same column of larger rows, which have one of its rows in them, or none."""

        def within(get: Callable[[Row], Any], nothing: Any = None) -> Callable[[Any], Any]:
            return lambda row: nothing if (inner := part(row)) is None else get(inner)

        column: Column[Any] = self
        style = column.style if isinstance(column.style, str) else within(column.style, "")
        once = column.once and within(column.once)
        return replace(column, value=within(column.value), once=once, style=style)


def data(key: str, value: Callable[[Row], Any]) -> Column[Row]:
    """A column for CSV and JSON alone."""
    return Column(None, value, key=key)


class Cells:
    """A column of one table: its texts, and how wide they are."""

    def __init__(self, column: Column[Any], rows: Sequence[Any]) -> None:
        self.column, self.left = column, column.left
        self.head = labelled(column.title or "", column.unit)
        self.values = list(map(column.value, rows))
        self._rows = rows
        form = column.format
        texts = [NOTHING if value is None else form(value) for value in self.values]
        everything = "".join(texts)
        if not everything.isprintable():
            texts = list(map(printable, texts))
        self.texts = texts
        self.heads, width = measured_lines(self.head)
        measure = len if everything.isascii() else text_width
        self.width = max(width, max(map(measure, texts), default=0))

    def is_again(self, row: int) -> bool:
        """Whether the row above has said it."""
        key = self.column.once
        return key is not None and row > 0 and key(self._rows[row]) == key(self._rows[row - 1])

    def shown(self, row: int) -> str:
        """The text; empty where the row above has it."""
        return "" if self.is_again(row) else self.texts[row]

    def style_of(self, row: int) -> str:
        """Words of Rich."""
        style = self.column.style
        return style if isinstance(style, str) else style(self._rows[row])

    @property
    def least_width(self) -> int:
        """To which it may be wrapped."""
        return min(self.width, NARROWEST) if self.column.wraps else self.width

    def narrow(self, width: int | None = None) -> None:
        """Puts the unit on a line of its own, or takes this width for texts that are wrapped."""
        self.heads, least = measured_lines(self.head.replace(" (", "\n("))
        widest = max(map(text_width, self.texts), default=0) if width is None else width
        self.width = max(least, widest)


class Table(Generic[Row]):
    """Columns of rows, a title above and notes below them."""

    def __init__(
        self,
        columns: Iterable[Column[Row]],
        rows: Sequence[Row],
        title: str = "",
        subtitle: str = "",
        about: Sequence[str] = (),
        notes: Iterable[Note] = (),
    ) -> None:
        self.declared = list(columns)
        self.rows = rows
        self.title, self.subtitle, self.about = title, subtitle, about
        self.notes = [(note, "dim") if isinstance(note, str) else note for note in notes]
        shown = [Cells(column, rows) for column in self.declared if column.title is not None]
        self.folded: list[Cells] = []  # what stands below rows in a narrow terminal
        self.columns = [
            cells
            for cells in shown
            if not cells.column.if_any or any(value not in (None, "") for value in cells.values)
        ]

    @property
    def plain(self) -> list[dict[str, Any]]:
        """The rows as programs read them."""
        named = [column for column in self.declared if column.key]
        return [{column.key: column.value(row) for column in named} for row in self.rows]

    def fitted(self, width: int) -> list[str]:
        """Leaves out optional columns for which there is no room and returns their heads.

        The first have precedence. Where that does not suffice, columns that may be are folded, the
        last first; then units stand below titles, and the widest that may be wrapped are.
        """
        room = width - INDENT + GAP
        if _widths(self.columns) <= room:
            return []
        for cells in reversed([cells for cells in self.columns if cells.column.folds]):
            needed = (other for other in self.columns if not other.column.optional)
            if sum(other.least_width + GAP for other in needed) > room:
                self.columns.remove(cells)
                self.folded.insert(0, cells)
        required = (cells for cells in self.columns if not cells.column.optional)
        free = room - sum(cells.least_width + GAP for cells in required)
        kept, left_out = [], []
        for cells in self.columns:
            if cells.column.optional and cells.width + GAP > free:
                left_out.append(cells.head)
                continue
            free -= cells.width + GAP if cells.column.optional else 0
            kept.append(cells)
        self.columns = kept
        if _widths(kept) > room:
            for cells in kept:
                cells.narrow()
        for cells in sorted(kept, key=lambda cells: -cells.width):
            excess = _widths(kept) - room
            if cells.column.wraps and excess > 0:
                cells.narrow(max(cells.least_width, cells.width - excess))
        return left_out


def _widths(columns: Iterable[Cells]) -> int:
    return sum([cells.width + GAP for cells in columns])


class Lines:
    """Lines of text beside tables: pieces, each with its style."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)


Thing = Union[Table[Any], Lines]


@lru_cache(maxsize=1000)
def measured_lines(head: str) -> tuple[tuple[str, ...], int]:
    """The lines of a head, and the width of the longest."""
    lines = tuple(map(printable, head.split("\n")))
    return lines, max(map(text_width, lines))


def text_width(text: str) -> int:
    """How many characters of a terminal it takes."""
    return len(text) if text.isascii() else cell_len(text)
