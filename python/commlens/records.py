"""Reads files of records, and sorts records into cases: what can stand in one table or one panel of a picture."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import ValidationError

from commlens import profile_record
from commlens.errors import CommlensError
from commlens.schema import validator
from commlens.text import format_bytes, format_count, library_name

OVERLAP_FIGURE = "overlap_efficiency"

# The parameters that give a record's size in bytes, and those that say again which memory and transport it used.
_SIZE_PARAMETERS = ("bytes", "size", "count")
_REPEATED_PARAMETERS = ("memory", "from", "to", "transport")
Fact = bool | int | float | str

_DTYPE_BYTES = {"i32": 4, "f32": 4, "f64": 8, "c64": 8, "c128": 16}

_TRANSPORT_ORDER = ("mpi", "staged", "ccl")

# Settings that change how bytes travel; what launchers put into the environment of each job is not among them.
_SETTINGS = re.compile(
    r"(UCX|NCCL|RCCL|FI|MPICH|MV2|PSM2?|HSA|CUDA|HIP)_"
    r"|OMPI_MCA_(pml|btl|mtl|coll|osc|smsc|accelerator|opal_common_ucx|opal_cuda)"
)
_PER_JOB = re.compile(r"(CUDA|HIP)_VISIBLE_DEVICES|PSM2_DEVICES")


@dataclass(frozen=True)
class Statistic:
    """The median of a figure with its 95% confidence interval, None for too few samples; the unit is in the name."""

    median: float
    ci_low: float | None
    ci_high: float | None
    minimum: float | None = None  # None where it is not known


@dataclass(frozen=True)
class Ceiling:
    name: str
    fraction: float  # ceiling time over median time: 1 is all that the hardware can give
    figures: Mapping[str, float]  # each figure as it would be at this ceiling; of a part's ceiling none
    rate: tuple[str, float] | None  # what was reached, under its name in the record, in whose end the unit is
    time_s: float
    library: bool = False  # what a library gives for a shape; the hardware may give more
    part: str | None = None  # the part whose ceiling it is; None: that of the whole operation


@dataclass(frozen=True)
class Part:
    """A part of an operation.

    Either measured alone, where parts of different streams may overlap and those of one stream cannot; or `within` the
    operation, of whose time it is a share.
    """

    name: str
    stream: str
    time_s: Statistic
    within: bool = False


@dataclass(frozen=True)
class Span:
    """One step of one part on one rank, in seconds from the start of the operation."""

    rank: int
    stream: str
    part: str
    step: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Timeline:
    """One operation, step by step."""

    time_s: float
    spans: Sequence[Span]


@dataclass(frozen=True)
class Candidate:
    """One of several ways of doing the same, of which an application uses the one with the fewest seconds."""

    name: str
    seconds: float
    text: str  # the name and its times, in the application's words


@dataclass(frozen=True)
class Record:
    """One record, as far as tables and pictures need it."""

    run: str
    time: str
    benchmark: str
    parameters: Mapping[str, Any]
    timing: str
    transport: str
    memory: str
    backend: str
    ranks: int
    nodes: int
    placement: Sequence[Mapping[str, Any]]
    warnings: Sequence[str]
    versions: Mapping[str, str]
    environment: Mapping[str, str]
    status: str
    reason: str
    figures: Sequence[tuple[str, str]]  # name and which is better: "lower" or "higher"
    statistics: Mapping[str, Statistic]
    validation: Mapping[str, Any]
    ceilings: Sequence[Ceiling]
    notes: Sequence[str]
    parts: Sequence[Part]  # all of them alone, or all of them within the operation
    timeline: Timeline | None
    variant: str | None  # the parameter in which the records of one start differ, and by which they are compared
    calls: Mapping[str, float]  # of each function of MPI in an operation, mean over ranks
    facts: Mapping[str, Fact]  # what was counted or found; a unit is the end of its name
    series: Mapping[str, Sequence[float | None]]  # a value a step; None where it is not a finite number
    report: Sequence[str]  # in the application's own words; blocks part at empty lines
    candidate: Candidate | None

    @property
    def size(self) -> int | None:
        """Bytes of one message or array; None for a benchmark without a size in bytes."""
        for name in _SIZE_PARAMETERS:
            value = self.parameters.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value * _DTYPE_BYTES.get(str(self.parameters.get("dtype")), 1) if name == "count" else value
        return None

    @property
    def figure(self) -> str | None:
        """The benchmark's own figure."""
        return self.figures[0][0] if self.figures else None

    @property
    def measured(self) -> bool:
        return self.status == "ok" and self.figure in self.statistics

    @property
    def ceiling(self) -> Ceiling | None:
        """The lowest of the hardware's ceilings of the whole: the one that the measurement is nearest to."""
        ours = [ceiling for ceiling in self.ceilings if not ceiling.library and ceiling.part is None]
        return max(ours, key=lambda ceiling: ceiling.fraction, default=None)

    def figure_in(self, unit: str) -> str | None:
        """The first figure with this end of its name: `rank_GFLOPs` for `GFLOPs`."""
        names = (name for name, _ in self.figures if name in self.statistics)
        return next((name for name in names if f"_{name}".endswith(f"_{unit}")), None)

    def number(self, fact: str) -> float | None:
        """A fact that is a number."""
        value = self.facts.get(fact)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def variant_value(self) -> str:
        """Which of the variants it is: `cached`; empty without variants."""
        return option_text(self.parameters[self.variant]) if self.variant else ""

    @property
    def has_parts_within(self) -> bool:
        return any(part.within for part in self.parts)

    @property
    def alone_s(self) -> dict[str, float]:
        """What each stream takes by itself: its parts, one after the other. Empty where parts were measured within."""
        alone: dict[str, float] = {}
        for part in self.parts:
            if not part.within:
                alone[part.stream] = alone.get(part.stream, 0.0) + part.time_s.median
        return alone

    @property
    def other_s(self) -> float | None:
        """What is left of the time beside the parts within it: waiting, mostly. 0 where they overlap; None without."""
        if not self.has_parts_within or self.together_s is None:
            return None
        return max(0.0, self.together_s - sum(part.time_s.median for part in self.parts))

    @property
    def ideal_s(self) -> float | None:
        """The least that overlap leaves: the longest of the streams. None without parts measured alone."""
        return max(self.alone_s.values(), default=None)

    @property
    def together_s(self) -> float | None:
        """The time of the whole operation."""
        time = self.statistics.get("time_us")
        return time.median * 1e-6 if time else None

    @property
    def efficiency(self) -> float | None:
        """The ideal over the time together: 1 is perfect overlap. None without an ideal, or without a time."""
        if self.ideal_s is None:
            return None
        figure = self.statistics.get(OVERLAP_FIGURE)
        if figure:
            return figure.median
        return self.ideal_s / self.together_s if self.together_s else None

    @property
    def host(self) -> str:
        return str(self.placement[0]["host"]) if self.placement else "unknown host"

    @property
    def gpu(self) -> str | None:
        names = [str(rank["device"]["name"]) for rank in self.placement if "device" in rank]
        return names[0] if names else None

    @property
    def mpi(self) -> str:
        return library_name(self.versions.get("mpi", ""))

    @property
    def settings(self) -> dict[str, str]:
        """The environment that changes how bytes travel."""
        return {
            name: value
            for name, value in self.environment.items()
            if _SETTINGS.match(name) and not _PER_JOB.fullmatch(name)
        }


@dataclass(frozen=True)
class Loaded:
    records: list[Record]
    problems: list[str]  # "file:line: what is wrong with the line"
    profiles: list[profile_record.Profile]


def load(paths: Iterable[Path]) -> Loaded:
    """The records and profiles in the files, and in the *.jsonl files of the folders; any other line becomes a problem.

    Raises CommlensError for a file that cannot be read and for a folder without records.
    """
    loaded = Loaded([], [], [])
    for path in paths:
        for file in _files(path):
            for number, line in enumerate(_lines(file), start=1):
                try:
                    if profile_record.is_profile(line):
                        loaded.profiles.append(profile_record.parse(line))
                    else:
                        loaded.records.append(parse(line))
                except ValueError as error:
                    loaded.problems.append(f"{file}:{number}: {error}")
    return loaded


def parse(line: str) -> Record:
    """The record in one line of JSON. Raises ValueError, which says what is wrong with it."""
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        cut = "" if line.endswith("\n") else "; its line was cut short"
        raise ValueError(f"not a record (not JSON: {error.msg}{cut})") from None
    if not isinstance(data, dict):
        raise ValueError("not a record (not a JSON object)")
    _check(data)
    _check_names(data)
    return Record(
        **{name: data[name] for name in _COPIED_FIELDS},
        timing=data["harness"]["timing"],
        figures=[(figure["name"], figure["better"]) for figure in data["figures"]],
        statistics={name: _statistic(entry) for name, entry in data["statistics"].items()},
        ceilings=[_ceiling(entry) for entry in data["ceilings"]],
        notes=data.get("notes", []),
        parts=[
            Part(
                entry["name"],
                entry["stream"],
                _statistic(entry["statistics"]["time_us"], 1e-6),
                within=entry.get("within", False),
            )
            for entry in data.get("parts", [])
        ],
        timeline=_timeline(data["timeline"]) if "timeline" in data else None,
        variant=data.get("variant"),
        calls=data.get("calls", {}),
        facts=data.get("facts", {}),
        series=data.get("series", {}),
        report=data.get("report", []),
        candidate=Candidate(**data["candidate"]) if "candidate" in data else None,
    )


def _statistic(entry: Mapping[str, Any], factor: float = 1) -> Statistic:
    low, high = (None if end is None else end * factor for end in (entry["ci_low"], entry["ci_high"]))
    return Statistic(entry["median"] * factor, low, high, entry["min"] * factor)


def _ceiling(entry: Mapping[str, Any]) -> Ceiling:
    return Ceiling(
        name=entry["name"],
        fraction=entry["fraction"],
        figures=entry.get("figures", {}),
        rate=next(((name, entry[name]) for name in _CEILING_RATES if name in entry), None),
        time_s=entry["time_us"] * 1e-6,
        library=entry.get("library", False),
        part=entry.get("part"),
    )


def _timeline(entry: Mapping[str, Any]) -> Timeline:
    spans = [
        Span(span["rank"], span["stream"], span["part"], span["step"], span["start_us"] * 1e-6, span["end_us"] * 1e-6)
        for span in entry["spans"]
    ]
    return Timeline(entry["time_us"] * 1e-6, spans)


_CEILING_RATES = ("copy_GBps", "gemm_TFLOPs")


_COPIED_FIELDS = (
    "run", "time", "benchmark", "parameters", "transport", "memory", "backend", "ranks", "nodes", "placement",
    "warnings", "versions", "environment", "status", "reason", "validation",
)  # fmt: skip


def _check(data: Mapping[str, Any]) -> None:
    # The samples may be many thousands and are not looked at here: the walk over them would take most of the time.
    light = dict(_with_one_sample(data))
    if isinstance(light.get("parts"), list):
        light["parts"] = [_with_one_sample(part) for part in light["parts"]]
    try:
        validator("record").validate(light)
    except ValidationError as error:
        where = "/".join(str(part) for part in error.absolute_path) or "the record"
        raise ValueError(f"not a record of schema 1 ({where}: {_shortened(error.message)})") from None


def _check_names(data: Mapping[str, Any]) -> None:
    """What the schema cannot say: that a name in one place is there in another, and that parts are of one kind."""
    variant = data.get("variant")
    if variant is not None and variant not in data["parameters"]:
        raise ValueError(f"not a record of schema 1 (variant: no parameter is called '{variant}')")
    parts = {part["name"]: part.get("within", False) for part in data.get("parts", [])}
    if len(set(parts.values())) > 1:
        raise ValueError("not a record of schema 1 (parts: some are within the operation, others alone)")
    for number, ceiling in enumerate(data["ceilings"]):
        if ceiling.get("part") not in (None, *parts):
            raise ValueError(
                f"not a record of schema 1 (ceilings/{number}/part: no part is called '{ceiling['part']}')"
            )


def _with_one_sample(holder: Any) -> Any:
    """The record, or its part, with the first of its samples alone; what is neither as it is."""
    match holder:
        case {"samples": {"values_s": list(values), **others}}:
            return {**holder, "samples": {**others, "values_s": values[:1]}}
    return holder


def _shortened(message: str, width: int = 120) -> str:
    return message if len(message) <= width else message[: width - 3] + "..."


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise CommlensError(f"{path} is a folder without a file of records (*.jsonl)")
    return files


def _lines(file: Path) -> Iterator[str]:
    try:
        if file.exists() and not file.is_file():
            raise CommlensError(f"{file} is a device or a pipe: write what it holds to a file, and name that")
        with file.open(encoding="utf-8", errors="replace") as stream:
            yield from stream
    except OSError as error:
        raise CommlensError(f"{file} cannot be read: {error.strerror}") from None


@dataclass(frozen=True)
class Case:
    """Records of one benchmark with the same parameters, over sizes, transports, memories and runs."""

    benchmark: str
    parameters: Mapping[str, Any]  # without those in which the records differ
    ranks: int
    timing: str
    is_sweep: bool
    swept: str | None  # the parameter that a sweep is over; None: the size in bytes
    records: Sequence[Record]
    variants: Mapping[str, str]  # what sets a run apart, where several measured the same; else empty
    compared: str | None = None  # the parameter in which the records of one start differ on purpose

    def size(self, record: Record) -> int | None:
        """Where the record stands in a sweep, or what all of a case have in common; None where there is no size."""
        return _size(record, self.swept)

    def format_size(self, size: int) -> str:
        """`64 MiB`; of a parameter that is not in bytes the number alone."""
        return format_bytes(size) if self.swept is None else format_count(size)

    @property
    def settings(self) -> dict[str, str]:
        """The parameters as texts by the names of their options, without those that are empty."""
        texts = {name: option_text(value) for name, value in self.parameters.items()}
        return {name.replace("_", "-"): text for name, text in texts.items() if text}

    @property
    def size_name(self) -> str:
        return "size" if self.swept is None else self.swept.replace("_", "-")

    @property
    def sizes(self) -> list[int]:
        return sorted({size for record in self.records if (size := self.size(record)) is not None})

    @property
    def memories(self) -> list[str]:
        return sorted({record.memory for record in self.records})

    @property
    def compared_values(self) -> list[str]:
        """Those of `compared`, as they were measured: others are compared with the first. Empty without it."""
        return list(dict.fromkeys(record.variant_value for record in self.records)) if self.compared else []

    def variant_label(self, record: Record) -> str:
        """What sets the record apart from others of its size, transport and memory; empty where it is the only one."""
        return ", ".join(filter(None, (record.variant_value, self.variants.get(record.run, ""))))

    def variant_number(self, record: Record) -> int:
        """Which of the variants the record belongs to; 0 where there are none."""
        runs, values = list(dict.fromkeys(self.variants.values())), self.compared_values or [""]
        run = runs.index(self.variants[record.run]) if runs else 0
        return run * len(values) + values.index(record.variant_value)

    def best(self, record: Record) -> float | None:
        """How many times worse the record is than the best one of its size and memory; None where it is alone."""
        place = self.size(record), record.memory
        rivals = [rival for rival in self.records if rival.measured and (self.size(rival), rival.memory) == place]
        if not record.measured or len(rivals) < 2:
            return None
        name, better = record.figures[0]
        medians = [rival.statistics[name].median for rival in rivals if name in rival.statistics]
        own = record.statistics[name].median
        worse, good = (own, min(medians)) if better == "lower" else (max(medians), own)
        return worse / good if good > 0 else math.inf

    def is_used(self, record: Record) -> bool:
        """Whether it is the candidate of its start and size that an application would use."""
        place = record.run, self.size(record)
        rivals = [rival for rival in self.records if rival.measured and (rival.run, self.size(rival)) == place]
        candidates = [rival for rival in rivals if rival.candidate]
        return record is min(candidates, key=lambda rival: rival.candidate.seconds, default=None)  # type: ignore[union-attr]

    def at_best_size(self) -> list[Record]:
        """Of each transport, memory and variant the measured record that is best by the benchmark's own figure."""
        found: dict[tuple[object, ...], Record] = {}
        for record in self.records:
            place = transport_order(record.transport), record.memory, self.variant_number(record)
            if record.measured and (place not in found or _is_better(record, found[place])):
                found[place] = record
        return [found[place] for place in sorted(found)]


def _is_better(record: Record, other: Record) -> bool:
    name, better = record.figures[0]
    difference = record.statistics[name].median - other.statistics[name].median
    return difference < 0 if better == "lower" else difference > 0


def cases(records: Iterable[Record]) -> list[Case]:
    """The records by case, in the order in which the cases were first met.

    A run over one size and a run over many stay apart: the first is a figure to compare, the second a curve.
    """
    records = list(records)
    swept = _swept_parameters(records)
    sizes_of_run: dict[tuple[object, ...], set[int | None]] = {}
    for record in records:
        name = swept[_run_key(record)]
        sizes_of_run.setdefault((record.run, *_key(record, name)), set()).add(_size(record, name))
    groups: dict[tuple[str | None, bool, tuple[object, ...]], list[Record]] = {}
    for record in records:
        name = swept[_run_key(record)]
        is_sweep = len(sizes_of_run[record.run, *_key(record, name)]) > 1
        place = (name, True, _key(record, name)) if is_sweep else (None, False, (*_key(record, None), record.size))
        groups.setdefault(place, []).append(record)
    return [_case(own, name, is_sweep) for (name, is_sweep, _), own in groups.items()]


def _swept_parameters(records: Iterable[Record]) -> dict[tuple[object, ...], str | None]:
    """By run and benchmark: the parameter that its records are a sweep over, None for the size in bytes."""
    runs: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        runs.setdefault(_run_key(record), []).append(record)
    return {key: _swept_parameter(own) for key, own in runs.items()}


def _swept_parameter(records: Sequence[Record]) -> str | None:
    """The number in which the records of one transport and memory differ; of several, the one with the most values."""
    if any(record.size is not None for record in records):
        return None
    series: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        series.setdefault((record.transport, record.memory), []).append(record)
    most: dict[str, int] = {}
    for own in series.values():
        for name in own[0].parameters:
            values = {_size(record, name) for record in own}
            if len(values) > 1 and None not in values:
                most[name] = max(most.get(name, 0), len(values))
    return max(most, key=lambda name: most[name], default=None)


def option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _size(record: Record, swept: str | None) -> int | None:
    if swept is None:
        return record.size
    value = record.parameters.get(swept)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _run_key(record: Record) -> tuple[object, ...]:
    return record.run, record.benchmark, record.ranks, record.nodes, record.backend, record.timing


def _key(record: Record, swept: str | None) -> tuple[object, ...]:
    parameters = json.dumps(_case_parameters(record, swept), sort_keys=True)
    return record.benchmark, record.ranks, record.nodes, record.backend, record.timing, record.variant, parameters


def _case_parameters(record: Record, swept: str | None) -> dict[str, Any]:
    left_out = (*_SIZE_PARAMETERS, *_REPEATED_PARAMETERS, swept, record.variant)
    return {name: value for name, value in record.parameters.items() if name not in left_out}


def _case(records: Sequence[Record], swept: str | None, is_sweep: bool) -> Case:
    first = records[0]

    def order(record: Record) -> tuple[object, ...]:
        return _size(record, swept) or 0, transport_order(record.transport), record.memory

    return Case(
        benchmark=first.benchmark,
        parameters=_case_parameters(first, swept),
        ranks=first.ranks,
        timing=first.timing,
        is_sweep=is_sweep,
        swept=swept,
        records=sorted(records, key=order),
        variants=_variants(records, swept),
        compared=first.variant,
    )


def transport_order(transport: str) -> tuple[int, str]:
    """Sorts transports in the one order in which they are always shown."""
    known = transport in _TRANSPORT_ORDER
    return (_TRANSPORT_ORDER.index(transport) if known else len(_TRANSPORT_ORDER)), transport


def _variants(records: Sequence[Record], swept: str | None) -> dict[str, str]:
    """A label for each run where several runs measured the same thing: the settings in which they differ."""
    runs = {record.run: record for record in records}
    cells = [(_size(record, swept), record.transport, record.memory, record.variant_value) for record in records]
    if len(runs) == 1 or len(set(cells)) == len(cells):
        return {}
    described = {run: {"host": record.host, "MPI": record.mpi, **record.settings} for run, record in runs.items()}
    names = sorted({name for description in described.values() for name in description})
    differing = [name for name in names if len({description.get(name) for description in described.values()}) > 1]
    labels = {run: _variant_label(description, differing) for run, description in described.items()}
    # Runs with the same settings that measured different things are one variant; those that repeat something are not.
    for label in set(labels.values()):
        alike = [run for run in runs if labels[run] == label]
        own = [cell for cell, record in zip(cells, records, strict=True) if record.run in alike]
        if len(set(own)) < len(own):
            labels |= {run: f"{label} run {number}" for number, run in enumerate(alike, start=1)}
    return labels


def _variant_label(description: Mapping[str, str], names: Iterable[str]) -> str:
    parts = []
    for name in names:
        if name in ("host", "MPI"):
            parts.append(description[name])
        elif name in description:
            parts.append(f"{name.removeprefix('OMPI_MCA_')}={description[name]}")
    return ", ".join(parts) or "default settings"
