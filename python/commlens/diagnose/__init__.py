"""Findings: what records and profiles give reason to change, each with its evidence and a cure."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.diagnose.finding import SEVERITIES, Cost, Evidence, Finding, Severity
from commlens.profile.record import Profile
from commlens.records.record import Record

__all__ = ["SEVERITIES", "Cost", "Evidence", "Finding", "Severity", "findings"]


def findings(records: Sequence[Record], profiles: Sequence[Profile] = ()) -> list[Finding]:
    """What the rules find in the records and in the profiles, the worst first."""
    return []
