"""How often `commlens compare` is wrong."""

from __future__ import annotations

from doc_tables import Row, table
from doc_tables.source import json_file

VERDICTS = ("same", "inconclusive", "faster", "slower")


@table
def compare_calibration() -> list[Row]:
    document = json_file("compare-calibration.json")
    launches = sorted(row["slowed"]["launches"] for row in document["rows"])
    meanings = {
        "same": f"two sets of {document['launches']} launches of the same",
        "slowed": f"{document['percent']:g}% slower, {launches[0]} to {launches[-1]} launches "
        "as asked for",
        "one start of the same": "two launches of the same",
    }
    rows: list[Row] = [[f"{document['trials']} comparisons of", *VERDICTS]]
    rows += [
        [text, *(document["counts"][name].get(verdict, 0) for verdict in VERDICTS)]
        for name, text in meanings.items()
    ]
    return rows
