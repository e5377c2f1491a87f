"""Tables and lines as Markdown: no text of a record is markup, a link or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commlens.base.text import printable
from commlens.render.show.grid import Grid, Lines

_LONGEST_TEXT = 300  # characters of a cell
_MARKUP = re.compile(r"[\\`*_\[\]#|~&<>@]|:(?=//)|^[-+]")
_CODE_OF = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", ":": "&#58;"}
_NUMBER = re.compile(r"-?[\d,.]+(e-?\d+)?")


def escaped(text: str, longest: int = _LONGEST_TEXT) -> str:
    """In one line. `:` would make links of addresses, `@` call people."""
    line = printable(text)
    if len(line) > longest:
        line = f"{line[:longest]}…"
    if line.isalnum() or _NUMBER.fullmatch(line):
        return line
    return _MARKUP.sub(lambda one: _CODE_OF.get(one[0], f"\\{one[0]}"), line)


def prose(text: str, longest: int = _LONGEST_TEXT) -> str:
    """The same of a sentence of ours, in which what stands between two backticks is code."""
    pieces = printable(text)[:longest].split("`")
    return "".join(
        f"`{piece}`" if number % 2 and number < len(pieces) - 1 else escaped(piece, longest)
        for number, piece in enumerate(pieces)
    )


def table(grid: Grid, most_rows: int) -> Iterator[str]:
    """Its lines, and one that says how many rows were left out."""
    heads = [escaped(column.head.replace("\n", " ")) for column in grid.columns]
    yield _row(heads)
    yield _row([":--" if column.left else "--:" for column in grid.columns])
    cells = [column.filled(most_rows) for column in grid.columns]
    for row in zip(*cells):
        yield _row([escaped(text) for text, _ in row])
    if grid.rows > most_rows:
        yield ""
        yield f"The first {most_rows} of {grid.rows:,} rows."


def paragraphs(lines: Lines, most: int) -> Iterator[str]:
    """A block of code, which has no markup; each line as it is."""
    texts = ["".join(text for text, _ in line).strip() for line in lines.lines]
    shown = [printable(text) for text in texts if text]
    yield "```text"
    yield from (text.replace("```", "'''") for text in shown[:most])
    if len(shown) > most:
        yield f"and {len(shown) - most:,} more lines"
    yield "```"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
