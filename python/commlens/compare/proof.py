"""What a fix that is a setting changes: one case without it and with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from commlens.base.text import format_number, format_ratio, plural
from commlens.compare.verdicts import Row, Verdict

_VERDICTS = {
    Verdict.FASTER: "better",
    Verdict.SLOWER: "worse",
    Verdict.SAME: "same",
    Verdict.INCONCLUSIVE: "inconclusive",
}


@dataclass(frozen=True)
class Proof:
    """What a fix does: a median without it and one with it, or why there is none."""

    case: str  # `latency, 1 B, device to device, mpi`
    unit: str = ""
    before: float | None = None  # None: it fails
    after: float | None = None
    why_no_before: str = ""
    why_no_after: str = ""
    row: Row | None = None  # of the comparison, where both were measured

    @property
    def gain(self) -> float | None:
        """How many times better it is with the fix."""
        return 1 / self.row.found.ratio if self.row and self.row.found.ratio else None

    @property
    def _ends(self) -> tuple[float, float] | None:
        interval = self.row.found.interval if self.row else None
        return (1 / interval.high, 1 / interval.low) if interval else None

    @property
    def verdict(self) -> str:
        """The verdict on the fix, in a word or two."""
        if self.row is not None:
            return _VERDICTS[self.row.verdict]
        return "fixed" if self.before is None and self.after is not None else "not fixed"

    @property
    def helps(self) -> bool:
        """Whether the case is better with the fix."""
        return self.verdict in ("better", "fixed")

    def __str__(self) -> str:
        """`latency, 1 B, device, mpi: 186 us -> 14.6 us (12.7 times, 11.9 to 13.4): better`"""
        before = self._text(self.before, self.why_no_before)
        after = self._text(self.after, self.why_no_after)
        interval = ""
        if self.gain is not None and self.row is not None:
            low_high = ", 95% interval {:.3g} to {:.3g}".format(*self._ends) if self._ends else ""
            launches = plural(min(self.row.found.launches), "launch")
            interval = f" ({format_ratio(self.gain)}{low_high}; {launches} each)"
        return f"{self.case}: {before} -> {after}{interval}: {self.verdict}."

    def _text(self, value: float | None, why: str) -> str:
        return f"fails ({why})" if value is None else f"{format_number(value)} {self.unit}".strip()

    @property
    def plain(self) -> dict[str, Any]:
        """The proof as a mapping for JSON."""
        own = ("case", "unit", "before", "after", "why_no_before", "why_no_after", "gain")
        low, high = self._ends or (None, None)
        facts = {name: getattr(self, name) for name in own}
        ends = {"gain_low": low, "gain_high": high, "verdict": self.verdict}
        return {"text": str(self), **facts, **ends}
