"""The record of a profiled program: one line of JSON, as typed structs.

tools/schemas.py makes docs/profile.schema.json from the structs and the meaning of each field in
knowledge/record_fields.yaml. Their annotations are evaluated, also by Python 3.9, so this module
does not postpone them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Union, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from commlens.base.json_line import NotJsonError, decode
from commlens.knowledge.secrets import mask_variables, mask_words
from commlens.model.start import AtLeastOne, Count, Ranks, Time

VERSION: Literal[1] = 1
FINALIZED = "finalized"
_ARRAYS = ("calls", "time_s", "max_s", "waiting_s", "bytes")
_CPUS = r"^(\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*)?$"

Seconds = Annotated[float, Meta(ge=0, lt=1e15)]
ThreadLevel = Literal["single", "funneled", "serialized", "multiple"]
MemoryKind = Literal["host", "pinned", "device", "managed"]
_KINDS = Meta(extra_json_schema={"propertyNames": {"enum": sorted(get_args(MemoryKind))}})
Ending = Literal[
    "finalized",
    "in MPI_Finalize",
    "MPI_Abort",
    "fatal MPI error",
    "signal",
    "exit without MPI_Finalize",
]
INITIALIZATION = "initialization"  # the group of MPI_Init and MPI_Finalize
_SHORTEST_S = 1.0  # communication and computation that say something of a program


@dataclass(frozen=True)
class Imbalance:
    """Load imbalance of a time over ranks, after L. DeRose, B. Homer and D. Johnson, "Detecting
    application load imbalance on high end massively parallel systems" (Euro-Par 2007)."""

    mean_s: float
    imbalance_s: float  # time of the slowest rank less the mean
    percent: float  # 100: all the work is on one rank, 0: it is the same on each


def imbalance_of(times_s: Sequence[float]) -> Imbalance:
    """Of a time in seconds per rank."""
    mean_s, max_s, ranks = mean(times_s), max(times_s, default=0.0), len(times_s)
    excess = max(0.0, max_s - mean_s)
    percent = 100 * excess / max_s * ranks / (ranks - 1) if max_s > 0 and ranks > 1 else 0.0
    return Imbalance(mean_s, excess, percent)


def mean(values: Sequence[float]) -> float:
    """0 without any value."""
    return sum(values) / len(values) if values else 0.0


def _sums(times_s: Iterable[Sequence[float]], ranks: int) -> list[float]:
    """Of each rank, over all arrays."""
    return [sum(times) for times in zip([0.0] * ranks, *times_s)]


class ProfileStruct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What all structs of the record have in common."""


class ProfiledRank(ProfileStruct, frozen=True):
    """A rank that wrote its counters."""

    rank: Count
    host: str
    pid: Count
    ending: Ending
    inside: str
    threads: AtLeastOne = 1
    cpu_s: Union[Seconds, UnsetType] = UNSET
    queued_s: Union[Seconds, UnsetType] = UNSET
    cpus: Annotated[str, Meta(pattern=_CPUS)] = ""


class Communicators(ProfileStruct, frozen=True):
    """Sizes of the communicators of a function's calls; empty for functions without one."""

    mean_size: Union[Seconds, UnsetType] = UNSET
    min_size: Union[Count, UnsetType] = UNSET
    max_size: Union[Count, UnsetType] = UNSET


class SizeBin(ProfileStruct, frozen=True):
    """Calls by the number of bytes that they send."""

    from_bytes: Count
    to_bytes: Count
    calls: Count


class Function(ProfileStruct, frozen=True):
    """An MPI function. Arrays have one value per entry of `placement`."""

    name: str
    group: str
    calls: list[Count]
    time_s: list[Seconds]
    max_s: list[Seconds]
    waiting_s: list[Seconds]
    bytes: list[Count]
    communicators: Communicators
    memory: Annotated[dict[MemoryKind, Count], _KINDS]  # msgspec < 0.23 states no keys
    sizes: list[SizeBin]

    @cached_property
    def time(self) -> Imbalance:
        """The seconds in the function, over ranks."""
        return imbalance_of(self.time_s)

    @property
    def mean_calls(self) -> float:
        """The calls of a rank, on average."""
        return mean(self.calls)


class Peer(ProfileStruct, frozen=True):
    """What one rank of MPI_COMM_WORLD sent to another."""

    sender: Count = msgspec.field(name="from")
    receiver: Count = msgspec.field(name="to")
    bytes: Count
    messages: Count


class Caller(ProfileStruct, frozen=True):
    """A call in the program."""

    caller: str
    file: str
    line: Count


class CallSite(ProfileStruct, frozen=True):
    """A place in the program that calls an MPI function; sums over ranks."""

    function: str
    caller: str
    file: str
    line: Count
    calls: Count
    time_s: Seconds
    bytes: Count
    waiting_s: Seconds = 0.0
    callers: list[Caller] = []


class RegionFunction(ProfileStruct, frozen=True):
    """Calls of an MPI function within a region; records of before have no bytes of it."""

    name: str
    calls: list[Count]
    time_s: list[Seconds]
    bytes: Union[list[Count], UnsetType] = UNSET


class Region(ProfileStruct, frozen=True):
    """What happened between MPI_Pcontrol(1, name) and MPI_Pcontrol(-1, name)."""

    name: str
    entries: list[Count]
    time_s: list[Seconds]
    functions: list[RegionFunction]

    @property
    def mpi_s(self) -> list[float]:
        """Seconds in MPI within the region, per entry of `placement`."""
        return _sums((function.time_s for function in self.functions), len(self.time_s))


def check_lengths(arrays: Mapping[str, Sequence[float]], entries: int) -> None:
    """Raises ValueError where an array does not have a value per entry of `placement`."""
    for name, values in arrays.items():
        if len(values) != entries:
            raise ValueError(f"{name}: {len(values)} values for {entries} ranks")


def library_name(version: str) -> str:
    """Of what MPI_Get_library_version returns, the name and the version: `Open MPI v4.1.4`."""
    return " ".join(version.partition(",")[0].split())


class Profile(ProfileStruct, frozen=True):
    """One line of a file of records: where the time of one run of an MPI program went."""

    profile: Literal[1]
    time: Time
    run: Annotated[str, Meta(min_length=1)]
    command: Annotated[list[str], Meta(min_length=1)]
    exit_status: Annotated[int, Meta(ge=0)]
    mpi: str
    program: str
    thread_level: ThreadLevel
    ranks: Ranks
    nodes: Ranks
    placement: list[ProfiledRank]
    missing_ranks: list[Count]
    total_s: list[Seconds]
    functions: list[Function]
    peers: list[Peer]
    call_sites: list[CallSite]
    warnings: list[str]
    versions: dict[str, str]
    environment: dict[str, str]
    regions: list[Region] = []

    def __post_init__(self) -> None:
        """Checks that arrays have a value per entry of `placement`, and that ranks exist."""
        entries = len(self.placement)
        if self.ranks > entries + len(self.missing_ranks):
            raise ValueError(f"ranks: {self.ranks}, and {entries} in placement")
        arrays: dict[str, Sequence[float]] = {"total_s": self.total_s}
        for function in self.functions:
            for attribute in _ARRAYS:
                arrays[f"functions: {attribute} of {function.name}"] = getattr(function, attribute)
        for region in self.regions:
            for attribute in ("entries", "time_s"):
                arrays[f"regions: {attribute} of {region.name}"] = getattr(region, attribute)
            for part in region.functions:
                arrays[f"regions: calls of {part.name}"] = part.calls
                arrays[f"regions: time_s of {part.name}"] = part.time_s
                if part.bytes is not UNSET:
                    arrays[f"regions: bytes of {part.name}"] = part.bytes
        check_lengths(arrays, entries)
        for function in self.functions:
            limits = zip(function.time_s, self.total_s, self.placement)
            if any(time > place.threads * (2 * total + 0.1) for time, total, place in limits):
                raise ValueError(f"functions: time_s of {function.name} is longer than total_s")
        if any(max(peer.sender, peer.receiver) >= self.ranks for peer in self.peers):
            raise ValueError(f"peers: a rank that is none of {self.ranks}")

    @property
    def library(self) -> str:
        """The name and version of the MPI library."""
        return library_name(self.mpi)

    @cached_property
    def by_time(self) -> list[Function]:
        """All functions, the longest first."""
        return sorted(self.functions, key=lambda function: -function.time.mean_s)

    def in_functions(self, functions: Iterable[Function]) -> list[float]:
        """Seconds per rank."""
        return _sums((function.time_s for function in functions), len(self.total_s))

    @cached_property
    def communicating(self) -> list[Function]:
        """All but MPI_Init and MPI_Finalize, the longest first."""
        return [function for function in self.by_time if function.group != INITIALIZATION]

    @cached_property
    def initializing(self) -> list[Function]:
        """MPI_Init and MPI_Finalize, the longest first."""
        return [function for function in self.by_time if function.group == INITIALIZATION]

    @cached_property
    def mpi_s(self) -> list[float]:
        """Seconds in MPI per rank, without its start and end."""
        return self.in_functions(self.communicating)

    @cached_property
    def outside_s(self) -> list[float]:
        """Seconds outside MPI, per entry of `placement`."""
        inside = self.in_functions(self.functions)
        return [max(0.0, total - in_mpi) for total, in_mpi in zip(self.total_s, inside)]

    @cached_property
    def wall_s(self) -> float:
        """Seconds from MPI_Init to MPI_Finalize, mean over ranks: all shares are of it."""
        return mean(self.total_s)

    def percent(self, seconds: float) -> float:
        """Of `wall_s`."""
        return 100 * seconds / self.wall_s if self.wall_s > 0 else 0.0

    @cached_property
    def too_short(self) -> str:
        """Why the run says nothing of the program; empty where it does."""
        starting = mean(self.in_functions(self.initializing))
        if self.wall_s - starting < _SHORTEST_S:
            took = f"{self.wall_s - starting:.3g} s of communication and computation"
            return f"too short to judge: {took}, and findings need {_SHORTEST_S:g} s"
        if starting > self.wall_s / 2:
            share = 100 * starting / self.wall_s
            return f"too short to judge: MPI_Init and MPI_Finalize are {share:.0f}% of the run"
        return ""

    @cached_property
    def queued_s(self) -> list[float]:
        """Seconds per rank in which it waited for a processor, 0 where that is unknown."""
        waits = (place.queued_s for place in self.placement)
        return [wait if isinstance(wait, float) else 0.0 for wait in waits]

    @property
    def threads(self) -> int:
        """Over which times are means: the most of a rank; 1 where threads take turns."""
        parallel = self.thread_level == "multiple"
        return max(place.threads for place in self.placement) if parallel else 1


_DECODER = msgspec.json.Decoder(Profile)


def parse(line: str) -> Profile:
    """The profile in a line of JSON. Raises ValueError with what is wrong with it."""
    try:
        profile = decode(line, _DECODER)
    except NotJsonError as error:
        raise ValueError(f"not a profile ({error})") from None
    except ValueError as error:
        raise ValueError(f"not a profile of version {VERSION} ({error})") from None
    return msgspec.structs.replace(
        profile,
        command=mask_words(profile.command),
        environment=mask_variables(profile.environment),
    )
