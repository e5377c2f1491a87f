"""The command lines that made the records."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from commlens.records import Start
from commlens.show.grid import Column, Grid

_MOST_STARTS = 200


def starts_grid(starts: Sequence[Start]) -> tuple[Grid, list[str]]:
    """A row for each start, and a sentence if there are too many."""
    shown = sorted(starts, key=lambda start: start.time)[:_MOST_STARTS]
    columns = [
        Column("time", [start.time for start in shown], left=True),
        Column("benchmark", [start.benchmark.name for start in shown], left=True),
        Column("ranks", [f"{start.ranks:,}" for start in shown]),
        Column("command of each rank", [command_line(start) for start in shown], left=True),
    ]
    if len(starts) == len(shown):
        return Grid(columns), []
    return Grid(columns), [f"shown are the first {len(shown)} of {len(starts):,} starts"]


def command_line(start: Start) -> str:
    """With the variables that change how bytes travel before it."""
    variables = [f"{name}={shlex.quote(own)}" for name, own in start.settings_of_transport.items()]
    return " ".join([*variables, shlex.join(start.command)])
