"""Tables on a terminal, of any length: Rich's own take 0.8 ms per row, 80 s for 100,000 records."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from commlens.base.terminal import has_columns
from commlens.base.text import printable
from commlens.render.table import GAP, INDENT, NARROWEST, NOTHING, Cells, Table, Thing

_AT_A_TIME = 200
_Piece = tuple[str, str]  # text and its style
_END = ("\n", "")  # of a line
_MARGIN = " " * INDENT


def print_things(console: Console, things: Iterable[Thing]) -> None:
    """Prints tables and lines, with an empty line before each table; in a file, lines are as long
    as they are, unless COLUMNS is set.

    Many at a time: each time Rich is called, it asks for the size of the terminal again.
    """
    rest = iter(things)
    width = console.width if console.is_terminal or has_columns() else None
    while some := list(islice(rest, _AT_A_TIME)):
        pieces = (piece for thing in some for piece in _pieces(thing, width))
        if console.is_terminal:
            segments = [Segment(text, _style(style)) for text, style in pieces]
        else:  # a file has no styles, and Rich takes its time for each segment
            segments = [Segment("".join(text for text, _ in pieces))]
        console.print(Segments(segments), crop=False, end="")


def _pieces(thing: Thing, width: int | None) -> Iterator[_Piece]:
    if not isinstance(thing, Table):
        for line in thing.lines:
            for text, style in line:
                yield printable(text), style
            yield _END
        return
    if thing.title:
        yield printable(thing.title), "bold cyan"
        yield printable(f"  {thing.subtitle}" if thing.subtitle else ""), "dim"
        yield _END
    for text in thing.about:
        yield from ((printable(_MARGIN + text), "dim"), _END)
    if thing.rows:
        yield _END
        yield from _grid(thing, width)
    for text, style in thing.notes:
        yield from ((printable(_MARGIN + text), style), _END)
    if thing.title:
        yield _END


def _grid(table: Table[Any], width: int | None) -> Iterator[_Piece]:
    is_wrapped = width is not None and any(cells.column.wraps for cells in table.columns)
    if width is not None and is_wrapped:
        table.fitted(width)
    columns = table.columns
    yield from _head(tuple([(cells.heads, cells.width, cells.left) for cells in columns]))
    for row in range(len(table.rows)):
        texts = [cells.shown(row) if cells.column.once else cells.texts[row] for cells in columns]
        styles = [cells.style_of(row) for cells in columns]
        lines: Iterable[Sequence[str]] = [texts]
        if is_wrapped:
            lines = zip_longest(*map(_wrapped, texts, columns), fillvalue="")
        for line in lines:
            fixed = [_padded(text, cells.width, cells.left) for text, cells in zip(line, columns)]
            yield from _line(zip(fixed, styles))
        for cells in table.folded:
            if (text := cells.shown(row)) not in ("", NOTHING):
                room = max((width or 0) - 3 * INDENT, NARROWEST)
                lines = textwrap.wrap(f"{cells.head}: {text}", room)
                yield from ((f"{' ' * 3 * INDENT}{line}\n", "dim") for line in lines)


def _wrapped(text: str, cells: Cells) -> list[str]:
    if len(text) <= cells.width or not cells.column.wraps:
        return [text]
    return textwrap.wrap(text, cells.width, break_on_hyphens=False) or [""]


@lru_cache(maxsize=1000)
def _head(columns: tuple[tuple[tuple[str, ...], int, bool], ...]) -> list[_Piece]:
    """Of a hundred thousand small tables, most have one of a few heads.

    Of each column its lines, which stand at the bottom, its width, and whether it is flush left.
    """
    height = max((len(lines) for lines, _, _ in columns), default=0)
    pieces: list[_Piece] = []
    for row in range(-height, 0):
        pieces += _line(
            (_padded(lines[row] if -row <= len(lines) else "", width, left), "bold")
            for lines, width, left in columns
        )
    width = sum(width + GAP for _, width, _ in columns) - GAP
    return [*pieces, (_MARGIN + "─" * width, ""), _END]


def _padded(text: str, width: int, left: bool) -> str:
    if text.isascii():
        return text.ljust(width) if left else text.rjust(width)
    blanks = " " * (width - cell_len(text))
    return text + blanks if left else blanks + text


def _line(cells: Iterable[_Piece]) -> Iterator[_Piece]:
    """One line; pieces of the same style are one, and nothing follows the last."""
    pending, pending_style, gap = _MARGIN, "", ""
    for padded, style in cells:
        text, gap = gap + padded, " " * GAP
        if style == pending_style or text.isspace():
            pending += text
            continue
        yield pending, pending_style
        pending, pending_style = text, style
    yield pending.rstrip(), pending_style
    yield _END


@cache
def _style(text: str) -> Style | None:
    return Style.parse(text) if text else None
