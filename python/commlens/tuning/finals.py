"""Whether the best choice is better than the default: both are launched again, interleaved.

First the best few among themselves, then the winner and the default: the launches that decide are
not those by which it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from commlens.compare import Side, match
from commlens.compare.verdicts import ComparisonResult, judge
from commlens.model import load, rank_test
from commlens.model.comparison import (
    FEWEST_APART,
    Ratio,
    Verdict,
    interval_over_launches,
    verdict_of,
)
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.scores import Target
from commlens.tuning.space import Choice

_ROUNDS = ((6, 1), (3, 3))  # of the selection: so many choices, and how often each was launched
_BETTER = 0.98  # a score that is worth a final
_AS_GOOD = 1.02  # of these the one with the fewest settings
_LONGER = 1.5  # times the typical launch: those of finals have more samples


@dataclass(frozen=True)
class Final:
    """How a target's best choice does against the default."""

    target: Target
    choice: Choice  # empty: nothing was better than the default
    verdict: Verdict
    ratio: float | None = None  # to the default: below 1 is better
    interval: Ratio | None = None
    launches: tuple[int, int] = (0, 0)
    default_fails: str = ""
    why_busy: str = ""  # the machine was, in some of the launches, which do not count
    comparison: ComparisonResult | None = None  # size by size

    @property
    def is_compared(self) -> bool:
        """Whether the choice was launched again, and the default if it works."""
        return min(self.launches[1:] if self.default_fails else self.launches) > 0

    @property
    def is_recommended(self) -> bool:
        """Whether the choice is faster than the default."""
        return bool(self.choice) and self.verdict is Verdict.FASTER


def reserve_s(bench: Bench, launches: int) -> float:
    """What the finals of all targets need; not more than half of the budget."""
    count = max(1, len(bench.targets) or len(bench.transports))
    (many, once), (few, times) = _ROUNDS
    selection = many * once + few * (times - once)
    needed = count * (selection + 2 * launches) * _LONGER * bench.typical_s
    return min(needed, bench.budget.seconds / 2)


def play(bench: Bench, launches: int) -> list[Final]:
    """The finals of all targets, which share what is left of the budget. Raises
    InterruptionError."""
    targets = bench.targets
    return [
        _final(bench, target, launches, bench.budget.share(len(targets) - number))
        for number, target in enumerate(targets)
    ]


def _final(bench: Bench, target: Target, launches: int, until: float) -> Final:
    reference = bench.reference
    least = _BETTER if reference and reference.is_default else math.inf
    ranked = sorted(bench.ranked(target), key=lambda entry: (entry[0], len(entry[1])))
    good = [choice for score, choice in ranked if choice and score < least]
    if not good:
        busy = bench.why_busy()
        verdict = Verdict.INCONCLUSIVE if busy else Verdict.SAME
        return Final(target, DEFAULT, verdict, why_busy=busy)
    winner = _selected(bench, target, good[: _ROUNDS[0][0]], until)
    stage = f"final {target.name}: {bench.space.text(winner)}"
    default = bench.known(DEFAULT)
    fails = f"{default.ending}: {default.reason}" if default and not default.is_ok else ""
    sides = [winner] if fails else [DEFAULT, winner]
    bench.interleave(stage, sides, launches, until, final=True)
    return _judged(bench, target, winner, stage, fails)


def _selected(bench: Bench, target: Target, candidates: Sequence[Choice], until: float) -> Choice:
    """By launches of its own: many single launches before have made some choices look good."""
    stage, left = f"selection {target.name}", list(candidates)
    scores: list[tuple[float, Choice]] = []
    for count, times in _ROUNDS if len(left) > 1 else ():
        left = left[:count]
        bench.interleave(stage, left, times, until)
        known = [(bench.score(choice, target, stage), choice) for choice in left]
        scores = [(score, choice) for score, choice in known if score is not None]
        scores.sort(key=lambda entry: entry[0])
        left = [choice for _, choice in scores] or left[:1]
    good = [choice for score, choice in scores if score <= _AS_GOOD * scores[0][0]]
    return min(good, key=len, default=left[0])


def verdict_between(
    bench: Bench, target: Target, choices: tuple[Choice, Choice], stage: str = ""
) -> tuple[Verdict, Ratio | None, tuple[list[float], list[float]]]:
    """Whether the second choice is faster than the first; the interval of their ratio, and the
    logarithms of their scores, one of each launch."""
    before, after = (
        list(map(math.log, bench.scores(choice, target, stage, deciding=True)))
        for choice in choices
    )
    interval = interval_over_launches(before, after)
    has_test = min(len(before), len(after)) >= rank_test.FEWEST
    p_value = rank_test.u_test(before, after) if has_test else 0.0
    return verdict_of(interval, p_value), interval, (before, after)


def _judged(bench: Bench, target: Target, winner: Choice, stage: str, fails: str) -> Final:
    verdict, interval, (default, other) = verdict_between(bench, target, (DEFAULT, winner), stage)
    counts = len(default), len(other)
    made = [len(bench.ok(choice, stage)) for choice in ([winner] if fails else [DEFAULT, winner])]
    # Where fewer were made, it is the budget that has ended, on a quiet machine too.
    busy = bench.why_busy(stage) if min(made) >= FEWEST_APART else ""
    if fails:
        verdict = Verdict.FASTER if counts[1] >= FEWEST_APART else Verdict.INCONCLUSIVE
        return Final(target, winner, verdict, None, None, counts, fails, busy)
    if not min(counts):
        return Final(target, winner, Verdict.INCONCLUSIVE, launches=counts, why_busy=busy)
    return Final(
        target,
        winner,
        verdict,
        math.exp(rank_test.shift(default, other)),
        interval,
        counts,
        why_busy=busy,
        comparison=_compared(bench, target, winner, stage),
    )


def _compared(bench: Bench, target: Target, winner: Choice, stage: str) -> ComparisonResult:
    """The records of both sides, size by size."""
    sides = []
    for choice in (DEFAULT, winner):
        files = [launch.file for launch in bench.launches.find(choice, stage) if launch.is_ok]
        records = [
            record
            for record in load(files).records
            if bench.launches.slots.slot_of(record) in target.slots
        ]
        sides.append(Side(bench.space.text(choice), records))
    return judge([match(sides[0], sides[1], bench.launches.slots.key_of)])
