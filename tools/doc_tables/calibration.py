"""How often `commlens compare` is wrong."""

from __future__ import annotations

from doc_tables import Row, table
from doc_tables.source import json_file

VERDICTS = ("same", "inconclusive", "faster", "slower")


@table
def compare_calibration() -> list[Row]:
    own = json_file("compare-calibration.json")
    launches = sorted(row["slowed"]["launches"] for row in own["rows"])
    what = {
        "same": f"two sets of {own['launches']} launches of the same",
        "slowed": f"{own['percent']:g}% slower, {launches[0]} to {launches[-1]} launches "
        "as asked for",
        "one start of the same": "two launches of the same",
    }
    rows: list[Row] = [[f"{own['trials']} comparisons of", *VERDICTS]]
    rows += [
        [text, *(own["counts"][name].get(verdict, 0) for verdict in VERDICTS)]
        for name, text in what.items()
    ]
    return rows
