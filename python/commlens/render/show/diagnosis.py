"""What the records give reason to change, below their tables."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.findings import Finding
from commlens.findings.finding import finding_lines, hint, shortened
from commlens.render.table import Lines

_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


def findings_block(findings: Sequence[Finding], width: int, every: bool) -> Lines:
    """`every`: each finding, else the worst of each code. Nothing where there is none."""
    listed = [(one, 0) for one in findings] if every else list(shortened(findings))
    lines: list[list[tuple[str, str]]] = []
    for finding, more in listed:
        first, *others = finding_lines(finding, finding.severity, width, more)
        lines.append([(finding.severity, _STYLES[finding.severity])])
        lines[-1].append((first[len(finding.severity) :], ""))
        lines += [[(line, "")] for line in others]
    if not every and (rest := hint(findings)):
        lines.append([(rest, "dim")])
    return Lines([[("findings", "bold")], *lines, []] if lines else [])
