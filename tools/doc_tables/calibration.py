"""How often `commlens compare` is wrong."""

from __future__ import annotations

from doc_tables import Row, table
from doc_tables.source import json_file

VERDICTS = ("same", "inconclusive", "faster", "slower")


@table
def compare_calibration() -> list[Row]:
    own = json_file("compare-calibration.json")
    starts = sorted(row["slowed"]["starts"] for row in own["rows"])
    what = {
        "same": f"two sets of {own['starts']} starts of the same",
        "slowed": f"{own['percent']:g}% slower, {starts[0]} to {starts[-1]} starts as asked for",
        "one start of the same": "two starts of the same",
    }
    rows: list[Row] = [[f"{own['trials']} comparisons of", *VERDICTS]]
    rows += [
        [text, *(own["counts"][name].get(verdict, 0) for verdict in VERDICTS)]
        for name, text in what.items()
    ]
    return rows
