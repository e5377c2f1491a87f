"""Pairs of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import median, quantiles

from commlens.base.text import format_value, plural
from commlens.findings.finding import Evidence
from commlens.findings.rule import Seen, observation
from commlens.findings.view import View, is_disturbed, text_of
from commlens.model import Record
from commlens.model.pairs import PairMatrix, RankPair, pair_matrix


def slow_pair(view: View, factor: float, fewest: int) -> Seen:
    """`fewest`: pairs of one kind."""
    known: dict[tuple[str, ...], list[tuple[Record, str, float]]] = {}
    for record in [record for record in view.records if record.series]:
        matrix = pair_matrix(record)
        if matrix is None or not record.measured or is_disturbed(record):
            continue
        key = record.start.start, record.transport, record.memory
        ratio = matrix.metric.ratio(matrix.pairs[0].value, matrix.median)
        entry = record, _slow(record, matrix, factor, fewest), ratio
        known.setdefault(key, []).append(entry)
    for (_, *place), every in known.items():
        slow = [entry for entry in every if entry[1]]
        if len(slow) < min(2, len(every)):
            continue
        worst, sentence, _ = max(slow, key=lambda entry: entry[2])
        where = f"{text_of(worst.start)}, {', '.join(place)}"
        yield observation(Evidence(where, tuple(record for record, *_ in slow)), sentence=sentence)


def _kinds(matrix: PairMatrix, fewest: int) -> Iterator[tuple[list[RankPair], float, str]]:
    """The pairs across nodes, and those within nodes, with what is usual of them, and its name."""
    across = [pair for pair in matrix.pairs if matrix.is_across_nodes(pair)]
    within = [pair for pair in matrix.pairs if not matrix.is_across_nodes(pair)]
    if len(across) >= fewest:
        values = [pair.value for pair in across]
        low, _, high = quantiles(values, n=4, method="inclusive")
        best = low if matrix.metric.better == "lower" else high
        yield across, best, "the best quarter of the pairs across nodes"
    if len(within) >= fewest:
        yield within, median(pair.value for pair in within), "the median within nodes"


def _slow(record: Record, matrix: PairMatrix, factor: float, fewest: int) -> str:
    """What is slow, in a sentence without its full stop; empty: nothing."""
    metric, slowest = matrix.metric, matrix.pairs[0]
    for pairs, reference, name in _kinds(matrix, fewest):
        ratio = metric.ratio(slowest.value, reference)
        slow = [pair for pair in pairs if metric.ratio(pair.value, reference) >= factor]
        # Beside a pair that is 100 times worse, one that is 1.6 times worse is no second one.
        counted = [pair for pair in slow if metric.ratio(pair.value, reference) >= sqrt(ratio)]
        again = record.statistics[metric.name]
        end = again.ci_low if metric.better == "lower" else again.ci_high
        # The slowest pair was measured again by itself, as the record's own samples.
        is_sure = end is not None and metric.ratio(end, reference) >= factor
        if slowest in slow and is_sure:
            value = f"{format_value(slowest.value, metric.unit)} {metric.unit}"
            return (
                f"{_extent(matrix, pairs, slow, counted)}: {matrix.describe(slowest)} has {value},"
                f" {ratio:.1f} times worse than {name}"
            )
    return ""


def _extent(
    matrix: PairMatrix,
    pairs: Sequence[RankPair],
    slow: Sequence[RankPair],
    counted: Sequence[RankPair],
) -> str:
    """`All pairs of node n2 are slow`, where that explains most of the slow pairs."""
    places = {(pair.first, pair.second) for pair in slow}
    worst = slow[0].first, slow[0].second
    fitting = [
        (name, members)
        for name, members in _candidates(matrix, pairs)
        if len(members) > 1 and worst in members and members <= places
    ]
    if fitting:
        name, members = max(fitting, key=lambda entry: len(entry[1]))  # of equal ones the first
        others = len({(pair.first, pair.second) for pair in counted} - members)
        return name + (f", and {plural(others, 'other pair')}" if others else "")
    if len(counted) > 1:
        return f"{len(counted)} of {len(pairs)} pairs are slow"
    return "A pair of ranks is slow"


def _candidates(
    matrix: PairMatrix, pairs: Sequence[RankPair]
) -> Iterator[tuple[str, set[tuple[int, int]]]]:
    """What can be slow, with the pairs that would be."""
    hosts = [place.host for place in matrix.placement]
    names = list(dict.fromkeys(hosts))

    def chosen(first: str | int | None, second: str | int | None) -> set[tuple[int, int]]:
        return {
            (pair.first, pair.second)
            for pair in pairs
            if first in (None, pair.first, hosts[pair.first])
            and second in (None, pair.second, hosts[pair.second])
        }

    parts: list[tuple[str, str | int]] = [(f"node {name}", name) for name in names]
    for place in matrix.placement:
        gpu = f", GPU {place.device.ordinal}" if place.device else ""
        parts.append((f"rank {place.rank} ({place.host}{gpu})", place.rank))
    if not matrix.is_symmetric:
        for first in names:
            for second in names:
                yield f"The link from node {first} to node {second} is slow", chosen(first, second)
        for text, part in parts:
            yield f"All that {text} sends is slow", chosen(part, None)
            yield f"All that {text} receives is slow", chosen(None, part)
    for text, part in parts:
        yield f"All pairs of {text} are slow", chosen(part, None) | chosen(None, part)
