"""Findings: what records and profiles give reason to change, each with its evidence and a fix."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.findings.finding import SEVERITIES, Cost, Evidence, Finding, Quote, Setting, Severity
from commlens.findings.rule import all_rules, worst_first
from commlens.findings.view import View
from commlens.model import Group, Record
from commlens.model.profile import Profile

__all__ = [
    "SEVERITIES",
    "Cost",
    "Evidence",
    "Finding",
    "Quote",
    "Setting",
    "Severity",
    "findings",
]


def findings(
    records: Sequence[Record] = (),
    profiles: Sequence[Profile] = (),
    groups: Sequence[Group] | None = None,
) -> list[Finding]:
    """What the rules find in the records and in the profiles, the worst first.

    `groups`: those of the records, by a caller that has them already.
    """
    view = View(records, profiles, groups)
    return sorted((one for rule in all_rules() for one in rule.findings(view)), key=worst_first)
