"""What a command line or an entry of a suite asks for: one benchmark, and how it is launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from commlens.errors import CommlensError
from commlens.launch.job import Job
from commlens.launch.launchers import MOST_RANKS
from commlens.launch.native import Native
from commlens.launch.options import Options, whole_number

MOST_STARTS = 10_000


@dataclass(frozen=True)
class Entry:
    benchmark: str
    options: Options = field(default_factory=Options)
    ranks: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    launcher_arguments: Sequence[str] = ()
    starts: int = 1  # how often the whole job is launched
    where: str = ""  # in which suite it stands, for messages

    def job(self, native: Native) -> Job:
        """The job of one start, without its file of records. Raises CommlensError for a benchmark
        or a number of ranks that cannot be."""
        return Job(
            native.benchmark(self.benchmark).name,
            self.options.without("record"),
            ranks_of(self, native),
            self.environment,
            self.launcher_arguments,
        )


@dataclass(frozen=True)
class Overrides:
    """What the command line says to every entry."""

    options: Options = field(default_factory=Options)
    ranks: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    launcher_arguments: Sequence[str] = ()
    starts: int | None = None

    def applied_to(self, entry: Entry) -> Entry:
        """Options, variables and numbers replace the entry's own; launcher arguments are added."""
        return replace(
            entry,
            options=entry.options.replaced_by(self.options),
            ranks=self.ranks or entry.ranks,
            environment={**entry.environment, **self.environment},
            launcher_arguments=(*entry.launcher_arguments, *self.launcher_arguments),
            starts=self.starts or entry.starts,
        )


def jobs_of(entries: Sequence[Entry], native: Native) -> list[Job]:
    """The job of each entry. Raises CommlensError for the first mistake that can be found before
    anything runs."""
    jobs = []
    for entry in entries:
        try:
            jobs.append(entry.job(native))
        except CommlensError as error:
            raise _at(entry, str(error)) from None
    lines = [(job.ranks, (job.benchmark, *job.options.words())) for job in jobs]
    for entry, mistake in zip(entries, native.mistakes(lines)):
        if mistake:
            raise _at(entry, mistake)
    return jobs


def _at(entry: Entry, mistake: str) -> CommlensError:
    return CommlensError(f"{entry.where}: {mistake}" if entry.where else mistake)


def ranks_of(entry: Entry, native: Native) -> int:
    """As asked for; else two a pair for a benchmark of pairs, or one a GPU, two at least.

    Raises CommlensError for more pairs than can be.
    """
    if entry.ranks:
        return entry.ranks
    benchmark, about = native.benchmark(entry.benchmark), native.about
    pairs = entry.options.text("pairs") or benchmark.default("pairs")
    if pairs is None:
        return max(2, about.gpus) if about.has_gpu else 2
    number = whole_number(pairs) or 0
    if 2 * number > MOST_RANKS:
        raise CommlensError(
            f"--pairs {pairs}: a pair is two ranks, and more than {MOST_RANKS:,} cannot be started"
        )
    return 2 * max(number, 1)
