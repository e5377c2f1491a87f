"""What a record consists of: samples, statistics, validation, parts, timeline, ceilings.

The structs are the schema, as in start.py: their annotations are evaluated by Python 3.9 too.
"""

from array import array
from collections.abc import Mapping, Sequence
from statistics import mean, median
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple, Optional, TypeVar

from msgspec import Meta

from commlens.model.rank_test import lower_rank_of_median
from commlens.model.start import (
    LARGEST,
    Absent,
    AtLeastOne,
    AtLeastZero,
    Count,
    Name,
    Number,
    Positive,
    Strict,
)

if TYPE_CHECKING:
    Samples_s = array[float]
else:
    Samples_s = array  # eight bytes a sample; the module array has no types of elements before 3.12

Seconds = AtLeastZero
Share = Annotated[float, Meta(ge=0, le=1)]
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_Statistic = TypeVar("_Statistic", bound="Statistic")


def nothing() -> Mapping[str, Any]:
    """One empty mapping for all records: those of a hundred thousand would take 30 MB."""
    return _NOTHING


class Interval(NamedTuple):
    """A median with its 95% confidence interval, None for too few samples, in a unit of choice."""

    median: float
    ci_low: Optional[float]
    ci_high: Optional[float]
    min: Optional[float] = None


class GpuClock(Strict, frozen=True):
    """Of the GPUs' multiprocessors, right after the samples."""

    least_MHz: AtLeastZero  # noqa: N815
    highest_MHz: AtLeastZero  # noqa: N815
    limits: tuple[Literal["power", "temperature", "setting"], ...]


class PageFaults(Strict, frozen=True):
    """The kernel mapped pages while a rank operated: mostly new ones, which it clears."""

    per_operation: Positive
    seconds: Seconds


class OtherProgram(Strict, frozen=True):
    """A process outside the job that ran on its cores."""

    name: str
    host: str
    cores: AtLeastZero


class SharedGpu(Strict, frozen=True):
    """A GPU of the job on which other processes have memory or work."""

    host: str
    ordinal: Count
    processes: tuple[str, ...]
    utilization: Absent[Share] = None


class Interference(Strict, frozen=True):
    """What other programs and the hypervisor took from the job while a case ran."""

    seconds: Seconds
    cores: AtLeastOne
    busy_cores: Absent[AtLeastZero] = None
    stolen_cores: Absent[AtLeastZero] = None
    waiting_fraction: Absent[Share] = None
    switches_per_sample: Absent[AtLeastZero] = None
    programs: tuple[OtherProgram, ...] = ()
    gpus: tuple[SharedGpu, ...] = ()


class Statistic(Strict, frozen=True):
    """Of a metric over the samples; the unit is the metric's."""

    count: AtLeastOne
    median: Number
    ci_low: Optional[Number]
    ci_high: Optional[Number]
    confidence: Annotated[float, Meta(ge=0.95, le=0.95)]
    min: Number
    mean: Number
    p95: Number
    p99: Number
    max: Number

    def __post_init__(self) -> None:
        if (self.ci_low is None) != (self.ci_high is None):
            raise ValueError("ci_low and ci_high: one is null, the other is not")
        low, high = self.ci_low, self.ci_high
        if low is None or high is None:
            low = high = self.median
        if not self.min <= low <= self.median <= high <= self.max:
            raise ValueError("min, ci_low, median, ci_high and max do not rise in this order")

    @classmethod
    def of(cls: type[_Statistic], values: Sequence[float]) -> _Statistic:
        """Of one value or more, by the definitions of src/measure/statistics.cpp."""
        ordered = sorted(values)
        rank = lower_rank_of_median(len(ordered))
        return cls(
            count=len(ordered),
            median=median(ordered),
            ci_low=ordered[rank - 1] if rank else None,
            ci_high=ordered[-rank] if rank else None,
            confidence=0.95,
            min=ordered[0],
            mean=mean(ordered),
            p95=_percentile(ordered, 95),
            p99=_percentile(ordered, 99),
            max=ordered[-1],
        )

    @property
    def half_width(self) -> float:
        """Of the interval, over the median; infinite without an interval."""
        if self.ci_low is None or self.ci_high is None or not self.median:
            return float("inf")
        return (self.ci_high - self.ci_low) / 2 / abs(self.median)

    @property
    def interval(self) -> tuple[Optional[float], Optional[float]]:
        """That of the median; none for too few samples."""
        return self.ci_low, self.ci_high

    def scaled(self, factor: float) -> Interval:
        """The median with its interval, times this factor."""
        low, high = (None if end is None else end * factor for end in self.interval)
        return Interval(self.median * factor, low, high, self.min * factor)

    @property
    def drawn(self) -> tuple[float, float]:
        """What a picture shows around the median: its interval, if it has one."""
        low, high = self.interval
        return (self.median, self.median) if low is None or high is None else (low, high)


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """The least value that so many percent do not exceed."""
    return ordered[-(-len(ordered) * percent // 100) - 1]


class LaunchesStatistic(Statistic, frozen=True):
    """Over the medians of several launches."""

    @property
    def interval(self) -> tuple[Optional[float], Optional[float]]:
        """The range of the launches: how far they spread."""
        return self.min, self.max


class Harness(Strict, frozen=True):
    """How samples were taken."""

    timing: Literal["batch", "each"]
    repeat: AtLeastOne
    warmup: Count
    batches: AtLeastOne
    min_time_s: Seconds = 0.0
    until_ci_percent: AtLeastZero = 0.0
    max_time_s: AtLeastZero = 60.0


class Samples(Strict, frozen=True):
    """All samples of a case."""

    operation: str
    values_s: Samples_s


class Deviation(Strict, frozen=True):
    """Of results that are right to rounding only, from what they would be exactly."""

    largest: Annotated[float, Meta(ge=0, le=LARGEST)]
    total: Annotated[float, Meta(ge=0, le=LARGEST)]


class Validation(Strict, frozen=True):
    """Whether results were right."""

    status: Literal["passed", "failed", "off", "not reached"]
    checks: Count
    elements: Count
    message: str
    exact: bool = True
    deviation: Absent[Deviation] = None


class PartSamples(Strict, frozen=True):
    """All samples of a part."""

    values_s: Annotated[Samples_s, Meta(extra_json_schema={"minItems": 1})]

    def __post_init__(self) -> None:
        if not self.values_s:
            raise ValueError("a part has no samples")


class PartStatistics(Strict, frozen=True):
    """The statistics of a part."""

    time_us: Statistic

    def __post_init__(self) -> None:
        if self.time_us.min < 0:
            raise ValueError("time_us: a time is negative")


class Part(Strict, frozen=True):
    """A part of an operation.

    Either measured alone, where parts of different streams may overlap and those of one stream
    cannot; or `within` the operation, of whose time it is a share.
    """

    name: Name
    stream: Name
    samples: PartSamples
    statistics: PartStatistics
    within: bool = False

    @property
    def time(self) -> Interval:
        """In seconds."""
        return self.statistics.time_us.scaled(1e-6)

    @property
    def time_s(self) -> float:
        """The median."""
        return self.statistics.time_us.median * 1e-6


class Span(Strict, frozen=True):
    """One step of one part on one rank, since a barrier just before the operation."""

    rank: Count
    stream: Name
    part: Name
    step: Count
    start_us: Number
    end_us: Number

    def __post_init__(self) -> None:
        if self.end_us < self.start_us:
            raise ValueError("end_us is before start_us")


class Timeline(Strict, frozen=True):
    """One more operation, after the samples, step by step."""

    time_us: Positive
    spans: list[Span]


class Candidate(Strict, frozen=True):
    """One of several ways to do the same, of which the application uses the fastest."""

    name: Name
    seconds: Seconds
    text: str


class Ceiling(Strict, frozen=True):
    """What the hardware needs for the bytes of an operation, or for its arithmetic."""

    name: Name
    method: str
    time_us: Positive
    fraction: AtLeastZero
    metrics: Mapping[str, Number]
    part: Absent[Name] = None
    rate: Absent[Positive] = None
    unit: Absent[Name] = None
    library: bool = False
    ceiling_exceeded: Absent[bool] = None

    # What __post_init__ checks, for the JSON schema.
    rules: ClassVar[Mapping[str, Any]] = {
        "dependentRequired": {"rate": ["unit"], "unit": ["rate"]},
        "if": {"required": ["part"]},
        "then": {"properties": {"metrics": {"maxProperties": 0}}},
        "else": {"required": ["rate"]},
    }

    def __post_init__(self) -> None:
        if self.part is not None and self.metrics:
            raise ValueError("the ceiling of a part has no metrics")
        if (self.rate is None) != (self.unit is None):
            raise ValueError("rate and unit belong together")
        if self.part is None and self.rate is None:
            raise ValueError("the ceiling of an operation has a rate")

    @property
    def is_exceeded(self) -> bool:
        """Whether the operation was faster: then it is not what the hardware can do."""
        return self.fraction > 1 if self.ceiling_exceeded is None else self.ceiling_exceeded
