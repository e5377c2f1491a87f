"""`commlens profile`: runs an MPI program with the profiling library and records the result."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

import msgspec

import commlens
from commlens.errors import CommlensError, reason, say
from commlens.profile import call_sites
from commlens.profile import program as profile_program
from commlens.profile.rank_files import (
    RankFile,
    RankFiles,
    merge_functions,
    merge_peers,
    read_rank_files,
    seconds,
)
from commlens.profile.record import FINALIZED, VERSION, Profile
from commlens.results import reserve_folder, reserve_record_file
from commlens.text import plural

_MAX_RANKS_NAMED = 8


@dataclass(frozen=True)
class Outcome:
    status: int  # the program's, from its launcher
    profile: Profile | None
    file: Path | None  # of the record


def run(command: Sequence[str], out: Path, *, with_call_sites: bool, with_waiting: bool) -> Outcome:
    """Runs the command to its end. Raises CommlensError if it cannot be profiled; it is not run."""
    positions = profile_program.programs(command)
    families = [profile_program.family(command[position]) for position in positions]
    family = next((name for name in families if name), "")
    library = profile_program.find_library(command[positions[0]], family)
    with _folder_of_ranks(out) as folder:
        settings = _settings(library.path, folder, with_call_sites, with_waiting)
        status = _run(profile_program.with_environment(command, positions, settings))
        files = read_rank_files(folder)
        if not files.ranks:
            _explain_nothing(command[positions[0]], family)
            return Outcome(status, None, None)
        profile = _profile(command, files, status, with_call_sites)
    return Outcome(status, profile, _write(out, profile))


def draw(profile: Profile, record: Path) -> Path | None:
    """A picture beside the record, or None if it cannot be written: the status is the program's."""
    from commlens import plot  # loading matplotlib takes longer than many programs

    picture = record.with_suffix(".png")
    try:
        plot.plot_profiles([profile], picture)
    except CommlensError as error:
        say(str(error))
        return None
    return picture


def _settings(
    library: Path, folder: Path, with_call_sites: bool, with_waiting: bool
) -> dict[str, str]:
    preloads = [str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
    settings = {"LD_PRELOAD": ":".join(preloads), "COMMLENS_PROFILE_OUT": str(folder)}
    if with_call_sites:
        settings["COMMLENS_PROFILE_CALLSITES"] = "1"
    if with_waiting:
        settings["COMMLENS_PROFILE_WAITING"] = "1"
    return settings


@contextmanager
def _folder_of_ranks(out: Path) -> Iterator[Path]:
    """Beside the record, so that other nodes see it too; a temporary folder if that fails."""
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
    """The status of the command, which has our streams. Signals are passed on to it."""
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        raise CommlensError(f"{command[0]} cannot be started: {error.strerror}") from None

    def forward(number: int, _: FrameType | None) -> None:
        if number != signal.SIGINT:  # the terminal sends it to the launcher too
            process.send_signal(number)

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, forward) for number in signals}
    try:
        status = process.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _explain_nothing(program: str, family: str) -> None:
    if family:
        why = f"no rank of {program} completed MPI_Init, or all ranks were killed"
    else:
        why = f"{program} is not linked to MPI, and nothing that it started completed MPI_Init"
    say(f"nothing was recorded: {why}")


def _profile(
    command: Sequence[str], files: RankFiles, status: int, with_call_sites: bool
) -> Profile:
    now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    ranks = files.ranks
    first = ranks[0]
    size = max(file.size for file in ranks)
    missing = sorted(set(range(size)) - {file.rank for file in ranks})
    return Profile(
        profile=VERSION,
        time=now,
        run=f"{now}-{os.uname().nodename}-{os.getpid()}",
        command=list(command),
        exit_status=status,
        mpi=first.mpi,
        program=first.program,
        thread_level=first.thread_level,
        ranks=size,
        nodes=len({file.host for file in ranks}),
        placement=[file.place for file in ranks],
        missing_ranks=missing,
        total_s=[seconds(file.total_ns) for file in ranks],
        functions=merge_functions(ranks),
        peers=merge_peers(ranks),
        call_sites=call_sites.resolve(ranks) if with_call_sites else [],
        warnings=list(_warnings(ranks, missing)),
        versions={"commlens": commlens.__version__, "mpi": first.mpi},
        environment=files.environment,
    )


def _warnings(files: Sequence[RankFile], missing: Sequence[int]) -> Iterator[str]:
    if len(files) > 1 and all(file.size == 1 for file in files):
        yield (
            f"each of {len(files)} processes ran as the only rank: "
            f"the launcher is not that of the program's MPI ({files[0].mpi})"
        )
    if missing:
        yield f"no file from {_named(missing)}: killed, or the folder is not visible there"
    endings: dict[tuple[str, str], list[int]] = {}
    for file in files:
        if file.ending != FINALIZED:
            endings.setdefault((file.ending, file.inside), []).append(file.rank)
    for (ending, inside), ranks in endings.items():
        yield f"{_named(ranks)} ended by {ending}" + (f", within {inside}" if inside else "")
    if not all(file.has_peers for file in files):
        yield "bytes by peer are unknown: too many ranks, or a program of MPI sessions"
    if sites := sum(file.dropped_call_sites for file in files):
        yield f"{plural(sites, 'call')} from further call sites are not counted by site"
    if requests := sum(file.dropped_requests for file in files):
        yield (
            f"the bytes of {plural(requests, 'persistent request')} are not counted: too many "
            "requests exist at a time"
        )


def _named(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:_MAX_RANKS_NAMED]))
    hidden = len(ranks) - _MAX_RANKS_NAMED
    return f"rank{'' if len(ranks) == 1 else 's'} {shown}" + (
        f" and {hidden} more" if hidden > 0 else ""
    )


def _write(out: Path, profile: Profile) -> Path | None:
    try:
        path = reserve_record_file(out, "profile")
    except CommlensError:
        return None  # reported before the program ran
    try:
        path.write_bytes(msgspec.json.encode(profile) + b"\n")
    except OSError as error:
        say(f"--out {out}: the record cannot be written ({reason(error)})")
        return None
    return path
