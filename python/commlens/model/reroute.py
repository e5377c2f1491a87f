"""The record of a rerouted program: what went to NCCL or RCCL, what stayed with MPI and why, and
what that saved.

The struct is the schema, as in start.py: its annotations are evaluated by Python 3.9 too.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from commlens import knowledge
from commlens.model.profile import check_lengths, library_name, mean
from commlens.model.start import (
    Absent,
    AtLeastZero,
    Count,
    Name,
    Ranks,
    Strict,
    Time,
)

To = Literal["ccl", "staged"]


class Reroutable(Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of reroute.yaml, which explains each list."""

    functions: tuple[str, ...]
    on_request: tuple[str, ...]

    @property
    def collectives(self) -> list[str]:
        """The functions and their non-blocking variants."""
        return [*self.functions, *(f"i{name}" for name in self.functions)]


REROUTABLE = knowledge.load("reroute", Reroutable)


class ReroutedRank(Strict, frozen=True):
    """A rank that wrote what it has rerouted."""

    rank: Count
    host: str
    pid: Count
    finalized: bool
    run_s: AtLeastZero
    setup_s: AtLeastZero = 0.0


class ReroutedFunction(Strict, frozen=True):
    """An MPI function. Arrays have one value per entry of `placement`."""

    function: Name
    calls: list[Count]
    bytes: list[Count]
    rerouted_calls: list[Count]
    rerouted_bytes: list[Count]
    rerouted_s: list[AtLeastZero]
    mpi_s: list[AtLeastZero]
    mpi_estimate_s: list[AtLeastZero]
    measured_calls: list[Count]
    local_copies: list[Count]
    fell_back: dict[str, Count]


class WrongElement(Strict, frozen=True):
    """An element that MPI gave another value."""

    rank: Count
    function: Name
    call: Count
    element: Count
    expected: str
    found: str


class Reroute(Strict, frozen=True, tag_field="kind", tag="reroute"):
    """One run of an MPI program with its collectives of GPU memory rerouted."""

    schema: Literal[2]
    time: Time
    run: Name
    command: Annotated[list[str], Meta(min_length=1)]
    exit_status: Annotated[int, Meta(ge=0)]
    mpi: str
    program: str
    to: To
    min_bytes: Count
    chosen: list[Name]
    verified: bool
    dry_run: bool
    ranks: Ranks
    nodes: Ranks
    placement: Annotated[list[ReroutedRank], Meta(min_length=1)]
    missing_ranks: list[Count]
    disabled: list[str]
    functions: list[ReroutedFunction]
    differences: list[WrongElement]
    warnings: list[str]
    versions: dict[str, str]
    library: Absent[Name] = None

    def __post_init__(self) -> None:
        """Checks that arrays have a value per entry of `placement`."""
        arrays = {
            f"functions: {name} of {function.function}": values
            for function in self.functions
            for name, values in asdict(function).items()
            if isinstance(values, list)
        }
        check_lengths(arrays, len(self.placement))

    @property
    def mpi_library(self) -> str:
        """The name and version of the MPI library."""
        return library_name(self.mpi)

    @property
    def run_s(self) -> float:
        """From MPI_Init to MPI_Finalize, mean over ranks."""
        return mean([rank.run_s for rank in self.placement])

    @property
    def rerouted_calls(self) -> int:
        """Of all ranks; of a dry run those that would have been."""
        return sum(sum(function.rerouted_calls) for function in self.functions)

    @property
    def mpi_estimate_s(self) -> float:
        """What the rerouted calls take by MPI, mean over ranks."""
        return self._mean(function.mpi_estimate_s for function in self.functions)

    @property
    def rerouted_s(self) -> float:
        """What they took, mean over ranks."""
        return self._mean(function.rerouted_s for function in self.functions)

    @property
    def saved_s(self) -> float:
        """Mean over ranks; below 0 where MPI would have been faster."""
        setup = mean([rank.setup_s for rank in self.placement])
        return self.mpi_estimate_s - self.rerouted_s - setup

    @property
    def fell_back(self) -> dict[str, int]:
        """Calls of all functions and ranks, by the reason."""
        calls: Counter[str] = Counter()
        for function in self.functions:
            calls.update(function.fell_back)
        return dict(calls.most_common())

    def _mean(self, arrays: Iterable[list[float]]) -> float:
        return sum(map(mean, arrays))
