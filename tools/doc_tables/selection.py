"""What communication libraries tell of what they have selected."""

from __future__ import annotations

from commlens.model.selection import selected_names
from doc_tables import Row, table


@table
def selection() -> list[Row]:
    """From knowledge/libraries/selection.yaml."""
    rows = [
        [f"`{entry.name}`", entry.library, entry.meaning, entry.source]
        for entry in selected_names()
    ]
    return [["name", "library", "meaning", "how the library tells it"], *rows]
