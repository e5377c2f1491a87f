"""The history of cases: as a table in the formats of `commlens compare`, and as lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from commlens.base.text import format_ratio, format_value, labelled, plural
from commlens.compare.history.causes import Changed, causes_of
from commlens.compare.history.series import series_of
from commlens.compare.history.store import reading
from commlens.compare.history.trends import Trend, judge
from commlens.model.comparison import Verdict
from commlens.model.rank_test import DECISION
from commlens.render.comparison import Comparison
from commlens.render.table import Column, Line, Table, data

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_BLOCKS = 24
_LEAST_RANGE = 0.1  # of the largest value: noise is no mountain
_LARGE = 2.0  # a change that is read better as a factor
_STYLES = {"slower": "bold red", "fails now": "bold red", "faster": "green", "same": ""}
_DAY = 10  # characters of a time


def history_of(trends: Sequence[Trend], threshold: float) -> Comparison:
    """The table of all cases, and below it since when and why those have changed that did."""
    lines: list[Line] = [
        [(f"  {text}", "bold" if trend.verdict is Verdict.SLOWER else "")]
        for trend, text in explanations(trends)
    ]
    lines += [[(f"  {text}", "dim")] for text in _how(trends, threshold)] if lines else []
    lines.append([(f"  {summary(trends)}", "bold")])
    return Comparison([Table(COLUMNS, trends)], lines, {"threshold": threshold})


def table_of_store(path: Path, benchmarks: Collection[str]) -> Table[Trend] | None:
    """For a report: the cases of these benchmarks, with since when and why below; None where the
    history has none."""
    with reading(path) as connection:
        every = [series for series in series_of(connection) if series.benchmark in benchmarks]
    trends = judge(every)
    notes = [(text, "yellow") for _, text in explanations(trends)]
    return Table(COLUMNS, trends, notes=notes) if trends else None


def _how(trends: Sequence[Trend], threshold: float) -> Iterator[str]:
    tests = plural(sum(trend.has_enough for trend in trends), "case")
    yield (
        f"slower, faster: at a change point (E-divisive), U test, corrected for {tests} (Holm),"
        f" below {DECISION:.2g}; same: within {threshold:.3g}"
    )


def summary(trends: Sequence[Trend]) -> str:
    """`23 cases: 2 slower, 20 same, 1 inconclusive`"""
    words = [trend.word for trend in trends]
    order = ("fails now", *(verdict.value for verdict in Verdict), "not enough launches")
    counts = [f"{words.count(word)} {word}" for word in order if word in words]
    return f"{plural(len(trends), 'case')}: {', '.join(counts)}"


def explanations(trends: Sequence[Trend]) -> Iterator[tuple[Trend, str]]:
    """`latency 8 B, mpi, host: since 2026-03-02: +18% [14, 22]; changed at once: ...`, with the
    first case of those that changed at once in the same way."""
    alike: dict[tuple[str, Verdict, Changed], list[Trend]] = {}
    for trend in trends:
        if trend.since:
            key = trend.since[:_DAY], trend.verdict, causes_of(trend)
            alike.setdefault(key, []).append(trend)
    for (day, verdict, causes), some in alike.items():
        if len(some) == 1:
            yield some[0], f"{some[0].series.name}: {sentence(some[0])}"
        else:
            values = sorted(some, key=lambda trend: trend.change or (0,))
            ends = " to ".join(
                _part((trend.change or (0.0,))[0]) for trend in (values[0], values[-1])
            )
            yield some[0], f"{len(some)} cases {verdict.value} since {day}: {ends}; {causes}"


def sentence(trend: Trend) -> str:
    """`since 2026-03-02: +18% [14, 22]; changed at once: ucx 1.18 → 1.19; not changed: kernel`"""
    return f"since {trend.since[:_DAY]}: {change_text(trend.change)}; {causes_of(trend)}"


def change_text(change: tuple[float, float, float] | None) -> str:
    """`+18% [14, 22]`, `20x [18, 22]`"""
    if change is None:
        return ""
    value, low, high = change
    if value >= _LARGE:
        ends = [format_ratio(1 + end).rstrip("x") for end in (low, high)]
    else:
        ends = [_percent(end).lstrip("+").rstrip("%") for end in (low, high)]
    return f"{_part(value)} [{', '.join(ends)}]"


def _part(value: float) -> str:
    """`+18%`, `-4.2%`, `20x`"""
    return format_ratio(1 + value) if value >= _LARGE else _percent(value)


def _percent(value: float) -> str:
    return f"{100 * value:+.0f}%" if abs(value) >= 0.1 else f"{100 * value:+.1f}%"


def sparkline(values: Sequence[float]) -> str:
    """The newest values as blocks, the lowest as the lowest block."""
    shown = values[-_MOST_BLOCKS:]
    low, high = min(shown), max(shown)
    room = max(high - low, _LEAST_RANGE * high)
    low = max(0.0, (low + high - room) / 2) if high - low < room else low
    steps = (round((value - low) / room * (len(_BLOCKS) - 1)) if room else 0 for value in shown)
    return "".join(_BLOCKS[min(max(step, 0), len(_BLOCKS) - 1)] for step in steps)


def _sparkline(trend: Trend) -> str | None:
    values = [point.median for point in trend.series.measured if point.median is not None]
    return sparkline(values) if values else None


def _last(trend: Trend) -> float | None:
    return trend.series.points[-1].median


def _value(trend: Trend, value: float | None) -> str | None:
    largest = max(_last(trend) or 0, trend.middle or 0)
    return None if value is None else format_value(value, trend.series.metric.unit, largest)


def _interval(trend: Trend) -> str | None:
    ends = trend.interval
    return None if ends is None else " to ".join(str(_value(trend, end)) for end in ends)


def _end_of(number: int, trend: Trend) -> float | None:
    return trend.interval[number] if trend.interval else None


def _of_ratio(name: str, trend: Trend) -> float | None:
    return getattr(trend.ratio, name, None)


def _causes(name: str, trend: Trend) -> str | None:
    return "; ".join(getattr(causes_of(trend), name)) if trend.since else None


COLUMNS: tuple[Column[Trend], ...] = (
    Column("case", lambda trend: trend.series.name, left=True, wraps=True, key="case"),
    data("machine", lambda trend: trend.series.machine),
    Column("launches", _sparkline, left=True, optional=True),
    Column(
        "metric",
        lambda trend: labelled(trend.series.metric.label, trend.series.metric.unit),
        folds=True,
        once=lambda trend: trend.series.metric,
    ),
    data("metric", lambda trend: trend.series.metric.name),
    data("unit", lambda trend: trend.series.metric.unit),
    data("better", lambda trend: trend.series.metric.better),
    Column("last", lambda trend: _value(trend, _last(trend))),
    Column("baseline", lambda trend: _value(trend, trend.middle)),
    Column("95% interval", _interval),
    data("last", _last),
    data("last_time", lambda trend: trend.series.points[-1].time),
    data("baseline", lambda trend: trend.middle),
    data("baseline_low", partial(_end_of, 0)),
    data("baseline_high", partial(_end_of, 1)),
    data("launches", lambda trend: len(trend.series.points)),
    data("baseline_launches", lambda trend: len(trend.baseline)),
    data("newest_launches", lambda trend: len(trend.newest)),
    data("ratio", partial(_of_ratio, "value")),
    data("ratio_low", partial(_of_ratio, "low")),
    data("ratio_high", partial(_of_ratio, "high")),
    data("p_holm", lambda trend: trend.p_value if trend.has_enough else None),
    Column(
        "verdict",
        lambda trend: trend.word,
        left=True,
        style=lambda trend: _STYLES.get(trend.word, "yellow"),
        key="verdict",
    ),
    Column("change", lambda trend: change_text(trend.change), left=True, if_any=True),
    Column(  # which the lines below have too
        "since", lambda trend: trend.since[:_DAY], left=True, if_any=True, optional=True
    ),
    data("since", lambda trend: trend.since or None),
    data("changed", partial(_causes, "changed")),
    data("not_changed", partial(_causes, "same")),
    Column(
        "what to do", lambda trend: trend.why, left=True, style="dim", folds=True, if_any=True,
        key="what_to_do",
    ),
)  # fmt: skip
