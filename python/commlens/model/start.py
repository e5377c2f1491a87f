"""What a start of a benchmark writes down once: its declarations, where it ran and with what.

The structs are the schema: tools/schemas.py makes docs/record.schema.json from their types and the
meaning of each field in knowledge/record_fields.yaml.
Their annotations are evaluated by Python 3.9 too, which is why this module does not postpone them.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, TypeVar, Union

from msgspec import Meta, Struct

from commlens.knowledge.secrets import mask_variables, mask_words

SCHEMA_VERSION = 2

_Kind = TypeVar("_Kind")

if TYPE_CHECKING:
    Absent = Optional[_Kind]
else:

    class Absent:
        """Absent[X]: an X, or no such field; unlike Optional[X] never a null."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return kind


# What is larger was neither counted nor measured, and is more than tables and pictures can show.
LARGEST_COUNT = 2**63 - 1
LARGEST_NUMBER = 1e30
LARGEST = sys.float_info.max  # of what may grow beyond it, as the residuals of a solve

Name = Annotated[str, Meta(min_length=1, max_length=1000)]
Count = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
AtLeastOne = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Ranks = Annotated[int, Meta(ge=1, le=2**31 - 1)]  # MPI counts them with an int
Number = Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
AtLeastZero = Annotated[float, Meta(ge=0, le=LARGEST_NUMBER)]
Positive = Annotated[float, Meta(gt=0, le=LARGEST_NUMBER)]
Finite = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Value = Union[bool, Annotated[int, Meta(ge=-LARGEST_COUNT, le=LARGEST_COUNT)], Finite, str]
Numbers = Annotated[str, Meta(pattern=r"^(\d{1,6}(-\d{1,6})?(,|$))*$")]
Role = Literal["size", "setting", "derived", "variant"]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class Strict(
    Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True
):
    """What all structs of a file of records have in common: no field is unknown."""


class Parameter(Strict, frozen=True):
    """An option of the benchmark, or a value that follows from its options."""

    name: Name
    option: str
    role: Role
    unit: str
    help: str
    per_rank: bool = False

    @property
    def title(self) -> str:
        """The name as it stands in tables: that of the option."""
        return self.option or self.name.replace("_", "-")


class Metric(Strict, frozen=True):
    """A quantity derived from a sample."""

    name: Name
    label: str
    unit: str
    better: Literal["lower", "higher"]
    definition: str

    def ratio(self, value: float, best: float) -> float:
        """How many times worse the value is than the best one; infinite where that cannot be."""
        worse, good = (value, best) if self.better == "lower" else (best, value)
        return worse / good if good > 0 else float("inf")

    def is_better(self, value: float, other: float) -> bool:
        """Whether the value is strictly better than the other."""
        return value < other if self.better == "lower" else value > other


class FactDeclaration(Strict, frozen=True):
    """Something that the benchmark counts or finds out."""

    name: Name
    label: str
    unit: str
    definition: str


class BenchmarkDeclaration(Strict, frozen=True):
    """What a benchmark declares of itself."""

    name: Name
    description: str
    parameters: list[Parameter]
    metrics: list[Metric]
    facts: list[FactDeclaration]
    divides_work: bool = False


class Device(Strict, frozen=True):
    """The GPU of a rank."""

    ordinal: Count
    name: str
    uuid: str
    pci: str
    numa_node: Annotated[int, Meta(ge=-1, le=LARGEST_COUNT)]
    memory_bytes: Count
    power_limit_W: Absent[AtLeastZero] = None  # noqa: N815
    default_power_limit_W: Absent[AtLeastZero] = None  # noqa: N815


class Nic(Strict, frozen=True):
    """A network adapter with an active link."""

    name: Name
    link_layer: Name
    numa_node: Annotated[int, Meta(ge=-1, le=LARGEST_COUNT)]
    rate_Gbps: Absent[Positive] = None  # noqa: N815
    distance: Absent[Literal["same PCIe switch", "same NUMA node", "other NUMA node"]] = None


class Place(Strict, frozen=True):
    """Where one rank runs."""

    rank: Count
    host: str
    cores: Numbers
    numa_nodes: Numbers
    device: Absent[Device] = None
    nics: tuple[Nic, ...] = ()

    def __post_init__(self) -> None:
        if any(last < first for first, last in ranges_of(self.cores)):
            raise ValueError(f"cores: a range ends before it begins: {self.cores}")


class StartLine(Strict, frozen=True, tag_field="kind", tag="start"):
    """One launch of the whole job, before its first record: what all its records have in common."""

    schema: Literal[2]
    start: Name
    time: Time
    benchmark: BenchmarkDeclaration
    backend: Name
    ranks: Ranks
    nodes: Ranks
    transports: list[Name]
    placement: list[Place]
    notes: list[str]
    versions: dict[str, str]
    environment: dict[str, str]
    settings: list[str]
    command: list[str]
    warnings: list[str] = []
    records: Absent[Count] = None
    processes: Absent[list[Count]] = None

    def __post_init__(self) -> None:
        """Checks what types cannot express."""
        benchmark = self.benchmark
        for where, names in (
            ("benchmark.parameters", [parameter.name for parameter in benchmark.parameters]),
            ("benchmark.metrics", [metric.name for metric in benchmark.metrics]),
            ("benchmark.facts", [fact.name for fact in benchmark.facts]),
            ("transports", self.transports),
        ):
            again = [name for name, count in Counter(names).items() if count > 1]
            if again:
                raise ValueError(f"{where}: '{again[0]}' stands there twice")
        if self.nodes > self.ranks:
            raise ValueError(f"nodes: {self.nodes}, of {self.ranks} ranks")
        if [place.rank for place in self.placement] != list(range(len(self.placement))):
            raise ValueError("placement: its ranks are not 0, 1, 2 ...")
        if len(self.placement) != self.ranks:
            raise ValueError(f"placement: {len(self.placement)} entries for {self.ranks} ranks")
        if self.processes is not None and len(self.processes) != self.ranks:
            raise ValueError(f"processes: {len(self.processes)} entries for {self.ranks} ranks")


class Start:
    """A start as its records see it: the line of the file, and what follows from it."""

    def __init__(self, line: StartLine) -> None:
        self.line = line
        self.start = line.start
        self.time = line.time
        self.benchmark = benchmark = line.benchmark
        self.backend, self.ranks, self.nodes = line.backend, line.ranks, line.nodes
        self.transports, self.placement = line.transports, line.placement
        self.warnings, self.notes = line.warnings, line.notes
        self.records = line.records
        self.processes = line.processes or []
        self.versions, self.environment = line.versions, mask_variables(line.environment)
        self.settings, self.command = line.settings, mask_words(line.command)
        # What is declared, by name, in the order in which it is shown.
        self.metrics = {metric.name: metric for metric in benchmark.metrics}
        self.parameters = {parameter.name: parameter for parameter in benchmark.parameters}
        self.facts = {fact.name: fact for fact in benchmark.facts}
        # What a sweep may run over; and what has values that this start compares.
        declared = benchmark.parameters
        self.size_parameters = [parameter for parameter in declared if parameter.role == "size"]
        variants = (parameter for parameter in declared if parameter.role == "variant")
        self.variant = next(variants, None)
        self.host = line.placement[0].host
        self.gpu = next((place.device.name for place in line.placement if place.device), None)
        self.mpi = line.versions.get("mpi") or "unknown MPI"  # with its version
        # The environment that changes how bytes travel.
        self.settings_of_transport = {
            name: self.environment[name] for name in line.settings if name in self.environment
        }
        # Where and with what it ran: launches that agree in this are repetitions.
        self.setting = (
            self.host,
            tuple(sorted(self.settings_of_transport.items())),
            tuple(sorted(line.versions.items())),
        )

    @cached_property
    def is_oversubscribed(self) -> bool:
        """Whether on some host more ranks ran than there are cores among those they may use."""
        cores: dict[str, list[str]] = {}  # of each rank of a host
        for place in self.placement:
            cores.setdefault(place.host, []).append(place.cores)
        return any(0 < count_numbers(lists) < len(lists) for lists in cores.values())


def ranges_of(text: str) -> Iterator[tuple[int, int]]:
    """First and last of each range in a list as in /proc: `0-3,8`."""
    for piece in filter(None, text.split(",")):
        first, _, last = piece.partition("-")
        yield int(first), int(last or first)


def count_numbers(lists: Iterable[str]) -> int:
    """How many numbers are in any of such lists. They may be long: nothing is expanded."""
    ordered = sorted(bounds for text in lists for bounds in ranges_of(text))
    seen = [-1, *accumulate((last for _, last in ordered), max)]  # up to where, before each
    return sum(max(0, last - max(first - 1, end)) for (first, last), end in zip(ordered, seen))
