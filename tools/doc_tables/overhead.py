"""What the harness adds, against bare loops."""

from __future__ import annotations

from doc_tables import Row, table
from doc_tables.source import NOTHING, json_file


@table
def overhead() -> list[Row]:
    tables = [json_file(f"overhead-{name}.json") for name in ("latency", "bandwidth")]
    turns = [f"ratio ({own['turns']} turns)" for own in tables]
    rows: list[Row] = [
        [
            *("bytes", "latency, bare, µs", "commlens", turns[0]),
            *("bandwidth, bare, GB/s", "commlens", turns[1]),
        ]
    ]
    for latency, bandwidth in zip(*(own["rows"] for own in tables)):
        cells: Row = [latency["bytes"]]
        for row in (latency, bandwidth):
            cells += [f"{row['bare']:.4g}", f"{row['commlens']:.4g}", f"{row['ratio']:.3f}"]
        rows.append(cells)
    return rows


@table
def overhead_gather_scatter() -> list[Row]:
    own = json_file("overhead-gather-scatter.json")
    rows: list[Row] = [
        [
            *("ranks", "elements per rank", "order", "gslib's loops, ms", "commlens, ms"),
            *(f"ratio ({own['turns']} turns)", "of the exchange", "of the rest"),
        ]
    ]
    for row in own["rows"]:
        whole = row["whole"]
        rows.append(
            [
                row["ranks"],
                f"{row['edge']}³",
                row["order"],
                f"{whole['bare_us'] * 1e-3:.3g}",
                f"{whole['commlens_us'] * 1e-3:.3g}",
                f"{whole['ratio']:.2f}",
                *(
                    f"{row[name]['ratio']:.2f}" if name in row else NOTHING
                    for name in ("exchange", "rest")
                ),
            ]
        )
    return rows
