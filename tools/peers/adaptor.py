"""A program of another project in the place of commlens-bench, for `commlens compare --run`.

An adaptor takes the command line of commlens-bench. Questions (--about, --list ...) are answered by
commlens-bench itself. Each rank of a job becomes the other program, in the launcher's environment;
rank 0 starts it as a child, and writes what it prints as records. An adaptor makes no call of MPI.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from writing import Figures, Job, Plan, Writer

from commlens.base.errors import CommlensError, Status, reason, say
from commlens.jobs.native import Native, find_native
from commlens.jobs.spec import PROBE, Options

_RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID")  # set by launchers
_RANKS_OF_NODE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
# They decide nothing of what another program measures.
_IGNORED = ("record", "expect-ranks", "timeout", "format", "no-ceilings", "no-parts", "no-validate")
_SUFFIXES = "KMGT"

__all__ = [
    "Figures",
    "Peer",
    "Plan",
    "Request",
    "main",
    "main_itself",
    "program_in",
    "size_in",
    "sizes_in",
]


@dataclass(frozen=True)
class Request:
    """A command line of commlens-bench for a job."""

    peer: str
    benchmark: str
    options: Options
    ranks: int
    memory: str

    def only(self, *names: str) -> None:
        """Raises CommlensError for an option that is none of these."""
        for name in self.options:
            if name not in names and name not in _IGNORED:
                raise CommlensError(f"--{name}: not an option for {self.peer}; leave it out")

    def fixed(self, **values: str) -> None:
        """Raises CommlensError where one of these options is given with another value."""
        for name, value in values.items():
            given = self.options.get(name, value)
            if given != value:
                raise CommlensError(f"--{name} {given}: for {self.peer} write --{name} {value}")

    def needed(self, name: str, fix: str) -> str:
        """The value of an option. Raises CommlensError where it is not given."""
        if not self.options.text(name):
            raise CommlensError(f"--{name} is missing, for {self.peer}: {fix}")
        return self.options.text(name)


@dataclass(frozen=True)
class Peer:
    """The other program: what it is, and how it is asked."""

    name: str
    benchmarks: Sequence[str]  # in commlens's words
    plan: Callable[[Request], Plan]
    transport: str = "mpi"  # the only one that it has, as commlens calls it
    memories: Sequence[str] = ("host",)  # that it can use; the first is its default


def main(peer: Peer) -> NoReturn:
    """Answers or measures, and ends the process. Every rank finds the same mistake; one says it."""
    _end_with(lambda: _run(peer, sys.argv[1:]))


def main_itself() -> NoReturn:
    """Likewise, with commlens-bench in its own place: by the same steps as another program."""
    _end_with(lambda: _run_itself(sys.argv[1:]))


def _end_with(work: Callable[[], None]) -> NoReturn:
    signal.signal(signal.SIGTERM, _end)
    try:
        work()
    except CommlensError as error:
        if _rank() == 0:
            say(str(error))
        sys.exit(error.status)
    sys.exit(Status.OK)


def program_in(variable: str, name: str, fix: str) -> Path:
    """The program in the folder that an environment variable names. Raises CommlensError."""
    folder = os.environ.get(variable)
    if not folder:
        raise CommlensError(f"{variable} is not set: name the folder with {name} ({fix})")
    program = Path(folder, name)
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise CommlensError(f"{variable}={folder}: no program {name} is there ({fix})")
    return program


def sizes_in(text: str) -> list[int]:
    """The sizes in a text that commlens-bench accepts: `8:1G:x8,4096`."""
    sizes: list[int] = []
    for part in text.split(","):
        first, *others = part.split(":")
        size, last = size_in(first), size_in(others[0] if others else first)
        factor = int(others[1][1:]) if len(others) > 1 else 2
        while size < last:
            sizes.append(size)
            size *= factor
        sizes.append(last)
    return sizes


def size_in(text: str) -> int:
    """`8K`, `1e7`"""
    power = _SUFFIXES.find(text[-1].upper()) + 1
    return int(float(text[:-1] if power else text) * 1024**power)


def _run(peer: Peer, words: Sequence[str]) -> None:
    native = _native_for(words)
    request = _request(peer, native, words)
    plan = peer.plan(request)
    if _rank() != 0:
        os.execv(plan.command[0], plan.command)
    benchmark = native.benchmark(request.benchmark)
    job = Job(native.about, benchmark, request.ranks, peer.transport, request.memory)
    _measure(plan, Writer(request.options.text("record"), job, plan))


def _run_itself(words: Sequence[str]) -> None:
    native = _native_for(words)
    _accepted(native, words)
    command = [str(native.path), *words]
    if _rank() != 0:
        os.execv(command[0], command)
    with _started(command) as child:
        assert child.stdout
        for line in child.stdout:
            print(line, end="", flush=True)
        status = child.wait()
    if status != 0:
        sys.exit(status if status > 0 else 128 - status)


def _native_for(words: Sequence[str]) -> Native:
    """Becomes it where it is asked a question."""
    native = _native()
    if not words or words[0].startswith("-") or words[0] == PROBE or "--help" in words:
        os.execv(native.path, [str(native.path), *words])
    return native


def _native() -> Native:
    """commlens-bench: the one that COMMLENS_BENCH names, where that is not the adaptor."""
    environment = dict(os.environ)
    named = environment.get("COMMLENS_BENCH")
    if named and Path(named).resolve() == Path(sys.argv[0]).resolve():
        del environment["COMMLENS_BENCH"]
    return find_native(environment)


def _request(peer: Peer, native: Native, words: Sequence[str]) -> Request:
    """Raises CommlensError for what commlens-bench would refuse, and for what an adaptor cannot."""
    if words[0] not in peer.benchmarks:
        known = ", ".join(peer.benchmarks)
        raise CommlensError(f"{words[0]}: not compared with {peer.name}; write one of: {known}")
    options, ranks = _accepted(native, words)
    memory = options.get("memory", peer.memories[0])
    if memory not in peer.memories:
        known = " or ".join(f"--memory {name}" for name in peer.memories)
        raise CommlensError(f"--memory {memory}: for {peer.name} write {known}")
    request = Request(peer.name, words[0], options, ranks, memory)
    request.fixed(transport=peer.transport)
    if native.about.has_gpu:
        request.needed("memory", f"write --memory {peer.memories[0]}")
    of_node = _number_in_environment(_RANKS_OF_NODE, ranks)
    if of_node != ranks:
        raise CommlensError(f"{of_node} of {ranks} ranks are on this node: start all on one node")
    return request


def _accepted(native: Native, words: Sequence[str]) -> tuple[Options, int]:
    """Options and number of ranks. Raises CommlensError for what commlens-bench refuses."""
    options = Options.parse(words[1:])
    ranks = int(options.text("expect-ranks") or 2)
    kept = options.without("expect-ranks", "record").words()
    for mistake in filter(None, native.mistakes([(ranks, [words[0], *kept])])):
        raise CommlensError(mistake)
    return options, ranks


@contextmanager
def _started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A child whose output is read. Nothing of it is left at the end."""
    try:
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        name = Path(command[0]).name
        raise CommlensError(f"{name} cannot be started: {reason(error)}") from None
    with child:
        try:
            yield child
        finally:
            child.kill()


def _measure(plan: Plan, writer: Writer) -> None:
    """Runs the program as rank 0, and writes a record as soon as it has printed its figures."""
    program = Path(plan.command[0]).name
    with _started(plan.command) as child:
        assert child.stdout
        for figures in plan.read(_shown(child.stdout, writer)):
            writer.write(figures)
        status = child.wait()
    if status != 0:
        raise CommlensError(f"{program} ended with status {status}", Status.FAILED)
    if writer.cases < plan.cases:
        printed = f"{program} has printed figures of {writer.cases} cases instead of {plan.cases}"
        raise CommlensError(printed, Status.FAILED)


def _shown(lines: Iterable[str], writer: Writer) -> Iterator[str]:
    for line in lines:
        print(line, end="", flush=True)
        writer.look_for_versions(line)
        yield line.strip()


def _rank() -> int:
    return _number_in_environment(_RANK, 0)


def _number_in_environment(names: Iterable[str], otherwise: int) -> int:
    return next((int(os.environ[name]) for name in names if name in os.environ), otherwise)


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)
