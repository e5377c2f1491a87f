"""Tables as CSV and JSON, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from commlens.base.terminal import echo
from commlens.base.text import printable
from commlens.render.table import Table


def rows_of(tables: Iterable[Table[Any]]) -> list[dict[str, Any]]:
    """The rows of all, as mappings from the keys of their columns."""
    return [row for table in tables for row in table.plain]


def print_csv(tables: Iterable[Table[Any]]) -> None:
    """Prints one head and the rows of all tables, which have the same columns."""
    every = list(tables)
    text = io.StringIO()
    names = [column.key for table in every[:1] for column in table.declared if column.key]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows_of(every):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    echo(text.getvalue().rstrip("\n"))


def _cell(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value


def print_json(document: Mapping[str, Any]) -> None:
    """Prints one object, indented."""
    echo(json_text(document))


def json_text(document: Any) -> str:
    """An object as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()
