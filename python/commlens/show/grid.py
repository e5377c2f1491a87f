"""Tables of any length: Rich's own take 0.8 ms per row, 80 s for 100,000 records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

from commlens.text import printable

INDENT = 2
GAP = 2  # between columns
_AT_A_TIME = 200


@dataclass(eq=False)
class Column:
    head: str  # of several lines where it has newlines
    cells: list[str]
    left: bool = False  # else flush right
    style: str = ""  # of all cells
    styles: Sequence[str] = ()  # of each cell, if they differ
    optional: bool = False  # left out where the width does not suffice

    def __post_init__(self) -> None:
        self.heads = list(map(printable, self.head.split("\n")))
        everything = "".join((*self.heads, *self.cells))
        if not everything.isprintable():
            self.cells = list(map(printable, self.cells))
        measure = len if everything.isascii() else _width
        self.width = max(map(measure, (*self.heads, *self.cells)))

    def style_of(self, row: int) -> str:
        return self.styles[row] if self.styles else self.style

    def padded(self, text: str) -> str:
        if text.isascii():
            return text.ljust(self.width) if self.left else text.rjust(self.width)
        blanks = " " * (self.width - cell_len(text))
        return text + blanks if self.left else blanks + text


class Grid:
    """Columns side by side under their heads."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def fitted(self, width: int) -> Grid:
        """Without those optional columns for which there is no room; the first have precedence."""
        room = width - INDENT + GAP
        room -= sum(column.width + GAP for column in self.columns if not column.optional)
        kept = []
        for column in self.columns:
            if column.optional and column.width + GAP > room:
                continue
            room -= column.width + GAP if column.optional else 0
            kept.append(column)
        return Grid(kept)

    @property
    def rows(self) -> int:
        return max((len(column.cells) for column in self.columns), default=0)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        yield from self._head()
        for row in range(self.rows):
            cells = ((column, column.cells[row], column.style_of(row)) for column in self.columns)
            yield from _line(cells)

    def _head(self) -> Iterator[Segment]:
        heads = [column.heads for column in self.columns]
        height = max(map(len, heads), default=0)
        padded = [[""] * (height - len(head)) + head for head in heads]
        for line in zip(*padded):
            yield from _line((column, text, "bold") for column, text in zip(self.columns, line))
        width = sum(column.width + GAP for column in self.columns) - GAP
        yield Segment(" " * INDENT + "─" * width)
        yield Segment.line()


class Lines:
    """Lines of pieces of text, each with its style."""

    def __init__(self, lines: Iterable[Sequence[tuple[str, str]]]) -> None:
        self.lines = list(lines)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in self.lines:
            for text, style in line:
                yield Segment(printable(text), _style(style))
            yield Segment.line()


@dataclass
class _Whole:
    """Several below each other, with an empty line before each table."""

    things: Sequence[Grid | Lines]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        if options.is_terminal:
            yield from self._segments(console, options)
        else:  # a file has no styles, and Rich takes its time for each segment
            yield Segment("".join(one.text for one in self._segments(console, options)))

    def _segments(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for thing in self.things:
            if isinstance(thing, Grid):
                yield Segment.line()
            yield from thing.__rich_console__(console, options)


def print_whole(console: Console, things: Iterable[Grid | Lines]) -> None:
    """Prints all, with lines as long as they are.

    Many at a time: each time Rich is called, it asks for the size of the terminal again.
    """
    rest = iter(things)
    while some := list(islice(rest, _AT_A_TIME)):
        console.print(_Whole(some), crop=False, end="")


def _line(cells: Iterable[tuple[Column, str, str]]) -> Iterator[Segment]:
    """One line; pieces of the same style are one, and nothing follows the last."""
    pending, pending_style, gap = " " * INDENT, "", ""
    for column, text, style in cells:
        padded = gap + column.padded(text)
        gap = " " * GAP
        if style == pending_style or not text:
            pending += padded
            continue
        yield Segment(pending, _style(pending_style))
        pending, pending_style = padded, style
    yield Segment(pending.rstrip(), _style(pending_style))
    yield Segment.line()


def _width(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


@cache
def _style(text: str) -> Style | None:
    return Style.parse(text) if text else None
