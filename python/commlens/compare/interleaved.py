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
from commlens.jobs.launches import Turns, take_turns
from commlens.jobs.native import find_native
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Session, Settings
from commlens.jobs.spec import JobSpec, parse_environment
from commlens.model import Record

PROGRAM = "COMMLENS_BENCH"  # of the side that names one, the native program that it runs
_DEFAULT = "default settings"


@dataclass(frozen=True)
class Measured:
    sides: Sequence[Side]
    status: int
    interrupted: bool = False


def measure(
    entry: JobSpec, settings_of_sides: Sequence[Sequence[str]], settings: Settings
) -> Measured:
    """Launches the entry's launches of each side interleaved, and says which start it is.

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
    turns = [
        _turns(entry, name, session, job, folder / f"{option[2:]}.jsonl")
        for option, (name, session, job) in zip(options, prepared)
    ]
    interruption = take_turns(turns)
    sides = [Side(name, _records(own)) for name, own in zip(names, turns)]
    count = sum(len(side.records) for side in sides)
    say(f"{plural(count, 'record')} in {folder}")
    status = worst(result.status for own in turns for result in own.results)
    return Measured(sides, status, interrupted=interruption is not None)


def _turns(entry: JobSpec, name: str, session: Session, job: JobSpec, path: Path) -> Turns:
    file = RecordFile(path, collects=True)

    def announce(start: int) -> None:
        say(f"{entry.benchmark}, start {start} of {job.launches}: {name}")

    return Turns(session, job, job.launches, lambda _: file, announce)


def _records(turns: Turns) -> list[Record]:
    return [record for result in turns.results for record in result.records]


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
