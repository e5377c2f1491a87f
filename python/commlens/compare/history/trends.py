"""The verdict on a series: its newest launches against a baseline, the launches before its newest
change.

A case is slower only where there is a change point, by more than the threshold, and the rule of all
comparisons agrees, with a p value that is corrected for the number of cases. Unlike there, 3 new
launches are enough without an allowance for how far launches differ: the baseline itself shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from commlens.base.text import plural
from commlens.compare.history.change_points import LEVEL, MOST_VALUES, change_points
from commlens.compare.history.series import BASELINE, CaseSeries, LaunchPoint, logs_of
from commlens.model import rank_test
from commlens.model.comparison import FEWEST_APART, THRESHOLD, Ratio, Verdict, verdict_of
from commlens.model.interference import MACHINE_WAS_BUSY

_MARGIN = 3
_NEWEST = 10  # launches that are compared with those before, where nothing has changed


def _fewest() -> int:
    """Launches of which 3 at the end that are all worse show a change point, and decide. They are
    so by chance in one order, or in the opposite one; permutations are a sample, which may have
    these more often."""
    count = 2 * FEWEST_APART
    while 2 * _MARGIN / math.comb(count, FEWEST_APART) > min(LEVEL, rank_test.DECISION):
        count += 1
    return count


FEWEST = _fewest()  # launches, with which anything can be said


@dataclass(frozen=True)
class Trend:
    """A case with its verdict."""

    series: CaseSeries
    used: Sequence[LaunchPoint]  # without those of a busy machine
    baseline: Sequence[LaunchPoint] = ()
    newest: Sequence[LaunchPoint] = ()  # since the change, or simply the newest
    changed: bool = False  # there is a change point between the two
    ratio: Ratio | None = None  # how many times worse
    p_value: float = 1.0
    verdict: Verdict = Verdict.INCONCLUSIVE
    why: str = ""  # it is inconclusive, and what to do

    @property
    def since(self) -> str:
        """The time of the first launch after the change; empty without one."""
        return self.newest[0].time if self.changed and self.is_decided else ""

    @property
    def is_decided(self) -> bool:
        """Whether it has become faster or slower."""
        return self.verdict in (Verdict.FASTER, Verdict.SLOWER)

    @property
    def is_slower(self) -> bool:
        """Whether it has become slower."""
        return self.verdict is Verdict.SLOWER

    def is_worse_by(self, part: float) -> bool:
        """Whether it is slower by at least this part, or fails now."""
        is_slower = self.is_slower and self.ratio is not None and self.ratio.value >= 1 + part
        return self.series.fails or is_slower

    @property
    def has_enough(self) -> bool:
        """Whether there are launches enough for a verdict."""
        return self.ratio is not None

    @property
    def word(self) -> str:
        """The verdict, or what is in its place."""
        if self.series.fails:
            return "fails now"
        return self.verdict.value if self.has_enough else "not enough launches"

    @property
    def middle(self) -> float | None:
        """The median of the baseline."""
        return median(_values(self.baseline)) if self.baseline else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval of that median; None for too few launches."""
        values = sorted(_values(self.baseline))
        rank = rank_test.lower_rank_of_median(len(values)) if values else 0
        return (values[rank - 1], values[-rank]) if rank else None

    @property
    def change(self) -> tuple[float, float, float] | None:
        """By what part the metric's value has changed, with its interval; None where it has not."""
        if self.ratio is None or not self.is_decided:
            return None
        value, low, high = self.ratio
        if self.series.metric.better == "higher":
            value, low, high = 1 / value, 1 / high, 1 / low
        return value - 1, low - 1, high - 1


def judge(
    every: Sequence[CaseSeries],
    baseline: int = BASELINE,
    threshold: float = THRESHOLD,
    *,
    with_busy: bool = False,
) -> list[Trend]:
    """The verdicts on cases that are shown together; `threshold`: within it they are the same."""
    trends = [_compared(series, baseline, threshold, with_busy=with_busy) for series in every]
    tests = [trend for trend in trends if trend.has_enough]
    corrected = rank_test.holm([trend.p_value for trend in tests])
    decided = {
        id(trend): _decided(trend, p_value, threshold, len(tests))
        for trend, p_value in zip(tests, corrected)
    }
    return [decided.get(id(trend), trend) for trend in trends]


def _compared(series: CaseSeries, most: int, threshold: float, *, with_busy: bool) -> Trend:
    points = series.measured
    used = points if with_busy else [point for point in points if not point.busy]
    used = used[-MOST_VALUES:]
    if len(used) < FEWEST:
        return Trend(series, used, used[:-1][-most:], used[-1:], why=_too_few(points, used))
    logs = logs_of(used, series.metric)
    places = change_points(logs)
    begin, place = 0, _without_change(len(used))
    if places:
        begin, place = _begin(logs, places, threshold), places[-1]
    first = max(begin, place - most)
    before, after = logs[first:place], logs[place:][-most:]
    interval = rank_test.shift_interval(before, after)
    ratio = None
    if interval is not None:
        ratio = Ratio(*map(math.exp, (rank_test.shift(before, after), *interval)))
    return Trend(
        series,
        used,
        used[first:place],
        used[place:],
        bool(places),
        ratio,
        rank_test.u_test(before, after),
        why="" if ratio else "two changes within few launches: take more launches",
    )


def _begin(logs: Sequence[float], places: Sequence[int], threshold: float) -> int:
    """Where the baseline begins: at the newest of the earlier changes that are larger than the
    threshold. Across others it is as it was."""
    for before, place, after in reversed(list(zip([0, *places], places, places[1:]))):
        if abs(rank_test.shift(logs[before:place], logs[place:after])) > math.log1p(threshold):
            return place
    return 0


def _without_change(count: int) -> int:
    """Where the newest launches begin: all of the series are alike."""
    return count - min(_NEWEST, max(FEWEST_APART, count - FEWEST))


def _too_few(points: Sequence[LaunchPoint], used: Sequence[LaunchPoint]) -> str:
    if len(points) >= FEWEST:
        why = next(point.busy for point in reversed(points) if point.busy)
        quiet = f"{len(used)} of {plural(len(points), 'launch')} on a quiet machine"
        return f"{MACHINE_WAS_BUSY}: {why}; {quiet}; --busy takes all"
    return f"{plural(FEWEST - len(used), 'more launch')} decide"


def _decided(trend: Trend, p_value: float, threshold: float, tests: int) -> Trend:
    verdict, why = verdict_of(trend.ratio, p_value, threshold), ""
    is_decided = verdict in (Verdict.FASTER, Verdict.SLOWER)
    value = trend.ratio.value if trend.ratio else 1.0
    if is_decided and not trend.changed:
        verdict, why = Verdict.INCONCLUSIVE, "no change point yet: take more launches"
    elif is_decided and 1 / (1 + threshold) < value < 1 + threshold:
        # Who looks every night would be called for each of these.
        verdict, why = Verdict.INCONCLUSIVE, "it has changed by less than the threshold"
    elif verdict is Verdict.INCONCLUSIVE and trend.changed:
        needed = max(1, _after(tests) - len(trend.newest))
        why = f"a change is not sure yet: take {plural(needed, 'more launch')}"
    elif verdict is Verdict.INCONCLUSIVE:
        why = "launches differ by more than the threshold"
    return replace(trend, verdict=verdict, p_value=p_value, why=why)


def _after(tests: int) -> int:
    """Launches after a change that decide, with a baseline as long as it gets."""
    count = FEWEST_APART
    while 2 / math.comb(BASELINE + count, count) >= rank_test.DECISION / tests:
        count += 1
    return count


def _values(points: Sequence[LaunchPoint]) -> list[float]:
    return [point.median for point in points if point.median is not None]
