"""Tables of any length: Rich's own take 0.8 ms per row, 80 s for 100,000 records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.segment import Segment
from rich.style import Style

INDENT = 2
GAP = 2  # between columns


@dataclass
class Column:
    head: str  # of several lines where it has newlines
    cells: list[str]
    left: bool = False  # else flush right
    style: str = ""  # of all cells
    styles: Sequence[str] = ()  # of each cell, if they differ
    optional: bool = False  # left out where the width does not suffice

    @cached_property
    def width(self) -> int:
        return max(max(map(_width, self.cells), default=0), *map(_width, self.head.split("\n")))

    def style_of(self, row: int) -> str:
        return self.styles[row] if self.styles else self.style

    def padded(self, text: str) -> str:
        blanks = " " * (self.width - _width(text))
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
        heads = [column.head.split("\n") for column in self.columns]
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


def print_whole(console: Console, *things: Grid | Lines) -> None:
    """Prints each, with lines as long as they are, and an empty line before it if it is a table."""
    for thing in things:
        if isinstance(thing, Grid):
            console.print()
        console.print(thing, crop=False)


def printable(text: str) -> str:
    """Without what could steer a terminal: a record may come from anywhere."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else "?" for one in text)


def _line(cells: Iterable[tuple[Column, str, str]]) -> Iterator[Segment]:
    """One line; pieces of the same style are one, and nothing follows the last."""
    pending, pending_style, gap = " " * INDENT, "", ""
    for column, text, style in cells:
        padded = gap + column.padded(printable(text))
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
