"""Which records of two sides are of one case: by the public key of a case, and by nothing else. The
sides may be groups of one set of records: by transport, memory, host, a parameter, a variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from commlens.base.errors import CommlensError
from commlens.base.text import format_bytes, format_count, memory_name, plural, shown
from commlens.model import CaseKey, Metric, Record, case_key, merged_transports, option_text
from commlens.model.record import BYTES
from commlens.model.start import Start

KeyOf = Callable[[Record], CaseKey]
_ALWAYS = ("case", "transport", "memory")  # of the name of a case
UNSET = "not set"
# What --by may name: its value in a record, and the fields of a case's key that follow from it.
_BY_FIELD: dict[str, tuple[Callable[[Record], str], dict[str, Any]]] = {
    "transport": (lambda record: record.transport, {"transport": ""}),
    "memory": (lambda record: record.memory, {"memory": ""}),
    "host": (lambda record: record.start.host, {}),
    "ranks": (lambda record: str(record.ranks), {"ranks": 0, "nodes": 0}),
}


class CaseId(NamedTuple):
    """A case of a comparison."""

    key: CaseKey
    settings: tuple[tuple[str, str], ...]  # of the environment, as far as they differ within a side


@dataclass(frozen=True)
class Side:
    """The records of one side of a comparison."""

    name: str
    records: Sequence[Record]


@dataclass(frozen=True)
class Case:
    """What both sides have measured."""

    name: str
    baseline: Sequence[Record]
    other: Sequence[Record]
    metric: Metric
    note: str = ""  # what part of the launches gave nothing


class Missing(NamedTuple):
    """What has no partner."""

    case: str
    only_in: str


@dataclass
class Matched:
    """The cases of two sides: those to compare, those of one side, and those without a metric."""

    baseline: Side
    other: Side
    cases: list[Case] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # was measured on one side alone
    broken: list[str] = field(default_factory=list)  # names of those that the other side has not
    differences: list[str] = field(default_factory=list)  # between the machines of both sides


def match(baseline: Side, other: Side, key_of: KeyOf = case_key) -> Matched:
    """Each case of one side beside that of the other; what has no partner is named."""
    matched = Matched(baseline, other, differences=_differences(baseline, other))
    identify = _identify([baseline, other], key_of)
    sides: tuple[dict[CaseId, list[Record]], dict[CaseId, list[Record]]] = {}, {}
    for side, cases in zip((baseline, other), sides):
        for record in side.records:
            cases.setdefault(identify(record), []).append(record)
    names = case_names({**sides[0], **sides[1]})
    for case in dict.fromkeys([*sides[0], *sides[1]]):
        name, records = names[case], [cases.get(case) for cases in sides]
        if records[0] is None or records[1] is None:
            only = baseline if records[1] is None else other
            matched.missing.append(Missing(name, only.name))
            if records[1] is None:
                matched.broken.append(name)
        else:
            _add(matched, name, records[0], records[1])
    return matched


def _add(matched: Matched, name: str, baseline: list[Record], other: list[Record]) -> None:
    sides = (matched.baseline, baseline), (matched.other, other)
    measured = [[record for record in runs if record.measured] for _, runs in sides]
    if measured[0] and measured[1]:
        metric = _common_metric(measured[0][0], measured[1][0])
        if metric is None:
            matched.changed.append(f"{name}: the sides have no metric in common")
            return
        notes = [
            f"{len(runs) - len(good)} of {plural(len(runs), 'launch')} of {side.name} gave nothing"
            for (side, runs), good in zip(sides, measured)
            if len(good) < len(runs)
        ]
        matched.cases.append(Case(name, measured[0], measured[1], metric, "; ".join(notes)))
    elif measured[0] or measured[1]:  # both may lack what this build does not have
        side, runs = sides[1 if measured[0] else 0]
        reason = runs[0].reason or runs[0].validation.message or "no reason given"
        matched.changed.append(f"{name}: {runs[0].status} in {side.name} ({reason})")
        if side is matched.other:
            matched.broken.append(name)


def _common_metric(baseline: Record, other: Record) -> Metric | None:
    """The main metric, if both have it and mean the same by it, else the next that they have."""
    return next(
        (
            metric
            for metric in baseline.metrics
            if metric.name in other.statistics
            and (metric.unit, metric.better)
            == (other.start.metrics[metric.name].unit, other.start.metrics[metric.name].better)
        ),
        None,
    )


def _identify(sides: Sequence[Side], key_of: KeyOf) -> Callable[[Record], CaseId]:
    """Settings that vary within a side are part of its cases: records/ may hold several."""
    varying: set[str] = set()
    for side in sides:
        launches = {record.start.start: record.start for record in side.records}
        settings = [start.settings_of_transport for start in launches.values()]
        names = {name for words in settings for name in words}
        varying |= {name for name in names if len({words.get(name) for words in settings}) > 1}

    def identify(record: Record) -> CaseId:
        variables = record.start.settings_of_transport
        settings = tuple((name, variables[name]) for name in sorted(varying) if name in variables)
        return CaseId(key_of(record), settings)

    return identify


def _differences(baseline: Side, other: Side) -> list[str]:
    """Where, with what and how both sides ran, as far as it is not the same."""
    facts: dict[str, tuple[set[str], set[str]]] = {}
    for number, side in enumerate((baseline, other)):
        for start in {record.start.start: record.start for record in side.records}.values():
            for name, text in facts_of(start).items():
                facts.setdefault(name, (set(), set()))[number].add(text)
    texts = {
        name: [", ".join(sorted(texts or {UNSET})) for texts in pair]
        for name, pair in facts.items()
    }
    return [f"{name}: {' → '.join(pair)}" for name, pair in texts.items() if pair[0] != pair[1]]


def facts_of(start: Start) -> dict[str, str]:
    """Where, with what and how a launch ran."""
    words = {"host": start.host, "GPU": start.gpu or "none"}
    words |= {name: str(text) for name, text in start.versions.items()} | start.environment
    words["more ranks than cores"] = "yes" if start.is_oversubscribed else "no"
    return words


_Case = TypeVar("_Case", CaseId, CaseKey)
_Key = TypeVar("_Key", CaseId, CaseKey, int)


def case_names(cases: Mapping[_Case, Sequence[Record]]) -> dict[_Case, str]:
    """`latency 64 KiB, mpi, host`: and of the rest what differs between the cases."""
    return short_names({case: description(case, of[0]) for case, of in cases.items()})


def short_names(described: Mapping[_Key, Mapping[str, str]]) -> dict[_Key, str]:
    """The same of cases that are described already."""
    names = {name for words in described.values() for name in words}
    same = {name for name in names if len({words.get(name) for words in described.values()}) == 1}
    left_out = same.difference(_ALWAYS)
    return {
        case: ", ".join(text for name, text in words.items() if name not in left_out and text)
        for case, words in described.items()
    }


def description(case: CaseId | CaseKey, record: Record) -> dict[str, str]:
    """What the name of a case may have, by the name of each."""
    key, settings = (case.key, case.settings) if isinstance(case, CaseId) else (case, ())
    size, declared = record.size_parameter, record.start.parameters
    words = {"case": key.benchmark, "transport": key.transport, "memory": memory_name(key.memory)}
    if size is not None and size.name in dict(key.parameters):
        assert record.size is not None, "it has a parameter of size"
        size_text = f"{size.title} {format_count(record.size)} {size.unit}".strip()
        words["case"] += f" {format_bytes(record.size) if size.unit == BYTES else size_text}"
    words["backend"], words["timing"] = key.backend, f"timing {key.timing}"
    words["ranks"], words["nodes"] = plural(key.ranks, "rank"), plural(key.nodes, "node")
    for name, value in key.parameters:
        if size is None or name != size.name:
            words[f"parameter {name}"] = f"{declared[name].title} {value}"
    return words | {f"setting {name}": f"{name}={value}" for name, value in settings}


def split(records: Sequence[Record], by: str) -> tuple[list[Side], KeyOf]:
    """A side for each value, the first of which is the baseline, and the key without it.

    Raises CommlensError where there are not two values.
    """
    value_of, key_of = _value_and_key(records, by)
    by_value: dict[str, list[Record]] = {}
    if by == "transport":
        by_value = {name: [] for name in merged_transports(records)}
    for record in records:
        value = value_of(record)
        if value is not None:
            by_value.setdefault(value, []).append(record)
    sides = (Side(value, group) for value, group in by_value.items())
    measured = [side for side in sides if any(record.measured for record in side.records)]
    if len(measured) < 2:
        have = f"all that was measured has {by} {measured[0].name}" if measured else "none has it"
        raise CommlensError(f"--by {by}: {have}; name what differs between these records")
    return measured, key_of


def _value_and_key(
    records: Sequence[Record], by: str
) -> tuple[Callable[[Record], str | None], KeyOf]:
    if by in _BY_FIELD:
        value, changes = _BY_FIELD[by]
        return value, lambda record: case_key(record)._replace(**changes)
    parameters = {
        word: name
        for record in records
        for name, parameter in record.start.parameters.items()
        for word in (name, parameter.title)
    }
    if by in parameters:
        return _by_parameter(parameters[by])
    if any(by in record.start.environment for record in records):
        return lambda record: record.start.environment.get(by, UNSET), case_key
    variables = sorted({name for record in records for name in record.start.environment})
    known = [*_BY_FIELD, *dict.fromkeys(parameters.values())]
    names = ", ".join([*known, *variables])
    raise CommlensError(f"--by {shown(by, 80)}: the records have none; there are {names}")


def _by_parameter(name: str) -> tuple[Callable[[Record], str | None], KeyOf]:
    def value_of(record: Record) -> str | None:
        return option_text(record.parameters[name]) if name in record.parameters else None

    def key_of(record: Record) -> CaseKey:
        key = case_key(record)
        others = tuple((other, text) for other, text in key.parameters if other != name)
        return key._replace(parameters=others)

    return value_of, key_of
