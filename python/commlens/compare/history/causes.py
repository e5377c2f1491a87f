"""What changed when a case became faster or slower: versions, settings, the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from commlens.compare.history.trends import Trend
from commlens.compare.matching import UNSET

_NEAR = 5  # launches on each side of a change: it may have been one earlier or later
_OFTEN = 3  # times that a fact became another within the baseline, where nothing else changed


class Changed(NamedTuple):
    """What became another at once with the values, and what did not."""

    changed: tuple[str, ...]  # `ucx 1.18 → 1.19`
    same: tuple[str, ...]  # names of versions

    def __str__(self) -> str:
        """`changed at once: ucx 1.18 → 1.19; not changed: kernel, ccl`"""
        changed = ", ".join(self.changed) or "nothing that records have"
        same = f"; not changed: {', '.join(self.same)}" if self.same else ""
        return f"changed at once: {changed}{same}"


def causes_of(trend: Trend) -> Changed:
    """Beside the change of a series."""
    before, after = trend.baseline[-_NEAR:], trend.newest[:_NEAR]
    changed: list[str] = []
    same: list[str] = []
    for kind in ("versions", "settings"):
        sides = [[getattr(point, kind) for point in side] for side in (before, after)]
        for name in sorted({name for side in sides for facts in side for name in facts}):
            old, new = (_usual(name, side) for side in sides)
            if old is None or new is None or _times_changed(name, kind, trend) >= _OFTEN:
                continue
            if old != new:
                changed.append(f"{name} {old} → {new}")
            elif kind == "versions":
                same.append(name)
    return Changed(tuple(changed), tuple(same))


def _times_changed(name: str, kind: str, trend: Trend) -> int:
    """Within the baseline, as of the number of a job."""
    values = [getattr(point, kind).get(name) for point in trend.baseline]
    return sum(value != other for value, other in zip(values, values[1:]))


def _usual(name: str, launches: Sequence[Mapping[str, str]]) -> str | None:
    """The value in most launches; None where there is none, as of what is another in each."""
    ((value, count),) = Counter(facts.get(name, UNSET) for facts in launches).most_common(1)
    return value if 2 * count > len(launches) else None
