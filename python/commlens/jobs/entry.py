"""What a command line or an entry of a suite asks for: one benchmark, and how it is launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from commlens.base.errors import CommlensError
from commlens.base.text import plural
from commlens.jobs.allocation import Allocation
from commlens.jobs.job import Job
from commlens.jobs.launchers import MOST_RANKS
from commlens.jobs.native import Native
from commlens.jobs.options import Options, whole_number

MOST_LAUNCHES = 10_000


@dataclass(frozen=True)
class Entry:
    benchmark: str
    options: Options = field(default_factory=Options)
    ranks: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    launcher_arguments: Sequence[str] = ()
    launches: int = 1  # how often the whole job is launched
    where: str = ""  # in which suite it stands, for messages
    nodes: int | None = None  # that the ranks are spread over; None: all that there are
    ranks_per_node: int | None = None

    def job(self, native: Native, allocation: Allocation | None) -> Job:
        """The job of one start, without its file of records. Raises CommlensError for a benchmark
        or a number of ranks that cannot be."""
        nodes = nodes_of(self, allocation)
        return Job(
            native.benchmark(self.benchmark).name,
            self.options.without("record"),
            ranks_of(self, native, nodes or 1, allocation),
            self.environment,
            self.launcher_arguments,
            nodes,
        )


@dataclass(frozen=True)
class Overrides:
    """What the command line says to every entry."""

    options: Options = field(default_factory=Options)
    ranks: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    launcher_arguments: Sequence[str] = ()
    launches: int | None = None
    nodes: int | None = None
    ranks_per_node: int | None = None

    def applied_to(self, entry: Entry) -> Entry:
        """Options, variables and numbers replace the entry's own; launcher arguments are added."""
        return replace(
            entry,
            options=entry.options.replaced_by(self.options),
            # Ranks per node are another way to say how many: they replace the entry's number.
            ranks=self.ranks or (None if self.ranks_per_node else entry.ranks),
            nodes=self.nodes or entry.nodes,
            ranks_per_node=self.ranks_per_node or entry.ranks_per_node,
            environment={**entry.environment, **self.environment},
            launcher_arguments=(*entry.launcher_arguments, *self.launcher_arguments),
            launches=self.launches or entry.launches,
        )


def jobs_of(
    entries: Sequence[Entry], native: Native, allocation: Allocation | None = None
) -> list[Job]:
    """The job of each entry, in an allocation or without one. Raises CommlensError for the first
    mistake that can be found before anything runs."""
    jobs = []
    for entry in entries:
        try:
            jobs.append(entry.job(native, allocation))
        except CommlensError as error:
            raise _at(entry, str(error)) from None
    lines = [(job.ranks, (job.benchmark, *job.options.words())) for job in jobs]
    for entry, mistake in zip(entries, native.mistakes(lines)):
        if mistake:
            raise _at(entry, mistake)
    return jobs


def _at(entry: Entry, mistake: str) -> CommlensError:
    return CommlensError(f"{entry.where}: {mistake}" if entry.where else mistake)


def nodes_of(entry: Entry, allocation: Allocation | None) -> int | None:
    """How many nodes the ranks are spread over, where that is to be said to the launcher.

    Raises CommlensError for more nodes than the allocation has.
    """
    available = allocation.nodes if allocation else None
    if entry.nodes and available and entry.nodes > available:
        raise CommlensError(
            f"--nodes {entry.nodes}: this allocation has {plural(available, 'node')}"
        )
    if entry.nodes or entry.ranks_per_node:
        return entry.nodes or available
    return available if allocation and allocation.spans_nodes else None


def ranks_of(entry: Entry, native: Native, nodes: int, allocation: Allocation | None) -> int:
    """As asked for; else two a pair for a benchmark of pairs; else as many as there are to be on
    each node, or as the allocation was asked for, or one a GPU, or one a node, two at least.

    Raises CommlensError for more than can be.
    """
    if entry.ranks:
        return entry.ranks
    pairs = entry.options.text("pairs") or native.benchmark(entry.benchmark).default("pairs")
    if pairs is not None:
        return _ranks_of_pairs(pairs)
    if entry.ranks_per_node:
        ranks = entry.ranks_per_node * nodes
        if ranks > MOST_RANKS:
            raise CommlensError(
                f"--ranks-per-node {entry.ranks_per_node} on {plural(nodes, 'node')}: more than "
                f"{MOST_RANKS:,} ranks cannot be started"
            )
        return ranks
    if allocation and (allocation.tasks or 1) > 1 and not entry.nodes:
        return min(allocation.tasks or 1, MOST_RANKS)
    return max(2, nodes * max(1, native.about.gpus if native.about.has_gpu else 1))


def _ranks_of_pairs(pairs: str) -> int:
    number = whole_number(pairs) or 0
    if 2 * number > MOST_RANKS:
        raise CommlensError(
            f"--pairs {pairs}: a pair is two ranks, and more than {MOST_RANKS:,} cannot be started"
        )
    return 2 * max(number, 1)
