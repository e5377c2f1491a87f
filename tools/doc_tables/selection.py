"""What communication libraries tell of what they have selected."""

from __future__ import annotations

from commlens.base.text import format_bytes
from commlens.model.selection import selected_names
from doc_tables import Row, table
from doc_tables.source import median, records


@table
def selection() -> list[Row]:
    """From knowledge/libraries/selection.yaml."""
    rows = [
        [f"`{entry.name}`", entry.library, entry.meaning, entry.source]
        for entry in selected_names()
    ]
    return [["name", "library", "meaning", "how the library tells it"], *rows]


@table
def nccl_selection() -> list[Row]:
    """What NCCL ran under settings that change it."""
    settings = {
        "none": "default",
        "`NCCL_PROTO=LL`": "LL",
        "`NCCL_PROTO=Simple`": "Simple",
        "`NCCL_ALGO=Tree`": "tree",
    }
    names = ("algorithm", "protocol", "channels")
    rows: list[Row] = [["setting", "size", *names, "time, µs"]]
    for setting, name in settings.items():
        for record in records(f"h200-x2/nccl-{name}"):
            size = format_bytes(int(record.parameters["bytes"]))
            told = [record.selection[column] for column in names]
            rows.append([setting, size, *told, median(record, "time_us")])
    return rows
