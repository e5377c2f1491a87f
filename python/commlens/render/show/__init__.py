"""Records as tables on the terminal: a function of the records, and of how wide the terminal is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from commlens import findings as diagnose
from commlens.base.terminal import console
from commlens.model import Record, groups, over_launches
from commlens.model.scaling import Scaling, scalings
from commlens.render.findings import findings_block
from commlens.render.show.machine import machines
from commlens.render.show.scaling import scaling_tables
from commlens.render.show.tables import group_tables
from commlens.render.table import Lines
from commlens.render.terminal import print_things

__all__ = ["console", "show", "show_scaling"]


def show(
    records: Sequence[Record],
    console: Console,
    wide: bool = False,
    every_finding: bool = False,
) -> None:
    """Prints machines and placements once, the tables of each group and by ranks, and findings.

    Launches that measured the same are one row. `wide`: each launch by itself, and all metrics,
    however long the lines become.
    """
    print_things(console, machines(records))
    found = groups(records if wide else over_launches(records))
    told: set[tuple[str, str]] = set()
    width = None if wide else console.width
    print_things(console, (one for group in found for one in group_tables(group, width, told)))
    for scaling in scalings(found):
        show_scaling(scaling, console)
    diagnosed = diagnose.findings(records)
    print_things(console, [findings_block(diagnosed, console.width, every_finding)])


def show_scaling(scaling: Scaling, console: Console) -> None:
    """Prints the tables of one benchmark by the number of ranks."""
    print_things(console, [*scaling_tables(scaling), Lines([[]])])
