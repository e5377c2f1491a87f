"""Tables and lines as Markdown: no text of a record is markup, a link or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from commlens.base.text import printable
from commlens.render.table import Line, Table, Thing

_LONGEST_TEXT = 300  # characters of a cell
_LONGEST_NOTE = 2000
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
    return _MARKUP.sub(lambda match: _CODE_OF.get(match[0], f"\\{match[0]}"), line)


def prose(text: str, longest: int = _LONGEST_TEXT) -> str:
    """The same of a sentence of ours, in which what stands between two backticks is code."""
    pieces = printable(text)[:longest].split("`")
    return "".join(
        f"`{piece}`" if number % 2 and number < len(pieces) - 1 else escaped(piece, longest)
        for number, piece in enumerate(pieces)
    )


def table_lines(table: Table[Any], most_rows: int | None = None) -> Iterator[str]:
    """The lines of the table itself, and a line that reports how many rows were left out."""
    yield _row([escaped(column.head.replace("\n", " ")) for column in table.columns])
    yield _row([":--" if column.left else "--:" for column in table.columns])
    for row in zip(*(column.texts[:most_rows] for column in table.columns)):
        yield _row(map(escaped, row))
    if most_rows is not None and len(table.rows) > most_rows:
        yield ""
        yield f"The first {most_rows} of {len(table.rows):,} rows."


def section(thing: Thing) -> Iterator[str]:
    """A table with its title and its notes, or lines as a paragraph: to be printed by itself."""
    if isinstance(thing, Table):
        yield f"### {escaped(' '.join(filter(None, (thing.title, thing.subtitle))))}"
        yield ""
        if thing.rows:
            yield from table_lines(thing)
            yield ""
        notes = [*thing.about, *(text for text, _ in thing.notes)]
        yield from (f"- {escaped(text, _LONGEST_NOTE)}" for text in notes)
        if notes:
            yield ""
        return
    for line in thing.lines:
        text = escaped("".join(text for text, _ in line).strip(), _LONGEST_NOTE)
        is_bold = any("bold" in style for _, style in line)
        yield f"**{text}**" if is_bold and text else text


def paragraphs(lines: Iterable[Line], most: int) -> Iterator[str]:
    """A block of code, which has no markup; each line as it is."""
    texts = ["".join(text for text, _ in line).strip() for line in lines]
    shown = [printable(text) for text in texts if text]
    yield "```text"
    yield from (text.replace("```", "'''") for text in shown[:most])
    if len(shown) > most:
        yield f"and {len(shown) - most:,} more lines"
    yield "```"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
