"""The command lines that made the records."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from commlens.model import Start
from commlens.render.table import Column, Table

_MOST_LAUNCHES = 200


def launches_table(launches: Sequence[Start]) -> tuple[Table[Start], list[str]]:
    """A row for each launch, and a sentence if there are too many."""
    shown = sorted(launches, key=lambda start: start.time)[:_MOST_LAUNCHES]
    columns: list[Column[Start]] = [
        Column("time", lambda start: start.time, left=True),
        Column("benchmark", lambda start: start.benchmark.name, left=True),
        Column("ranks", lambda start: start.ranks, format="{:,}".format),
        Column("settings", settings_text, left=True),
        Column("command of each rank", lambda start: shlex.join(start.command), left=True),
    ]
    more = len(launches) > len(shown)
    note = f"shown are the first {len(shown)} of {len(launches):,} launches"
    return Table(columns, shown), [note] if more else []


def settings_text(start: Start) -> str:
    """The variables that change how bytes travel, as they stand before the command."""
    own = start.settings_of_transport.items()
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in own)
