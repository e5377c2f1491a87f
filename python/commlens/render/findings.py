"""Findings as lines: below the tables of records, and of doctor."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.findings import Finding
from commlens.findings.finding import finding_lines, hint, shortened
from commlens.render.table import Line, Lines

STYLES = {
    "error": "bold red",
    "problem": "bold red",
    "warning": "yellow",
    "advice": "cyan",
    "note": "cyan",
}


def leveled(level: str, texts: Sequence[str]) -> list[Line]:
    """The lines of a finding, the first of which begins with its level."""
    first, *others = texts
    return [[(level, STYLES[level]), (first[len(level) :], "")], *([(text, "")] for text in others)]


def findings_block(findings: Sequence[Finding], width: int, every: bool) -> Lines:
    """`every`: each finding, else the worst of each code. Nothing where there is none."""
    listed = [(one, 0) for one in findings] if every else list(shortened(findings))
    lines: list[Line] = []
    for finding, more in listed:
        lines += leveled(finding.severity, finding_lines(finding, finding.severity, width, more))
    if not every and (rest := hint(findings)):
        lines.append([(rest, "dim")])
    return Lines([[("findings", "bold")], *lines, []] if lines else [])
