"""What is to be run: a benchmark with its options, how it is launched, and in which allocation."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Optional

from commlens.base.errors import CommlensError
from commlens.base.inputs import read_text
from commlens.base.text import plural, whole_number
from commlens.jobs.native import Native
from commlens.knowledge.launchers import MANAGERS, Manager
from commlens.knowledge.secrets import mask_words
from commlens.machine.system import System

MOST_RANKS = 1_000_000  # for more, launchers have no answer that helps
MOST_LAUNCHES = 10_000
FORMER_NAMES = {"launches": "starts"}  # still accepted on command lines and in suites
PROBE = "probe"  # a command of the native program that is no benchmark
GPU_OFF = "gpu-aware-mpi-off"  # its option for what the probe has found

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NEXT_SETTING = re.compile(r"\s[A-Z_][A-Z0-9_]*=", re.ASCII)  # in the value of one
_OURS = (  # that the command, the native program and the profiler read
    "COMMLENS_BENCH",
    "COMMLENS_LAUNCHER_ARGS",
    "COMMLENS_OPTIONS",
    "COMMLENS_PROFILE_CALLSITES",
    "COMMLENS_PROFILE_EXACT_TIMES",
    "COMMLENS_PROFILE_LIBRARY",
    "COMMLENS_PROFILE_OUT",
    "COMMLENS_PROFILE_REGIONS",
    "COMMLENS_PROFILE_TRACE",
    "COMMLENS_PROFILE_WAITING",
)


class Options(dict[str, Optional[str]]):
    """Values by the names of options without dashes, in order; None: the option has no value."""

    @classmethod
    def parse(cls, words: Sequence[str]) -> Options:
        """The options in `--name value`, `--name=value` and `--flag`. Raises CommlensError for a
        word that belongs to none and for an option that is given twice."""
        options = cls()
        waiting = ""  # the option that has no value yet
        for word in words:
            if word.startswith("--") and len(word) > 2:
                name, is_whole, value = word[2:].partition("=")
                if name in options:
                    raise CommlensError(f"--{name} is given twice; leave one of them out")
                options[name] = value if is_whole else None
                waiting = "" if is_whole else name
            elif waiting:
                options[waiting] = word
                waiting = ""
            else:
                raise CommlensError(
                    f"'{word}' belongs to no option; write options as --NAME VALUE, "
                    "`commlens run BENCHMARK --help` lists them"
                )
        return options

    def words(self) -> list[str]:
        """The options as a command line of the native program."""
        words: list[str] = []
        for name, value in self.items():
            if value is None:
                words.append(f"--{name}")
            elif value.startswith("--"):
                words.append(f"--{name}={value}")
            else:
                words += [f"--{name}", value]
        return words

    def replaced_by(self, other: Mapping[str, str | None]) -> Options:
        """These options and all of `other`, which counts where an option is in both."""
        return Options({**self.without(*other), **other})

    def without(self, *names: str) -> Options:
        """These options but those of some names."""
        return Options({name: value for name, value in self.items() if name not in names})

    def text(self, name: str) -> str:
        """The value of an option; empty where it has none or is not there."""
        return self.get(name) or ""

    @property
    def has_tables(self) -> bool:
        """Whether the output is tables: not for programs."""
        return self.text("format") in ("", "table")


@dataclass(frozen=True)
class Allocation:
    """The nodes that a resource manager has given to this command."""

    variable: str  # the one that is set within it
    nodes: int | None = None  # None: not known
    tasks: int | None = None  # the number that was asked for, if any was

    @classmethod
    def current(cls, environment: Mapping[str, str] = os.environ) -> Allocation | None:
        """The allocation in which this command runs, if it does in one."""
        for manager in MANAGERS:
            if environment.get(manager.variable):
                nodes = _nodes_given_by(manager, environment)
                return cls(manager.variable, nodes, _number_in(manager.tasks, environment))
        return None


def _nodes_given_by(manager: Manager, environment: Mapping[str, str]) -> int | None:
    if manager.host_slots:
        hosts = environment.get(manager.host_slots, "").split()[::2]
        return len(hosts) - 1 if len(hosts) > 1 else None  # jsrun starts no rank on the first
    if manager.host_file:
        with suppress(CommlensError):
            path = Path(environment.get(manager.host_file, ""))
            lines = read_text(path, is_lenient=True).splitlines()
            return len({line.split()[0] for line in lines if line.strip()}) or None
    if manager.nodes_command:
        return whole_number(System(environment).run(*manager.nodes_command).text.strip())
    return _number_in(manager.nodes, environment)


def _number_in(variables: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """The number in the first of the variables that has one."""
    numbers = (whole_number(environment.get(variable, "")) for variable in variables)
    return next((number for number in numbers if number), None)


@dataclass(frozen=True)
class JobSpec:
    """A benchmark with its options, and how it is launched.

    The command line, a suite, a site and a search each make one. A number of 0 is not given:
    `resolved` completes it.
    """

    benchmark: str = ""
    options: Options = field(default_factory=Options)
    ranks: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)  # set for this job, on all nodes
    launcher_arguments: Sequence[str] = ()
    launches: int = 0  # of the whole job
    nodes: int = 0  # over which the ranks are spread; if still 0 at launch, the launcher decides
    ranks_per_node: int = 0
    where: str = ""  # the suite and the entry that it is from, for messages

    def overridden_by(self, other: JobSpec) -> JobSpec:
        """This benchmark with the options, variables and numbers of `other` in place of those here.

        Launcher arguments are added.
        """
        return replace(
            self,
            options=self.options.replaced_by(other.options),
            # Ranks per node are another way to give their number.
            ranks=other.ranks or (0 if other.ranks_per_node else self.ranks),
            nodes=other.nodes or self.nodes,
            ranks_per_node=other.ranks_per_node or self.ranks_per_node,
            environment={**self.environment, **other.environment},
            launcher_arguments=(*self.launcher_arguments, *other.launcher_arguments),
            launches=other.launches or self.launches,
        )

    def resolved(self, native: Native, allocation: Allocation | None) -> JobSpec:
        """The job with its numbers of ranks, nodes and launches.

        A number of nodes is 0 where the launcher need not be given it. Raises CommlensError for a
        benchmark that does not exist, and for numbers that are too large.
        """
        if "expect-ranks" in self.options:
            raise CommlensError("--expect-ranks follows from --ranks here; leave it out")
        available = (allocation.nodes if allocation else None) or 0
        if self.nodes and available and self.nodes > available:
            raise CommlensError(
                f"--nodes {self.nodes}: this allocation has {plural(available, 'node')}"
            )
        nodes = available if available > 1 else 0
        if self.nodes or self.ranks_per_node:
            nodes = self.nodes or available
        return replace(
            self,
            benchmark=native.benchmark(self.benchmark).name,
            ranks=_ranks_of(self, native, nodes or 1, allocation),
            nodes=nodes,
            launches=self.launches or 1,
        )

    def words(self) -> list[str]:
        """The options of `commlens run` that give this job, after the name of the benchmark."""
        numbers = {
            "--ranks": self.ranks,
            "--nodes": self.nodes,
            "--ranks-per-node": self.ranks_per_node,
        }
        arguments = shlex.join(self.launcher_arguments)
        return [
            *self.options.words(),
            *(word for name, number in numbers.items() if number for word in (name, str(number))),
            *(word for item in self.environment.items() for word in ("--env", "=".join(item))),
            *(["--launcher-args", arguments] if arguments else []),
        ]

    def __str__(self) -> str:
        """`latency --memory host --ranks 2`, as `commlens run` takes it; without secrets."""
        return shlex.join(mask_words([self.benchmark, *self.words()]))

    def program(self, native: Path, record_file: Path | None = None) -> list[str]:
        """The command line of the native program on each rank."""
        record = ["--record", str(record_file)] if record_file else []
        expect = ["--expect-ranks", str(self.ranks)] if self.benchmark != PROBE else []
        options = self.options.without("record").words()
        return [str(native), self.benchmark, *record, *expect, *options]


def resolve(
    specs: Sequence[JobSpec], native: Native, allocation: Allocation | None = None
) -> list[JobSpec]:
    """Resolves all jobs, in an allocation or without one.

    Raises CommlensError for the first mistake that can be found before anything runs.
    """
    jobs = []
    for spec in specs:
        try:
            jobs.append(spec.resolved(native, allocation))
        except CommlensError as error:
            raise _at(spec, str(error)) from None
    lines = [(job.ranks, (job.benchmark, *job.options.without("record").words())) for job in jobs]
    for spec, mistake in zip(specs, native.mistakes(lines)):
        if mistake:
            raise _at(spec, mistake)
    return jobs


def _at(spec: JobSpec, mistake: str) -> CommlensError:
    return CommlensError(f"{spec.where}: {mistake}" if spec.where else mistake)


def _ranks_of(spec: JobSpec, native: Native, nodes: int, allocation: Allocation | None) -> int:
    """The number that was asked for; else two per pair for a benchmark of pairs; else the ranks per
    node times the nodes; else the tasks of the allocation; else one per GPU, or one per node, at
    least two.

    Raises CommlensError for more than MOST_RANKS.
    """
    if spec.ranks:
        return spec.ranks
    if of_pairs := ranks_of_pairs(spec, native):
        return of_pairs
    if spec.ranks_per_node:
        ranks = spec.ranks_per_node * nodes
        if ranks > MOST_RANKS:
            raise CommlensError(
                f"--ranks-per-node {spec.ranks_per_node} on {plural(nodes, 'node')}: more than "
                f"{MOST_RANKS:,} ranks cannot be started"
            )
        return ranks
    if allocation and (allocation.tasks or 1) > 1 and not spec.nodes:
        return min(allocation.tasks or 1, MOST_RANKS)
    return max(2, nodes * max(1, native.about.gpus if native.about.has_gpu else 1))


def ranks_of_pairs(spec: JobSpec, native: Native) -> int:
    """Two for each of its pairs; 0: it is no benchmark of pairs. Raises CommlensError for more than
    MOST_RANKS."""
    pairs = spec.options.text("pairs") or native.benchmark(spec.benchmark).default("pairs")
    if pairs is None:
        return 0
    number = whole_number(pairs) or 0
    if 2 * number > MOST_RANKS:
        raise CommlensError(
            f"--pairs {pairs}: a pair is two ranks, and more than {MOST_RANKS:,} cannot be started"
        )
    return 2 * max(number, 1)


def parse_environment(settings: Sequence[str], option: str = "--env") -> dict[str, str]:
    """Reads the variables in `NAME=VALUE`, `NAME=VALUE` ...

    Raises CommlensError, which names the option.
    """
    environment: dict[str, str] = {}
    for setting in settings:
        name, is_whole, value = setting.partition("=")
        shown = mask_words([setting])[0]
        if not is_whole or not is_variable(name):
            raise CommlensError(
                f"{option} {shown!r}: write NAME=VALUE with the name of a variable, "
                "as in UCX_TLS=all"
            )
        if _NEXT_SETTING.search(value):
            raise CommlensError(f"{option} '{shown}': write {option} for each variable")
        if name in environment:
            raise CommlensError(f"{option} {shown}: {name} is set twice; leave one of them out")
        near = get_close_matches(name, _OURS, n=1, cutoff=0.85)  # BENHC is BENCH
        if near and name not in _OURS:
            raise CommlensError(f"{option} {shown}: nothing reads {name}; write {near[0]}")
        environment[name] = value
    return environment


def is_variable(name: str) -> bool:
    """Whether this can be the name of an environment variable."""
    return _VARIABLE.fullmatch(name) is not None
