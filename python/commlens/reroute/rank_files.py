"""The files that the ranks of a rerouted job wrote (src/reroute/report.cpp), and its record."""

# The structs are evaluated by Python 3.9 too: no `from __future__ import annotations`, no `X | Y`.
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Optional

import msgspec

import commlens
from commlens.jobs.preload.ranks import Left, Stamp, named_ranks
from commlens.model.reroute import Reroute, ReroutedFunction, ReroutedRank, To, WrongElement


class FunctionOfRank(msgspec.Struct, frozen=True):
    """The counters of a function."""

    function: str
    calls: int = 0
    bytes: int = 0
    rerouted_calls: int = 0
    rerouted_bytes: int = 0
    rerouted_s: float = 0.0
    mpi_s: float = 0.0
    mpi_estimate_s: float = 0.0
    measured_calls: int = 0
    local_copies: int = 0
    fell_back: dict[str, int] = {}  # calls by reason


class DifferenceOfRank(msgspec.Struct, frozen=True):
    """An element that MPI gave another value."""

    function: str
    call: int
    element: int
    expected: str
    found: str


class RerouteFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a rank."""

    rank: int
    size: int = msgspec.field(name="ranks")
    host: str
    pid: int
    parent: int  # process
    job: str  # the launcher's name for it; empty: it has none
    loaded_ns: int  # start of the process, since 1970
    program: str
    mpi: str
    to: To
    library: Optional[str]
    disabled: Optional[str]
    finalized: bool
    run_s: float
    functions: list[FunctionOfRank]
    setup_s: float = 0.0
    differences: list[DifferenceOfRank]

    @property
    def total_ns(self) -> int:
        """From MPI_Init to its end."""
        return round(self.run_s * 1e9)


class RerouteSettings(msgspec.Struct, frozen=True):
    """What was asked for."""

    to: To
    functions: Sequence[str]
    min_bytes: int
    verify: bool = False
    dry_run: bool = False


def records(
    command: Sequence[str], left: Left[RerouteFile], status: int, settings: RerouteSettings
) -> list[Reroute]:
    """One for each job that the command started."""
    return [
        _record(Stamp.of(command, job), left, job, status, settings)
        for job in range(len(left.jobs))
    ]


def _record(
    stamp: Stamp, left: Left[RerouteFile], job: int, status: int, settings: RerouteSettings
) -> Reroute:
    files = left.jobs[job]
    first = files[0]
    library = next((file.library for file in files if file.library), None)
    return Reroute(
        schema=2,
        time=stamp.time,
        run=stamp.run,
        command=stamp.command,
        exit_status=status,
        mpi=first.mpi,
        program=first.program,
        library=library,
        to=settings.to,
        min_bytes=settings.min_bytes,
        chosen=list(settings.functions),
        verified=settings.verify,
        dry_run=settings.dry_run,
        ranks=max(file.size for file in files),
        nodes=len({file.host for file in files}),
        placement=[_place(file) for file in files],
        missing_ranks=left.missing(job),
        disabled=list(dict.fromkeys(file.disabled for file in files if file.disabled)),
        functions=_functions(files),
        differences=[
            WrongElement(rank=file.rank, **msgspec.structs.asdict(difference))
            for file in files
            for difference in file.differences
        ],
        warnings=[*left.warnings(job), *_warnings(files)],
        versions={
            "commlens": commlens.__version__,
            "mpi": first.mpi,
            **({"ccl": library} if library else {}),
        },
    )


def _place(file: RerouteFile) -> ReroutedRank:
    return ReroutedRank(
        rank=file.rank,
        host=file.host,
        pid=file.pid,
        finalized=file.finalized,
        run_s=file.run_s,
        setup_s=file.setup_s,
    )


def _functions(files: Sequence[RerouteFile]) -> list[ReroutedFunction]:
    """Those of all ranks; their arrays have a value per rank."""
    by_rank = [{function.function: function for function in file.functions} for file in files]
    merged = []
    for name in dict.fromkeys(name for functions in by_rank for name in functions):
        ranks = [functions.get(name, FunctionOfRank(name)) for functions in by_rank]
        fell_back: Counter[str] = Counter()
        for rank in ranks:
            fell_back.update(rank.fell_back)
        merged.append(
            ReroutedFunction(
                function=name,
                calls=[rank.calls for rank in ranks],
                bytes=[rank.bytes for rank in ranks],
                rerouted_calls=[rank.rerouted_calls for rank in ranks],
                rerouted_bytes=[rank.rerouted_bytes for rank in ranks],
                rerouted_s=[rank.rerouted_s for rank in ranks],
                mpi_s=[rank.mpi_s for rank in ranks],
                mpi_estimate_s=[rank.mpi_estimate_s for rank in ranks],
                measured_calls=[rank.measured_calls for rank in ranks],
                local_copies=[rank.local_copies for rank in ranks],
                fell_back=dict(fell_back.most_common()),
            )
        )
    return merged


def _warnings(files: Sequence[RerouteFile]) -> Iterator[str]:
    if unfinished := [file.rank for file in files if not file.finalized]:
        yield f"{named_ranks(unfinished)} ended without MPI_Finalize"
