"""Records as tables on the terminal: a function of the records, and of how wide the terminal is."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from commlens.records import Record, groups
from commlens.records.scaling import Scaling, scalings
from commlens.show.grid import print_whole
from commlens.show.machine import machines
from commlens.show.scaling import scaling_tables
from commlens.show.tables import print_group

_WIDTH_OF_A_FILE = 160  # characters, where the output is not a terminal

__all__ = ["console", "show", "show_scaling"]


def console() -> Console:
    """The standard output, in which nothing but our own styles has a color."""
    return Console(width=None if sys.stdout.isatty() else _WIDTH_OF_A_FILE, highlight=False)


def show(records: Sequence[Record], console: Console, wide: bool = False) -> None:
    """Prints machines and placements once, tables of each group, and one of what ran on several
    numbers of ranks. `wide`: all metrics, however long the lines become."""
    for machine in machines(records):
        print_whole(console, machine)
    found = groups(records)
    told: set[tuple[str, str]] = set()
    for group in found:
        print_group(group, console, wide, told)
        console.print()
    for scaling in scalings(found):
        show_scaling(scaling, console)


def show_scaling(scaling: Scaling, console: Console) -> None:
    print_whole(console, *scaling_tables(scaling))
    console.print()
