"""Tries a cure that is a setting: the smallest run that shows the trouble, in turns with and
without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from commlens.doctor.behaviour import Plan
from commlens.doctor.examination import Examination
from commlens.launch.native import Native


@dataclass(frozen=True)
class Proof:
    """What a cure does."""

    what: str = ""

    def __str__(self) -> str:
        return self.what

    @property
    def plain(self) -> dict[str, Any]:
        return {}


def prove_all(examination: Examination, native: Native, plan: Plan) -> dict[int, Proof]:
    """By the id of the finding."""
    return {}
