"""The parts of a multigrid solve by level, by their names, as levels.yaml describes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from commlens import knowledge
from commlens.model.record import Record
from commlens.model.results import Span, Timeline

_NAME = re.compile(r"(?P<level>p\d+) (?P<kind>.+?)(?: (?P<type>f\d+))?")


class LevelNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of levels.yaml, which explains each list."""

    solver: str
    type_of_solver: str
    levels: dict[str, str]
    communication: list[str]


@cache
def _names() -> LevelNames:
    return knowledge.load("levels", LevelNames)


class LevelPart(NamedTuple):
    """A part of a solve: its level, and its kind."""

    level: str  # `p7`
    kind: str  # what is done there, the same on all levels


@cache
def place_of(part: str) -> LevelPart:
    """Of a part of a solve."""
    names = _names()
    match = _NAME.fullmatch(part)
    if match is None:
        return LevelPart(names.levels.get(part, names.solver), part)
    is_solver = match["type"] == names.type_of_solver
    return LevelPart(names.solver if is_solver else match["level"], match["kind"])


def has_levels(record: Record) -> bool:
    """Whether the record has parts of several levels."""
    return record.has_parts_within and any(_NAME.fullmatch(part.name) for part in record.parts)


def times_by_level(record: Record) -> dict[str, dict[str, float]]:
    """Seconds of each kind of part, by level: the solver, and the levels from the finest."""
    by_level: dict[str, dict[str, float]] = {}
    for part in record.parts:
        level, kind = place_of(part.name)
        by_kind = by_level.setdefault(level, {})
        by_kind[kind] = by_kind.get(kind, 0.0) + part.time_s
    return {level: by_level[level] for level in sorted(by_level, key=depth)}


def times_by_kind(record: Record) -> dict[str, float]:
    """Seconds of each kind of part, over all levels."""
    totals: dict[str, float] = {}
    for by_kind in times_by_level(record).values():
        for kind, seconds in by_kind.items():
            totals[kind] = totals.get(kind, 0.0) + seconds
    return totals


def communication_s(times: Mapping[str, float]) -> float:
    """Of times by kind: between ranks, but for what is within a part of another kind."""
    return sum(times.get(kind, 0.0) for kind in _names().communication)


def depth(level: str) -> int:
    """Sorts levels: the solver, and then from the finest."""
    return -1_000_000 if level == _names().solver else -int(level[1:])


class Iteration(NamedTuple):
    """The spans of one iteration of a timeline."""

    number: int  # from 1
    of: int
    timeline: Timeline  # whose streams are the levels, from the begin of the iteration


def middle_iteration(timeline: Timeline) -> Iteration | None:
    """A V-cycle, and what the solver does until the next one. None without a second V-cycle."""
    ranks = sorted({span.rank for span in timeline.spans})
    by_rank = {
        rank: _iterations([span for span in timeline.spans if span.rank == rank]) for rank in ranks
    }
    count = min((len(iterations) for iterations in by_rank.values()), default=0)
    if count < 2:
        return None
    number = (count + 1) // 2
    chosen = [span for iterations in by_rank.values() for span in iterations[number - 1]]
    start = min(span.start_us for span in chosen)
    first_step = {rank: iterations[number - 1][0].step for rank, iterations in by_rank.items()}
    spans = [
        Span(
            rank=span.rank,
            stream=place_of(span.part).level,
            part=span.part,
            step=max(0, span.step - first_step[span.rank]),
            start_us=span.start_us - start,
            end_us=span.end_us - start,
        )
        for span in chosen
    ]
    spans.sort(key=lambda span: (span.rank, depth(span.stream), span.start_us))
    return Iteration(number, count, Timeline(max(span.end_us for span in spans), spans))


def _iterations(spans: list[Span]) -> list[list[Span]]:
    """Of one rank: each begins with a V-cycle. What comes before the first one is left out."""
    iterations: list[list[Span]] = []
    before = solver = _names().solver
    for span in sorted(spans, key=lambda span: span.start_us):
        level = place_of(span.part).level
        if level != solver and before == solver:
            iterations.append([])
        if iterations:
            iterations[-1].append(span)
        before = level
    return iterations
