"""Measures settings of one benchmark interleaved: A B A B, so that drift hits all alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commlens.base.errors import CommlensError, say, worst
from commlens.base.outputs import reserve_folder
from commlens.base.text import plural
from commlens.compare.matching import Side
from commlens.jobs.native import find_native
from commlens.jobs.record_file import RecordFile
from commlens.jobs.run import JobRun, interleave
from commlens.jobs.session import Session, Settings
from commlens.jobs.spec import JobSpec, parse_environment

PROGRAM = "COMMLENS_BENCH"  # of the side that names one, the native program that it runs
_DEFAULT = "default settings"


@dataclass(frozen=True)
class Measured:
    """What both sides measured, and the status of the worst launch."""

    sides: Sequence[Side]
    status: int
    interrupted: bool = False


def measure(
    entry: JobSpec, settings_of_sides: Sequence[Sequence[str]], settings: Settings
) -> Measured:
    """Launches the entry's launches of each side interleaved, and announces each.

    Raises CommlensError for settings that cannot be, before anything runs.
    """
    options = [f"--{letter}" for letter in "abcdefgh"]
    prepared = [
        _prepared(entry, own, settings, option) for own, option in zip(settings_of_sides, options)
    ]
    names = [name for name, _, _ in prepared]
    if len(set(names)) < len(names):
        raise CommlensError(f"--a and --b are both {names[0]}: name two settings that differ")
    folder = reserve_folder(settings.out, f"compare-{entry.benchmark}")
    runs = [
        _run_of(entry, name, session, job, folder / f"{option[2:]}.jsonl")
        for option, (name, session, job) in zip(options, prepared)
    ]
    interruption = interleave(runs)
    sides = [Side(name, run.records) for name, run in zip(names, runs)]
    count = sum(len(side.records) for side in sides)
    say(f"{plural(count, 'record')} in {folder}")
    status = worst(run.status for run in runs)
    return Measured(sides, status, interrupted=interruption is not None)


def _run_of(entry: JobSpec, name: str, session: Session, job: JobSpec, path: Path) -> JobRun:
    file = RecordFile(path, collects=True)

    def announce(launch: int) -> None:
        say(f"{entry.benchmark}, launch {launch} of {job.launches}: {name}")

    return JobRun(session, job, lambda _: file, announce)


def _prepared(
    entry: JobSpec, own: Sequence[str], settings: Settings, option: str
) -> tuple[str, Session, JobSpec]:
    variables = parse_environment([setting for setting in own if setting], option)
    native = find_native({**os.environ, **variables})
    session = Session(native, settings)
    passed = {name: value for name, value in variables.items() if name != PROGRAM}
    environment = {**entry.environment, **passed}
    (job,) = session.jobs([replace(entry, environment=environment)])
    return " ".join(own).strip() or _DEFAULT, session, job
