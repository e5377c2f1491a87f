"""`commlens reroute`: runs an MPI program with the rerouting library and records the result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commlens.base.errors import Status, say
from commlens.jobs import process
from commlens.jobs.preload import running
from commlens.jobs.preload.library import REROUTE
from commlens.jobs.preload.program import NotPreloadableError, linked_libraries, parse
from commlens.jobs.preload.running import Program, folder_of_ranks, write_records
from commlens.model.reroute import Reroute
from commlens.reroute.rank_files import RerouteFile, RerouteSettings, records

_CCL = re.compile(r"\blib([nr]ccl)\.so")


@dataclass(frozen=True)
class ReroutedRun:
    """How a rerouted command ended, and its records."""

    status: int  # the program's, from its launcher; FAILED where a result differs from MPI's
    records: list[Reroute] = field(default_factory=list)  # one for each job
    file: Path | None = None  # of the records
    library: Path | None = None  # that was preloaded


def run(words: Sequence[str], out: Path, settings: RerouteSettings) -> ReroutedRun:
    """Runs the command to its end; what cannot be rerouted runs as without this. Raises
    CommlensError where there is nothing to run or no library; then it is not run."""
    try:
        program = Program.of(REROUTE, words)
        _check_free(program.name, settings)
    except NotPreloadableError as error:
        say(f"nothing is rerouted: {error}")
        with process.signals_listed() as requests:
            return ReroutedRun(running.run(parse(words).with_environment({}), requests))
    with process.signals_listed() as requests, folder_of_ranks(out, REROUTE) as folder:
        status, left = program.run(folder, _variables(settings), requests, RerouteFile)
        recorded = records(words, left, status, settings)
        file = write_records(out, "reroute", recorded) if recorded else None
    program.explain(left)
    if any(record.differences for record in recorded):
        status = status or Status.FAILED
    return ReroutedRun(status, recorded, file, program.library.path)


def _check_free(program: str, settings: RerouteSettings) -> None:
    """Raises NotPreloadableError where two users of NCCL could wait for each other on a GPU."""
    found = _CCL.search(linked_libraries(program)) if settings.to == "ccl" else None
    if found is not None:
        raise NotPreloadableError(
            f"{program} uses {found[1].upper()} itself, and its calls and ours could wait for each "
            "other; `--to staged` does without it"
        )


def _variables(settings: RerouteSettings) -> Mapping[str, str]:
    """All of them: what the user has set for jobs without this command counts no more."""
    return {
        "COMMLENS_REROUTE_TO": settings.to,
        "COMMLENS_REROUTE_FUNCTIONS": ",".join(settings.functions),
        "COMMLENS_REROUTE_MIN_BYTES": str(settings.min_bytes),
        "COMMLENS_REROUTE_VERIFY": "1" if settings.verify else "",
        "COMMLENS_REROUTE_DRY_RUN": "1" if settings.dry_run else "",
    }
