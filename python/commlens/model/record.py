"""One case as it was measured: a line of a file of records, joined with its start.

The struct is the schema, as in start.py: its annotations are evaluated by Python 3.9 too.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Optional

from msgspec import Meta, field

from commlens.model.results import (
    Candidate,
    Ceiling,
    GpuClock,
    Harness,
    Interference,
    PageFaults,
    Part,
    Samples,
    Seconds,
    Statistic,
    Timeline,
    Validation,
    nothing,
)
from commlens.model.start import (
    Absent,
    AtLeastZero,
    Finite,
    Metric,
    Name,
    Parameter,
    Ranks,
    Start,
    Strict,
    Time,
    Value,
)

TIME_METRIC = "time_us"  # of the whole operation: every record that was measured has it
HIDDEN_METRIC = "hidden_communication"  # where parts were timed alone
BYTES = "B"  # the unit of sizes that are shown in KiB, MB ...
OVERLAP_METRIC = "overlap_efficiency"  # ideal over time, where parts were timed alone
_MEMORY = r"^(host|pinned|device|managed)(:(host|pinned|device|managed))?$"


class Record(Strict, frozen=True, tag_field="kind", tag="record", eq=False):
    """One case: what was run, its samples, statistics and validation."""

    schema: Literal[2]
    start: Start
    time: Time
    benchmark: Name
    parameters: Mapping[str, Value]
    ranks: Ranks
    transport: Name
    memory: Annotated[str, Meta(pattern=_MEMORY)]
    harness: Harness
    status: Literal["ok", "failed", "skipped"]
    reason: str
    samples: Samples
    statistics: Mapping[str, Statistic]
    setup_s: Seconds
    validation: Validation
    ceilings: tuple[Ceiling, ...]
    no_ceiling: str = ""
    parts: tuple[Part, ...] = ()
    timeline: Absent[Timeline] = None
    calls: Mapping[str, AtLeastZero] = field(default_factory=nothing)
    facts: Mapping[str, Value] = field(default_factory=nothing)
    series: Mapping[str, list[Optional[Finite]]] = field(default_factory=nothing)
    report: tuple[str, ...] = ()
    candidate: Absent[Candidate] = None
    gpu_clock: Absent[GpuClock] = None
    page_faults: Absent[PageFaults] = None
    interference: Absent[Interference] = None
    libraries: Mapping[str, str] = field(default_factory=nothing)
    selection: Mapping[str, str] = field(default_factory=nothing)

    def __post_init__(self) -> None:
        """Checks what types cannot express: that fields agree with each other."""
        start = self.start
        if self.ranks != start.ranks:
            raise ValueError(f"ranks: {self.ranks}, and its start has {start.ranks}")
        if self.benchmark != start.benchmark.name:
            raise ValueError(f"benchmark: its start is one of '{start.benchmark.name}'")
        _check_names("parameters", self.parameters, start.parameters)
        _check_names("statistics", self.statistics, start.metrics)
        _check_names("facts", self.facts, start.facts)
        self._check_sizes()
        self._check_measured()
        if start.variant is not None and start.variant.name not in self.parameters:
            raise ValueError(f"parameters: '{start.variant.name}' is missing")
        parts = {part.name: part.within for part in self.parts}
        if len(set(parts.values())) > 1:
            raise ValueError("parts: some are within the operation, others alone")
        for number, ceiling in enumerate(self.ceilings):
            if ceiling.part is not None and ceiling.part not in parts:
                raise ValueError(f"ceilings[{number}].part: no part is called '{ceiling.part}'")
            _check_names(f"ceilings[{number}].metrics", ceiling.metrics, start.metrics)

    def _check_sizes(self) -> None:
        for parameter in self.start.size_parameters:
            value = self.parameters.get(parameter.name)
            is_whole = type(value) is int  # True is none
            if value is None or (is_whole and int(value) >= 0):
                continue
            if is_whole or isinstance(value, float) or parameter.unit == BYTES:
                raise ValueError(f"parameters: {parameter.name} is no size: {value}")

    def _check_measured(self) -> None:
        if self.status == "ok" and not (self.statistics and self.samples.values_s):
            raise ValueError("statistics: it is ok, and has none, or no samples")
        for name, statistic in self.statistics.items():
            if self.start.metrics[name].unit and statistic.min < 0:  # a ratio may be negative
                raise ValueError(f"statistics: {name} is negative")
        timeline = self.timeline
        if timeline and any(span.rank >= self.ranks for span in timeline.spans):
            raise ValueError("timeline: a span is of a rank that the record does not have")

    @property
    def metrics(self) -> list[Metric]:
        """Those it has statistics of, in the order in which they are shown."""
        return [metric for name, metric in self.start.metrics.items() if name in self.statistics]

    @property
    def main(self) -> Optional[Metric]:
        """The first of its metrics."""
        declared = self.start.metrics.items()
        return next((metric for name, metric in declared if name in self.statistics), None)

    @property
    def measured(self) -> bool:
        """Whether the case ended well, with a main metric."""
        return self.status == "ok" and self.main is not None

    @property
    def size_parameter(self) -> Optional[Parameter]:
        """What a sweep of this benchmark runs over, if this record has it as a whole number."""
        for parameter in self.start.size_parameters:
            if type(self.parameters.get(parameter.name)) is int:  # True is none
                return parameter
        return None

    @property
    def size(self) -> Optional[int]:
        """The value of that parameter."""
        parameter = self.size_parameter
        return int(self.parameters[parameter.name]) if parameter else None

    @property
    def variant_value(self) -> str:
        """Which of the variants it is: `cached`; empty without variants."""
        variant = self.start.variant
        return option_text(self.parameters[variant.name]) if variant else ""

    def number(self, fact: str) -> Optional[float]:
        """A fact that is a number."""
        value = self.facts.get(fact)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number else None  # type: ignore[arg-type]

    @property
    def ceiling(self) -> Optional[Ceiling]:
        """The tightest ceiling: of those of the hardware for the whole operation, the slowest."""
        of_hardware = (ceiling for ceiling in self.ceilings if not ceiling.library)
        whole = (ceiling for ceiling in of_hardware if ceiling.part is None)
        return max(whole, key=lambda ceiling: ceiling.fraction, default=None)

    @property
    def valid_ceilings(self) -> tuple[Ceiling, ...]:
        """Those that the operation has not exceeded."""
        return tuple(ceiling for ceiling in self.ceilings if not ceiling.is_exceeded)

    @property
    def valid_ceiling(self) -> Optional[Ceiling]:
        """The tightest ceiling, unless it was exceeded: what findings and pictures use."""
        ceiling = self.ceiling
        return None if ceiling is None or ceiling.is_exceeded else ceiling

    @property
    def has_parts_within(self) -> bool:
        """Whether its parts were measured within the operation."""
        return any(part.within for part in self.parts)

    @property
    def alone_s(self) -> dict[str, float]:
        """By stream: its parts one after the other. Empty where parts were measured within."""
        alone: dict[str, float] = {}
        for part in self.parts:
            if not part.within:
                alone[part.stream] = alone.get(part.stream, 0.0) + part.time_s
        return alone

    @property
    def other_s(self) -> Optional[float]:
        """What is left of the time beside the parts within it: waiting, mostly. 0 where they
        overlap; None without such parts."""
        if not self.has_parts_within or self.together_s is None:
            return None
        return max(0.0, self.together_s - sum(part.time_s for part in self.parts))

    @property
    def ideal_s(self) -> Optional[float]:
        """The least that overlap leaves: the longest of the streams alone."""
        return max(self.alone_s.values(), default=None)

    @property
    def together_s(self) -> Optional[float]:
        """The time of the whole operation."""
        time = self.statistics.get(TIME_METRIC)
        return time.median * 1e-6 if time else None

    @property
    def page_fault_share(self) -> float:
        """Of the time of the whole operation, by the least that a page fault takes."""
        faults, time_s = self.page_faults, self.together_s
        if faults is None or not time_s:
            return 0.0
        return min(1.0, faults.per_operation * faults.seconds / time_s)

    @property
    def hidden(self) -> Optional[Statistic]:
        """How much of the shorter streams is hidden behind the longest. None without parts."""
        return self.statistics.get(HIDDEN_METRIC)

    @property
    def missed_half_width(self) -> Optional[float]:
        """Half the interval over the median, where --until-ci asked for less; infinite without an
        interval."""
        wanted, time = self.harness.until_ci_percent, self.statistics.get(TIME_METRIC)
        if not wanted or time is None:
            return None
        reached = time.half_width
        return reached if 100 * reached > wanted else None

    @property
    def efficiency(self) -> Optional[float]:
        """The ideal over the time together: 1 is perfect overlap. None without one of them."""
        ideal = self.ideal_s
        if ideal is None:
            return None
        measured = self.statistics.get(OVERLAP_METRIC)
        if measured:
            return measured.median
        return ideal / self.together_s if self.together_s else None


def is_noise(share: Statistic) -> bool:
    """Whether its interval, or without one its range, spreads by more than the whole."""
    if share.ci_low is None or share.ci_high is None:
        return share.max - share.min > 1
    return share.ci_high - share.ci_low > 1


class CaseKey(NamedTuple):
    """What makes two records records of one case."""

    benchmark: str
    backend: str
    ranks: int
    nodes: int
    timing: str
    memory: str
    transport: str
    parameters: tuple[tuple[str, str], ...]  # those of role size, setting or variant, by name


def case_key(record: Record) -> CaseKey:
    """The key of a case, which follows from the roles that its benchmark declares."""
    parameters, declared = record.parameters, record.start.parameters
    names = sorted(name for name in parameters if declared[name].role != "derived")
    return CaseKey(
        record.benchmark,
        record.start.backend,
        record.ranks,
        record.start.nodes,
        record.harness.timing,
        record.memory,
        record.transport,
        tuple((name, option_text(parameters[name])) for name in names),
    )


def option_text(value: Value) -> str:
    """The value of a parameter as it stands on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_names(where: str, have: Mapping[str, object], declared: Mapping[str, object]) -> None:
    if not have.keys() <= declared.keys():
        name = next(name for name in have if name not in declared)
        raise ValueError(f"{where}: its start does not declare '{name}'")
