"""`commlens profile`: runs an MPI program with the profiling library and records the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commlens.base import outputs
from commlens.base.errors import CommlensError, Status, say
from commlens.jobs import process
from commlens.jobs.preload.library import PROFILE
from commlens.jobs.preload.ranks import Left
from commlens.jobs.preload.running import Program, folder_of_ranks, write_records
from commlens.model.profile import Profile
from commlens.profile.jobs import profiles
from commlens.profile.rank_files import RankFile
from commlens.profile.traces.collect import KIND as TRACE
from commlens.profile.traces.collect import write_traces


@dataclass(frozen=True)
class ProfileOptions:
    """What the profiling library records."""

    call_depth: int = 0  # of call sites; 0: none are recorded
    with_waiting: bool = False
    with_regions: bool = False
    trace: Path | None = None  # the file of the calls
    exact_times: bool = False  # in the trace, of each call


@dataclass(frozen=True)
class ProfiledRun:
    """How a profiled command ended, and its profiles."""

    status: int  # the program's, from its launcher; Status.USAGE where the library refused it
    profiles: list[Profile] = field(default_factory=list)  # one for each job
    file: Path | None = None  # of the records
    traces: list[Path] = field(default_factory=list)  # one for each job


def run(words: Sequence[str], out: Path, options: ProfileOptions = ProfileOptions()) -> ProfiledRun:
    """Runs the command to its end. Raises CommlensError if it cannot be profiled; it is not run."""
    if options.trace is not None:
        outputs.check(options.trace, TRACE, "--trace")
    program = Program.of(PROFILE, words)
    with process.signals_listed() as requests, folder_of_ranks(out, PROFILE) as folder:
        status, left = program.run(folder, _settings(options), requests, RankFile)
        recorded = profiles(words, left, status)
        file = write_records(out, "profile", recorded) if recorded else None
        traces, traced = _traces(folder, left, options.trace) if options.trace else ([], Status.OK)
    program.explain(left)
    return ProfiledRun(status or traced, recorded, file, traces)


def _traces(folder: Path, left: Left[RankFile], file: Path) -> tuple[list[Path], int]:
    """Those that could be written, one for each job, and a status: FAILED where one could not be,
    or there is none."""
    traces: list[Path] = []
    try:
        traces.extend(write_traces(folder, left, file))
    except CommlensError as error:
        say(str(error))
        return traces, Status.FAILED
    return traces, Status.OK if traces else Status.FAILED


def _settings(options: ProfileOptions) -> dict[str, str]:
    return {
        **({"COMMLENS_PROFILE_CALLSITES": str(options.call_depth)} if options.call_depth else {}),
        **({"COMMLENS_PROFILE_WAITING": "1"} if options.with_waiting else {}),
        **({"COMMLENS_PROFILE_REGIONS": "1"} if options.with_regions else {}),
        **({"COMMLENS_PROFILE_TRACE": "1"} if options.trace else {}),
        **({"COMMLENS_PROFILE_EXACT_TIMES": "1"} if options.exact_times else {}),
    }
