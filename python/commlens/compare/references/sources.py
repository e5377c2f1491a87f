"""What others have published: a source, and its results in the words of a record.

The structs are the layout of the files of knowledge/references (docs/reference.md). Their
annotations are evaluated by Python 3.9 too, which is why this module does not postpone them.
"""

import difflib
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, NamedTuple, Optional

from msgspec import Meta, field

from commlens import knowledge
from commlens.base import user_yaml
from commlens.base.errors import CommlensError
from commlens.base.text import plural
from commlens.model.results import nothing
from commlens.model.start import AtLeastOne, Name, Positive, Ranks, Strict, Value

# Which of our statistics a figure is compared with: one: a single measurement, with the median.
Summary = Literal["one", "mean", "best", "worst"]
_NUMBER = r"^\d+(\.\d+)?([eE][-+]?\d+)?$"
_PREFIXES = {"": 1.0, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BASES = ("s", "B", "B/s", "FLOP/s", "flop/s", "DOF/s", "DOF*iter/s", "1/s", "%")


class Line(NamedTuple):
    """What results of one source have in common that differ in size, nodes and ranks alone."""

    source: str
    gpu: str
    setup: str
    benchmark: str
    metric: str
    summary: str
    transport: str
    memory: str
    parameters: tuple[tuple[str, Value], ...]


class PublishedValue(Strict, frozen=True, kw_only=True):
    """One number of a source."""

    source: Annotated[Name, Meta(description="the name of its source, which is that of the file")]
    quantity: Annotated[Name, Meta(description="the words beside the number in the source")]
    as_printed: Annotated[
        str, Meta(pattern=_NUMBER, description="the number, digit by digit as published")
    ]
    printed_unit: Annotated[str, Meta(description="its unit, in our notation; empty: a count")]
    unit: Annotated[
        str, Meta(description="the unit of our metric or fact; empty: that of the number")
    ] = ""
    operations: Annotated[
        AtLeastOne, Meta(description="the number is the time of so many operations")
    ] = 1
    summary: Annotated[
        Summary,
        Meta(description="with which of our statistics it is compared; one: with the median"),
    ] = "one"
    benchmark: Annotated[
        str, Meta(description="that of commlens which measures it; empty: none does")
    ] = ""
    metric: Annotated[
        str, Meta(description="the benchmark's metric or fact that it is; empty: none is")
    ] = ""
    parameters: Annotated[
        Mapping[str, Value], Meta(description="those in which a record must agree with it")
    ] = field(default_factory=nothing)
    size_name: Annotated[
        str, Meta(description="the parameter or fact by which the nearest result is found")
    ] = ""
    size: Annotated[Optional[Positive], Meta(description="its value")] = None
    transport: Annotated[str, Meta(description="mpi, staged, ccl; empty: any")] = ""
    memory: Annotated[str, Meta(description="where the buffers were; empty: any")] = ""
    ranks: Annotated[Optional[Ranks], Meta(description="absent: not said")] = None
    nodes: Annotated[Optional[Ranks], Meta(description="absent: not said")] = None
    gpus: Annotated[
        Optional[Ranks], Meta(description="as the source counts them; absent: none, or not said")
    ] = None
    gpu: Annotated[str, Meta(description="the model: V100, MI250X GCD; empty: not said")] = ""
    machine: Annotated[str, Meta(description="empty: a single GPU of no named machine")] = ""
    setup: Annotated[
        str, Meta(description="the software or setting that sets it apart from others of a source")
    ] = ""
    software: Annotated[
        Mapping[str, str], Meta(description="versions, as far as the source has them")
    ] = field(default_factory=nothing)
    settings: Annotated[
        Mapping[str, str], Meta(description="environment variables that were set")
    ] = field(default_factory=nothing)
    note: Annotated[str, Meta(description="what else a reader must know")] = ""

    def __post_init__(self) -> None:
        """Checks what types cannot express."""
        _factor(self.printed_unit, self.unit or self.printed_unit)
        if bool(self.size_name) != (self.size is not None):
            raise ValueError("size_name and size belong together")
        if self.metric and not self.benchmark:
            raise ValueError(f"metric: '{self.metric}' of which benchmark?")
        if self.metric and not float(self.as_printed):
            raise ValueError("as_printed: nothing can be compared with 0")

    @property
    def value(self) -> float:
        """In the unit of our metric, of one operation."""
        factor = _factor(self.printed_unit, self.value_unit)
        return float(self.as_printed) * factor / self.operations

    @property
    def value_unit(self) -> str:
        """The unit of `value`."""
        return self.unit or self.printed_unit

    @property
    def hardware(self) -> str:
        """`V100`, `Crusher`, or, where both are known, `MI250X GCD (Crusher)`."""
        machine = f" ({self.machine})" if self.machine and self.gpu else self.machine
        return f"{self.gpu}{machine}"

    @property
    def name(self) -> str:
        """For a legend: `dftfe-crusher: RCCL 5.1.3, 1 node`."""
        nodes = plural(self.nodes, "node") if self.nodes and self.machine else ""
        words = filter(None, (self.setup or self.hardware, nodes))
        return f"{self.source}: {', '.join(words)}"

    @property
    def where(self) -> str:
        """`Frontier, 8 x MI250X GCD, 1 node, MPICH_SMP_SINGLE_COPY_MODE=NONE`"""
        gpus = f"{self.gpus} x {self.gpu}" if self.gpus and self.gpu else self.gpu
        nodes = plural(self.nodes, "node") if self.nodes else ""
        return ", ".join(filter(None, (self.machine, gpus, nodes, self.setup)))

    @property
    def line(self) -> Line:
        """The line that it belongs to."""
        return Line(
            *(self.source, self.gpu, self.setup, self.benchmark, self.metric, self.summary),
            *(self.transport, self.memory, tuple(sorted(self.parameters.items()))),
        )


class Source(Strict, frozen=True, kw_only=True):
    """A document with results."""

    name: Annotated[Name, Meta(description="that of the file: `commlens compare` takes it")]
    title: Annotated[Name, Meta(description="of the document")]
    url: Annotated[str, Meta(description="empty: not known")] = ""
    date: Annotated[str, Meta(description="of the document; empty: not known")] = ""
    machine: Annotated[Name, Meta(description="with its nodes and GPUs, in words")]
    note: Annotated[str, Meta(description="what a reader must know before comparing")] = ""
    figures: Annotated[tuple[PublishedValue, ...], Meta(min_length=1)]


def _factor(printed: str, wanted: str) -> float:
    """How many of the wanted unit one of the printed unit is."""
    if printed == wanted:
        return 1.0
    for base in _BASES:
        if printed.endswith(base) and wanted.endswith(base):
            prefixes = printed[: -len(base)], wanted[: -len(base)]
            if all(prefix in _PREFIXES for prefix in prefixes):
                return _PREFIXES[prefixes[0]] / _PREFIXES[prefixes[1]]
    raise ValueError(f"printed_unit: '{printed}' cannot be turned into '{wanted}'")


@cache
def _source(name: str) -> Source:
    return parse(knowledge.text(f"references/{name}"), name)


def load() -> tuple[Source, ...]:
    """All sources, by name."""
    return tuple(map(_source, knowledge.names("references")))


@cache
def values_of(benchmark: str) -> tuple[PublishedValue, ...]:
    """The results of a benchmark. To parse all sources takes a tenth of a second: only those that
    name it are, which all of them write alike (a test makes sure)."""
    names = [
        name
        for name in knowledge.names("references")
        if f"benchmark: {benchmark}" in knowledge.text(f"references/{name}")
    ]
    values = (value for name in names for value in _source(name).figures)
    return tuple(value for value in values if value.benchmark == benchmark)


def find(name: str) -> Source:
    """The source of this name. Raises CommlensError if there is none."""
    names = knowledge.names("references")
    if name in names:
        return _source(name)
    close = difflib.get_close_matches(name[:80], names, 1)
    fix = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(names)}"
    raise CommlensError(
        f"{name[:80]}: there is no such file, and no published results have this name; {fix}"
    )


def parse(text: str, name: str) -> Source:
    """The source of this name. Raises CommlensError that names the file and the field.

    In the file, `results` is a list of blocks: what a block has holds for all of its `figures`,
    and an entry may have its own.
    """
    where = f"{name}.yaml"
    data = user_yaml.parse(text, where, typed=True)
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        raise CommlensError(f"{where}: a mapping with a list `results` is expected")
    figures = []
    for number, block in enumerate(data.pop("results"), 1):
        place = f"{where}, block {number}"
        entries = block.get("figures") if isinstance(block, dict) else None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise CommlensError(f"{place}: a mapping with a list `figures` is expected")
        common = {key: value for key, value in block.items() if key != "figures"}
        for entry in entries:
            merged = {**common, **entry, "source": name}
            position = f"{place}, entry '{merged.get('as_printed')}'"
            figures.append(user_yaml.convert(merged, PublishedValue, position))
    return user_yaml.convert({**data, "name": name, "figures": figures}, Source, where)
