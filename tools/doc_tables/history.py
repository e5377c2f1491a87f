"""How often `commlens history check` is wrong, and how soon it finds a change."""

from __future__ import annotations

from typing import Any

from doc_tables import Row, table
from doc_tables.source import json_file

_BEYOND = "like the launch before"
_FOUND = (2, 3, 4)  # launches


@table
def history_calibration() -> list[Row]:
    document = json_file("history-calibration.json")
    percent, checks = document["percent"], document["checks"]
    rows: list[Row] = [
        [
            "launches differ",
            "series",
            "alarm in one check",
            f"in any of {checks} more",
            *(f"{percent:g}% slower: found within {count}" for count in _FOUND),
        ]
    ]
    kinds: dict[str, Any] = dict(document["rows"])
    beyond = kinds.pop(_BEYOND)
    rows += [[name, *_cells([counts])] for name, counts in kinds.items()]
    rows.append(["**all four**", *(f"**{cell}**" for cell in _cells(list(kinds.values())))])
    rows.append([_BEYOND, *_cells([beyond])])
    return rows


def _cells(kinds: list[Any]) -> Row:
    series = sum(counts["series"] for counts in kinds)

    def share(count: int) -> str:
        return f"{100 * count / series:.1f}%"

    return [
        f"{series:,}",
        share(sum(counts["alarms"] for counts in kinds)),
        share(sum(counts["alarms_ever"] for counts in kinds)),
        *(share(sum(counts["found"][count - 1] for counts in kinds)) for count in _FOUND),
    ]
