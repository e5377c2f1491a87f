"""Measures settings of one benchmark interleaved: A B A B, so that drift hits all alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from commlens.base.errors import CommlensError, say, worst
from commlens.base.outputs import reserve
from commlens.base.text import plural
from commlens.compare.matching import Side
from commlens.jobs.native import find_native
from commlens.jobs.record_file import RecordFile
from commlens.jobs.run import JobRun, interleave
from commlens.jobs.session import Session, Settings
from commlens.jobs.spec import JobSpec, parse_environment
from commlens.knowledge.secrets import mask_words

_LETTERS = "abcdefgh"  # of the options and of the files of sides


@dataclass(frozen=True)
class Measured:
    """What both sides measured, and the status of the worst launch."""

    sides: Sequence[Side]
    status: int
    interrupted: bool = False


def measure(
    entry: JobSpec, settings_of_sides: Sequence[Sequence[str]], settings: Settings
) -> Measured:
    """Launches the entry's launches of each side interleaved, and announces each; ends once the
    first two launches of a side have left no record.

    Raises CommlensError for settings that cannot be, before anything runs.
    """
    prepared: dict[str, tuple[Session, JobSpec]] = {}
    are_alike = len({" ".join(mask_words(side)) for side in settings_of_sides}) == 1
    for words, letter in zip(settings_of_sides, _LETTERS):
        variables = parse_environment([setting for setting in words if setting], f"--{letter}")
        session = Session(find_native({**os.environ, **variables}), settings)
        variables.pop("COMMLENS_BENCH", None)  # the native program, where the side names one
        (job,) = session.jobs([replace(entry, environment={**entry.environment, **variables})])
        name = " ".join(mask_words(words)).strip() or "default settings"
        if are_alike and settings_of_sides[0] != settings_of_sides[1]:  # but for a secret
            name = f"{name} (--{letter})"
        if name in prepared:
            raise CommlensError(f"--a and --b are both {name}: name two settings that differ")
        prepared[name] = session, job
    folder = reserve(settings.out, f"compare-{entry.benchmark}")

    def announce(name: str, launches: int, launch: int, left: str) -> None:
        say(f"{entry.benchmark}, launch {launch} of {launches}{left}: {name}")

    def file_of(letter: str, _: int) -> RecordFile:
        return RecordFile(folder / f"{letter}.jsonl", collects=True)

    runs = [
        JobRun(session, job, partial(file_of, letter), partial(announce, name, job.launches))
        for letter, (name, (session, job)) in zip(_LETTERS, prepared.items())
    ]
    interruption = interleave(runs, all_needed=True)
    sides = [Side(name, run.records) for name, run in zip(prepared, runs)]
    say(f"{plural(sum(len(side.records) for side in sides), 'record')} in {folder}")
    status = worst(run.status for run in runs)
    return Measured(sides, status, interrupted=interruption is not None)
