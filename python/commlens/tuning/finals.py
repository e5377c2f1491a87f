"""Whether the best choice is better than the default: both are launched again, interleaved.

First the best few among themselves, then the winner and the default: the launches that decide are
not those by which it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from commlens.compare import Matched, Side, match
from commlens.compare.result import ComparisonResult
from commlens.compare.verdicts import THRESHOLD, Verdict, judge, verdict_of
from commlens.model import load, rank_test
from commlens.model.comparison import FEWEST_APART, Ratio, interval_over_launches
from commlens.model.record import Record
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.launches import Launch
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
    comparison: ComparisonResult | None = None  # size by size

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
    targets, found = bench.targets, []
    for number, target in enumerate(targets):
        used = bench.budget.used
        until = used + (bench.budget.seconds - used) / (len(targets) - number)
        found.append(_final(bench, target, launches, until))
    return found


def _final(bench: Bench, target: Target, launches: int, until: float) -> Final:
    candidates = _candidates(bench, target)
    if not candidates:
        return Final(target, DEFAULT, Verdict.SAME)
    winner = _selected(bench, target, candidates, until)
    stage = f"final {target.name}: {bench.space.text(winner)}"
    fails = _why_default_fails(bench)
    sides = [winner] if fails else [DEFAULT, winner]
    for number in range(launches):
        for choice in sides:
            if len(bench.launches.find(choice, stage)) <= number and bench.has_time(until):
                bench.launch(stage, choice, final=True)
    return _judged(bench, target, winner, stage, fails)


def _candidates(bench: Bench, target: Target) -> list[Choice]:
    """The best by what was measured so far."""
    found: dict[tuple[tuple[str, str], ...], tuple[float, Choice]] = {}
    for launch in bench.launches.done:
        if launch.is_ok and launch.choice:
            score = bench.score(launch.choice, target)
            if score is not None:
                found[tuple(sorted(launch.choice.items()))] = (score, launch.choice)
    reference = bench.reference
    least = _BETTER if reference and reference.is_default else math.inf
    ranked = sorted(found.values(), key=lambda one: (one[0], len(one[1])))
    return [choice for score, choice in ranked if score < least][: _ROUNDS[0][0]]


def _selected(bench: Bench, target: Target, candidates: Sequence[Choice], until: float) -> Choice:
    """By launches of its own: many single launches before have made some choices look good."""
    stage = f"selection {target.name}"
    left = list(candidates)
    for count, times in _ROUNDS if len(left) > 1 else ():
        left = left[:count]
        for number in range(times):
            for choice in left:
                if len(bench.launches.find(choice, stage)) <= number and bench.has_time(until):
                    bench.launch(stage, choice)
        scores = [(bench.score(choice, target, stage), choice) for choice in left]
        known = [(score, choice) for score, choice in scores if score is not None]
        left = [choice for _, choice in sorted(known, key=lambda one: one[0])] or left[:1]
    best = bench.score(left[0], target, stage)
    good = [
        (len(choice), score, number)
        for number, choice in enumerate(left)
        if (score := bench.score(choice, target, stage)) and best and score <= _AS_GOOD * best
    ]
    return left[min(good)[2]] if good else left[0]


def _why_default_fails(bench: Bench) -> str:
    own = bench.launches.find(DEFAULT)
    if any(launch.is_ok for launch in own):
        return ""
    return next((f"{launch.ending}: {launch.reason}" for launch in own), "")


def _judged(bench: Bench, target: Target, winner: Choice, stage: str, fails: str) -> Final:
    default, other = (
        [launch for launch in bench.launches.find(choice, stage) if launch.is_ok]
        for choice in (DEFAULT, winner)
    )
    logs = _logs(bench, default, target), _logs(bench, other, target)
    counts = len(logs[0]), len(logs[1])
    if fails:
        verdict = Verdict.FASTER if counts[1] >= FEWEST_APART else Verdict.INCONCLUSIVE
        return Final(target, winner, verdict, launches=counts, default_fails=fails)
    verdict, ratio, interval = decide(*logs)
    comparison = None
    if min(counts):
        records = (_records(bench, launches, target) for launches in (default, other))
        comparison = _compared(bench, winner, *records)
    return Final(target, winner, verdict, ratio, interval, counts, comparison=comparison)


def _logs(bench: Bench, launches: Sequence[Launch], target: Target) -> list[float]:
    scores = (bench.score_of(launch.values, target) for launch in launches)
    return [math.log(score) for score in scores if score is not None]


def decide(
    default: Sequence[float], winner: Sequence[float]
) -> tuple[Verdict, float | None, Ratio | None]:
    """By compare's rule, for the logarithms of one score per launch: verdict, ratio, interval."""
    if not default or not winner:
        return Verdict.INCONCLUSIVE, None, None
    interval = interval_over_launches(default, winner)
    has_test = min(len(default), len(winner)) >= rank_test.FEWEST
    p_value = rank_test.u_test(default, winner) if has_test else 0.0
    ratio = math.exp(rank_test.shift(default, winner))
    return verdict_of(interval, p_value, THRESHOLD), ratio, interval


def _records(bench: Bench, launches: Sequence[Launch], target: Target) -> list[Record]:
    slots = set(target.slots)
    found = load([launch.file for launch in launches]).records if launches else []
    return [record for record in found if bench.slots.slot_of(record) in slots]


def _compared(
    bench: Bench, winner: Choice, default: Sequence[Record], other: Sequence[Record]
) -> ComparisonResult:
    sides = Side("default", default), Side(bench.space.text(winner), other)
    matched: list[Matched] = [match(*sides, bench.slots.key_of)]
    return ComparisonResult(matched, judge(matched, THRESHOLD), THRESHOLD)
