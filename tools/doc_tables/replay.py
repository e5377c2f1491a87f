"""Replays beside the programs whose traces they execute."""

from __future__ import annotations

from doc_tables import Row, table
from doc_tables.source import json_file


@table
def replay_equality() -> list[Row]:
    rows: list[Row] = [
        ["program", "ranks", "calls", "trace, KB", "functions that are equal", "messages"]
    ]
    for counts in json_file("replay-equality.json"):
        rows.append(
            [
                counts["program"],
                counts["ranks"],
                f"{counts['calls']:,}",
                f"{counts['trace_bytes'] / 1000:.0f}",
                f"{counts['equal']} of {counts['functions']}",
                counts["messages"],
            ]
        )
    return rows


@table
def replay_communication() -> list[Row]:
    rows: list[Row] = [
        ["in MPI, ms, the median of the launches", "program", "replay", "replay / program"]
    ]
    for name, program in _COMMUNICATING.items():
        result = json_file(f"replay-communication-{name}.json")
        value, low, high = result["ratio"]
        ratio = f"{value:.2f} ({low:.2f} to {high:.2f})"
        for function, title in (("all", program), *_LARGEST[name]):
            times = [f"{result['medians_ms'][function][side]:.1f}" for side in _SIDES]
            rows.append([title, *times, ratio if function == "all" else ""])
    return rows


_SIDES = ("program", "replay")
_COMMUNICATING = {"bp5": "bp5, 6 solves", "bp5-60": "bp5, 61 solves", "hpcg": "HPCG 3.1"}
_LARGEST = {
    "bp5": (("MPI_Waitall", "of it `MPI_Waitall`"), ("MPI_Allreduce", "`MPI_Allreduce`")),
    "bp5-60": (),
    "hpcg": (("MPI_Send", "of it `MPI_Send`"), ("MPI_Allreduce", "`MPI_Allreduce`")),
}


@table
def replay_predictions() -> list[Row]:
    """What a setting saves of a program's run, and of its replays."""
    rows: list[Row] = [
        ["first setting", "second setting", "LAMMPS", "its replays", "launches of each"]
    ]
    for ending in ("", "-eager-limit", "-binding"):
        found = json_file(f"replay-prediction-lammps{ending}.json")
        saved = (
            "{:.1%} ({:.1%} to {:.1%})".format(*found["saved"][side])
            for side in ("program", "replay")
        )
        rows.append([f"`{found['a']}`", f"`{found['b']}`", *saved, str(found["turns"])])
    return rows
