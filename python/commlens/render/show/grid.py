"""Tables of any length: Rich's own take 0.8 ms per row, 80 s for 100,000 records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from commlens.base.text import printable

INDENT = 2
GAP = 2  # between columns
_AT_A_TIME = 200
Piece = tuple[str, str]  # text and its style
_END = ("\n", "")  # of a line


@dataclass(eq=False)
class Column:
    head: str  # of several lines where it has newlines
    cells: list[str]
    left: bool = False  # else flush right
    style: str = ""  # of all cells
    styles: Sequence[str] = ()  # of each cell, if they differ
    optional: bool = False  # left out where the width does not suffice
    repeats: bool = False  # an empty cell stands for the one above it

    def __post_init__(self) -> None:
        self.heads, self.width = _measured_heads(self.head)
        everything = "".join(self.cells)
        if not everything.isprintable():
            self.cells = list(map(printable, self.cells))
        measure = len if everything.isascii() else _width
        self.width = max(self.width, max(map(measure, self.cells), default=0))

    def narrowed(self) -> Column:
        """With the unit in its head on a line of its own."""
        return replace(self, head=self.head.replace(" (", "\n("))

    def style_of(self, row: int) -> str:
        return self.styles[row] if self.styles else self.style

    def filled(self, most: int) -> list[tuple[str, bool]]:
        """The first cells for those who can sort them: a cell that stands for the one above has its
        text, and is marked as such."""
        found: list[tuple[str, bool]] = []
        for cell in self.cells[:most]:
            again = self.repeats and not cell and bool(found)
            found.append((found[-1][0], True) if again else (cell, False))
        return found

    def padded(self, text: str) -> str:
        return _padded(text, self.width, self.left)


class _Heading(NamedTuple):
    """What the head of a column follows from."""

    lines: tuple[str, ...]
    width: int
    left: bool


class Grid:
    """Columns side by side under their heads."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def fitted(self, width: int) -> Grid:
        """Without those optional columns for which there is no room; the first have precedence.
        Where that does not suffice, units stand below the names of metrics."""
        room = width - INDENT + GAP
        if sum(column.width + GAP for column in self.columns) <= room:
            return self
        room -= sum(column.width + GAP for column in self.columns if not column.optional)
        kept = []
        for column in self.columns:
            if column.optional and column.width + GAP > room:
                continue
            room -= column.width + GAP if column.optional else 0
            kept.append(column)
        return Grid(kept) if room >= 0 else Grid([column.narrowed() for column in kept])

    @property
    def rows(self) -> int:
        return max((len(column.cells) for column in self.columns), default=0)

    def pieces(self) -> Iterator[Piece]:
        yield from _head(tuple(_Heading(one.heads, one.width, one.left) for one in self.columns))
        for row in range(self.rows):
            cells = (
                (column.padded(column.cells[row]), column.style_of(row)) for column in self.columns
            )
            yield from _line(cells)


class Lines:
    """Lines of pieces of text, each with its style."""

    def __init__(self, lines: Iterable[Sequence[tuple[str, str]]]) -> None:
        self.lines = list(lines)

    def pieces(self) -> Iterator[Piece]:
        for line in self.lines:
            for text, style in line:
                yield printable(text), style
            yield _END


@dataclass
class _Whole:
    """Several below each other, with an empty line before each table."""

    things: Sequence[Grid | Lines]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        if options.is_terminal:
            for text, style in self._pieces():
                yield Segment(text, _style(style))
        else:  # a file has no styles, and Rich takes its time for each segment
            yield Segment("".join(text for text, _ in self._pieces()))

    def _pieces(self) -> Iterator[Piece]:
        for thing in self.things:
            if isinstance(thing, Grid):
                yield _END
            yield from thing.pieces()


def print_whole(console: Console, things: Iterable[Grid | Lines]) -> None:
    """Prints all, with lines as long as they are.

    Many at a time: each time Rich is called, it asks for the size of the terminal again.
    """
    rest = iter(things)
    while some := list(islice(rest, _AT_A_TIME)):
        console.print(_Whole(some), crop=False, end="")


@lru_cache(maxsize=1000)
def _head(columns: tuple[_Heading, ...]) -> list[Piece]:
    """Of a hundred thousand small tables, most have one of a few heads."""
    height = max((len(column.lines) for column in columns), default=0)
    found: list[Piece] = []
    for row in range(height):
        cells = (_head_cell(column, row - height) for column in columns)
        found += _line((text, "bold") for text in cells)
    width = sum(column.width + GAP for column in columns) - GAP
    return [*found, (" " * INDENT + "─" * width, ""), _END]


def _head_cell(column: _Heading, row: int) -> str:
    """The lines of a head stand at the bottom; `row` counts from there."""
    text = column.lines[row] if -row <= len(column.lines) else ""
    return _padded(text, column.width, column.left)


@lru_cache(maxsize=1000)
def _measured_heads(head: str) -> tuple[tuple[str, ...], int]:
    """Its lines, and the width of the longest."""
    lines = tuple(map(printable, head.split("\n")))
    return lines, max(map(_width, lines))


def _padded(text: str, width: int, left: bool) -> str:
    if text.isascii():
        return text.ljust(width) if left else text.rjust(width)
    blanks = " " * (width - cell_len(text))
    return text + blanks if left else blanks + text


def _line(cells: Iterable[Piece]) -> Iterator[Piece]:
    """One line; pieces of the same style are one, and nothing follows the last."""
    pending, pending_style, gap = " " * INDENT, "", ""
    for padded, style in cells:
        text, gap = gap + padded, " " * GAP
        if style == pending_style or text.isspace():
            pending += text
            continue
        yield pending, pending_style
        pending, pending_style = text, style
    yield pending.rstrip(), pending_style
    yield _END


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


@cache
def _style(text: str) -> Style | None:
    return Style.parse(text) if text else None
