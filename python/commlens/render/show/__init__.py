"""Records as tables on the terminal: a function of the records, and of how wide the terminal is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from commlens import findings as diagnose
from commlens.base.terminal import console
from commlens.findings import Finding
from commlens.findings.finding import finding_lines, hint, shortened
from commlens.model import Record, groups, over_launches
from commlens.model.scaling import Scaling, scalings
from commlens.render.show.machine import machines
from commlens.render.show.scaling import scaling_tables
from commlens.render.show.tables import group_tables
from commlens.render.table import Line, Lines
from commlens.render.terminal import print_things

__all__ = ["console", "show", "show_scaling"]
STYLES = {
    "error": "bold red",
    "problem": "bold red",
    "warning": "yellow",
    "advice": "cyan",
    "note": "cyan",
}


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
    shown = groups(records if wide else over_launches(records))
    printed: set[tuple[str, str]] = set()
    width = None if wide else console.width
    things = (thing for group in shown for thing in group_tables(group, width, printed))
    print_things(console, things)
    for scaling in scalings(shown):
        show_scaling(scaling, console)
    diagnosed = diagnose.findings(records)
    print_things(console, [findings_block(diagnosed, console.width, every_finding)])


def show_scaling(scaling: Scaling, console: Console) -> None:
    """Prints the tables of one benchmark by the number of ranks."""
    print_things(console, [*scaling_tables(scaling), Lines([[]])])


def leveled(level: str, texts: Sequence[str]) -> list[Line]:
    """The lines of a finding, the first of which begins with its level."""
    first, *others = texts
    return [[(level, STYLES[level]), (first[len(level) :], "")], *([(text, "")] for text in others)]


def findings_block(findings: Sequence[Finding], width: int, every: bool) -> Lines:
    """`every`: each finding, else the worst of each code. Nothing where there is none."""
    listed = [(finding, 0) for finding in findings] if every else list(shortened(findings))
    lines: list[Line] = []
    for finding, more in listed:
        lines += leveled(finding.severity, finding_lines(finding, finding.severity, width, more))
    if rest := hint(0 if every else len(findings) - len(listed), "show"):
        lines.append([(rest, "dim")])
    return Lines([[("findings", "bold")], *lines, []] if lines else [])
