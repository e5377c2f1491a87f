"""`commlens profile`: starts an MPI program with the profiling library in its ranks, and makes a record of the run."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import commlens
from commlens import call_sites, profile_program, profile_record
from commlens.errors import CommlensError
from commlens.results import reason, reserve_folder, reserve_record_file
from commlens.run import say
from commlens.text import plural

# The same of the environment as in other records (src/harness/environment.cpp), and nothing else: it can hold secrets.
_KEPT = re.compile(
    r"(UCX|OMPI_MCA|PRTE_MCA|MPICH|MPIR_CVAR|I_MPI|MV2|MVP|NCCL|RCCL|FI|HSA|PSM2|PSM3|ROCR|HIP|GDRCOPY)_\w+"
    r"|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS"
)
_MOST_RANKS_NAMED = 8


@dataclass(frozen=True)
class Outcome:
    status: int  # the program's, as its launcher gave it
    profile: profile_record.Profile | None
    file: Path | None  # of the record


def run(command: Sequence[str], out: Path, *, with_call_sites: bool, with_waiting: bool) -> Outcome:
    """Runs the command to its end. Raises CommlensError where it cannot be profiled; then nothing was run."""
    positions = profile_program.programs(command)
    families = [profile_program.family(command[position]) for position in positions]
    family = next((name for name in families if name), "")
    library = profile_program.find_library(command[positions[0]], family)
    with _folder_of_ranks(out) as folder:
        settings = _settings(library.path, folder, with_call_sites, with_waiting)
        status = _run(profile_program.preloaded(command, positions, settings))
        files = profile_record.read_rank_files(folder)
        if not files:
            _explain_nothing(command[positions[0]], family)
            return Outcome(status, None, None)
        record = _record(command, files, status, with_call_sites)
    line = json.dumps(record)
    return Outcome(status, profile_record.parse(line), _write(out, line))


def draw(profile: profile_record.Profile, record: Path) -> Path | None:
    """A picture beside the record, or nothing where it cannot be written: the program's status is what counts."""
    from commlens import plot  # here, as loading matplotlib takes longer than many a program

    picture = record.with_suffix(".png")
    try:
        plot.plot_profiles([profile], picture)
    except CommlensError as error:
        say(str(error))
        return None
    return picture


def _settings(library: Path, folder: Path, with_call_sites: bool, with_waiting: bool) -> dict[str, str]:
    preloads = [str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
    settings = {"LD_PRELOAD": ":".join(preloads), "COMMLENS_PROFILE_OUT": str(folder)}
    if with_call_sites:
        settings["COMMLENS_PROFILE_CALLSITES"] = "1"
    if with_waiting:
        settings["COMMLENS_PROFILE_WAITING"] = "1"
    return settings


@contextmanager
def _folder_of_ranks(out: Path) -> Iterator[Path]:
    """A folder beside the record, which the ranks of other machines see too; a temporary one where that cannot be."""
    try:
        folder = reserve_folder(out, "profile-ranks").resolve()
    except CommlensError as error:
        say(f"{error}. The program runs, and its record is not kept")
        folder = Path(tempfile.mkdtemp(prefix="commlens-profile-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(command: Sequence[str]) -> int:
    """The status of the command, which has our streams; signals are for it, and we stay to see how it ends."""
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise CommlensError(f"{command[0]} cannot be started: {error.strerror}") from None

    def hand_on(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT:  # Ctrl-C reaches the launcher from the terminal
            process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        status = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _explain_nothing(program: str, family: str) -> None:
    if family:
        say(f"nothing was recorded: no rank of {program} got as far as the end of MPI_Init, or all were killed")
    else:
        say(f"nothing was recorded: {program} is not linked to MPI, and nothing that it started ended MPI_Init")


def _record(
    command: Sequence[str], files: Sequence[Mapping[str, Any]], status: int, with_call_sites: bool
) -> dict[str, Any]:
    now = datetime.now(UTC)
    merged = profile_record.merge(files)
    return {
        "profile": 1,  # the first field, by which a profile is told from a benchmark's record
        "time": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "run": f"{now:%Y-%m-%dT%H:%M:%SZ}-{os.uname().nodename}-{os.getpid()}",
        "command": list(command),
        "exit_status": status,
        **merged,
        "call_sites": call_sites.resolve(files) if with_call_sites else [],
        "warnings": list(_warnings(merged, files)),
        "versions": {"commlens": commlens.__version__, "mpi": merged["mpi"]},
        "environment": {name: value for name, value in sorted(os.environ.items()) if _KEPT.fullmatch(name)},
    }


def _warnings(merged: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(files) > 1 and all(entry["size"] == 1 for entry in files):
        yield (
            f"{len(files)} processes took themselves for the only rank: "
            f"the launcher is not that of the program's MPI ({merged['mpi']})"
        )
    if merged["missing_ranks"]:
        yield f"no file came from {_named(merged['missing_ranks'])}: killed, or the folder is not seen there"
    endings: dict[tuple[str, str], list[int]] = {}
    for entry in files:
        if entry["ending"] != profile_record.FINALIZED:
            endings.setdefault((entry["ending"], entry["inside"]), []).append(entry["rank"])
    for (ending, inside), ranks in endings.items():
        yield f"{_named(ranks)} ended by {ending}" + (f", within {inside}" if inside else "")
    if not all(entry["has_peers"] for entry in files):
        yield "bytes by peer are not known: too many ranks, or a program of MPI sessions"
    if sites := sum(entry["dropped_call_sites"] for entry in files):
        yield f"{sites} calls came from more places than are kept apart"
    if requests := sum(entry["dropped_requests"] for entry in files):
        yield f"the bytes of {plural(requests, 'persistent request')} are not counted: there are more than are kept"


def _named(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:_MOST_RANKS_NAMED]))
    more = f" and {len(ranks) - _MOST_RANKS_NAMED} more" if len(ranks) > _MOST_RANKS_NAMED else ""
    return f"rank{'' if len(ranks) == 1 else 's'} {shown}{more}"


def _write(out: Path, line: str) -> Path | None:
    try:
        path = reserve_record_file(out, "profile")
    except CommlensError:
        return None  # said before the program ran
    try:
        path.write_text(line + "\n", encoding="utf-8")
    except OSError as error:
        say(f"--out {out}: the record cannot be written ({reason(error)})")
        return None
    return path
