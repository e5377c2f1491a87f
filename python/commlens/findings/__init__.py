"""Findings: what is wrong in records, profiles and machines, each with its evidence and a fix."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.findings.finding import SEVERITIES, Finding, Setting, worst_first
from commlens.findings.rule import rules_on_records
from commlens.findings.view import View
from commlens.model import Group, Record
from commlens.model.profile import Profile

__all__ = ["SEVERITIES", "Finding", "Setting", "findings", "worst_first"]


def findings(
    records: Sequence[Record] = (),
    profiles: Sequence[Profile] = (),
    groups: Sequence[Group] | None = None,
) -> list[Finding]:
    """Applies the rules on records and profiles, and returns the findings, the worst first.

    `groups`: those of the records, by a caller that has them already.
    """
    view = View(records, profiles, groups)
    unsorted = (finding for rule in rules_on_records() for finding in rule.outcome(view).findings)
    return sorted(unsorted, key=worst_first)
