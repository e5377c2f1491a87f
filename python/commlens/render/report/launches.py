"""The command lines that made the records."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from commlens.model import Start
from commlens.render.show.grid import Column, Grid

_MOST_LAUNCHES = 200


def launches_grid(launches: Sequence[Start]) -> tuple[Grid, list[str]]:
    """A row for each start, and a sentence if there are too many."""
    shown = sorted(launches, key=lambda start: start.time)[:_MOST_LAUNCHES]
    columns = [
        Column("time", [start.time for start in shown], left=True),
        Column("benchmark", [start.benchmark.name for start in shown], left=True),
        Column("ranks", [f"{start.ranks:,}" for start in shown]),
        Column("settings", [settings_text(start) for start in shown], left=True),
        Column("command of each rank", [shlex.join(start.command) for start in shown], left=True),
    ]
    if len(launches) == len(shown):
        return Grid(columns), []
    return Grid(columns), [f"shown are the first {len(shown)} of {len(launches):,} launches"]


def settings_text(start: Start) -> str:
    """The variables that change how bytes travel, as they stand before the command."""
    own = start.settings_of_transport.items()
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in own)
