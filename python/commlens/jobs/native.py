"""The native program commlens-bench: where it is, and what it reports of itself. None of this needs
a launcher."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Optional, TypeVar

import msgspec

import commlens
from commlens.base.errors import CommlensError
from commlens.base.text import shown
from commlens.model import Metric

PROGRAM = "commlens-bench"
_SOURCE_TREE = Path(__file__).resolve().parents[3]
_ANSWER_TIME_S = 30
# OpenBLAS starts its threads when it is loaded; where they may not start, it tries for ever.
_COMPUTES_NOTHING = {"OPENBLAS_NUM_THREADS": "1"}

_Answer = TypeVar("_Answer")


class Option(msgspec.Struct, frozen=True):
    """An option of a benchmark."""

    name: str  # without the dashes
    default: str = ""
    help: str = ""
    role: str = "setting"
    unit: str = ""


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark of the native program."""

    name: str
    description: str
    options: tuple[Option, ...]
    metrics: tuple[Metric, ...] = ()

    def default(self, option: str) -> str | None:
        """The default of an option; None where the benchmark has no such option."""
        return next((entry.default for entry in self.options if entry.name == option), None)


class About(msgspec.Struct, frozen=True):
    """What the build has, and the GPUs of the machine on which it was asked."""

    version: str
    backend: str
    gpus: int
    transports: tuple[str, ...]  # in the order in which they are shown
    mpi: str  # "Open MPI 5.0.7"
    mpi_family: str  # "openmpi", "mpich", "intel" or "other"
    formats: tuple[str, ...]
    probed_transports: tuple[str, ...] = ("mpi",)  # those that pass GPU memory to MPI

    @property
    def has_gpu(self) -> bool:
        """Whether it uses GPUs here."""
        return self.backend != "host" and self.gpus > 0


@dataclass(frozen=True)
class Native:
    """The native program at `path`; it is asked once for each answer."""

    path: Path
    through: Sequence[str] = ()  # what runs it on a node of the allocation, where GPUs are counted

    @cached_property
    def about(self) -> About:
        """The build, and the GPUs: those of a node of the allocation, where there is one."""
        built = self._ask_for(About, "--about")
        # A build without GPUs has none on any node.
        if not self.through or built.backend == "host":
            return built
        return self._ask_for(About, "--about", through=self.through)

    @cached_property
    def benchmarks(self) -> dict[str, Benchmark]:
        """All benchmarks by name."""
        listed = self._ask_for(list[Benchmark], "--list", "--format", "json")
        return {benchmark.name: benchmark for benchmark in listed}

    def benchmark(self, name: str) -> Benchmark:
        """The benchmark of this name. Raises CommlensError, with the nearest name, where there is
        none."""
        if name in self.benchmarks:
            return self.benchmarks[name]
        near = get_close_matches(name, self.benchmarks, n=1)
        fix = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.benchmarks)}"
        raise CommlensError(f"no benchmark is called '{name}': {fix}")

    def help(self, benchmark: str) -> str:
        """The options of a benchmark, as text."""
        return self._ask(benchmark, "--help")

    def mistakes(self, jobs: Sequence[tuple[int, Sequence[str]]]) -> list[str]:
        """The mistake in each command line, given as ranks and words, in the words of the program;
        empty: none that can be known before it runs."""
        return self._ask_for(list[str], "--check", question=_command_lines(jobs))

    def memory_bytes(self, ranks: int, words: Sequence[str]) -> float | None:
        """Of the buffers of a run, on the rank that has most; None for a wrong command line."""
        question = _command_lines([(ranks, words)])
        return self._ask_for(list[Optional[float]], "--memory", question=question)[0]

    def _ask(self, *arguments: str, question: str = "", through: Sequence[str] = ()) -> str:
        command = [*through, str(self.path), *arguments]
        try:
            answer = subprocess.run(
                command,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                input=question,
                env={**os.environ, **_COMPUTES_NOTHING},
                timeout=_ANSWER_TIME_S,
                check=True,
            )
        except OSError as error:
            raise CommlensError(f"{self.path} cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            mistake = f"gave no answer within {_ANSWER_TIME_S} s; where memory or processes are "
            mistake += "limited (`ulimit -a`), raise the limit"
        except subprocess.CalledProcessError as error:
            last = (str(error.stderr).strip().splitlines() or ["it printed nothing"])[-1]
            mistake = f"ended with status {error.returncode} ({last}): "
            mistake += f"is it {PROGRAM}, and does it run here?"
        else:
            return answer.stdout
        raise CommlensError(f"`{' '.join(command)}` {mistake}")

    def _ask_for(
        self,
        kind: type[_Answer],
        *arguments: str,
        question: str = "",
        through: Sequence[str] = (),
    ) -> _Answer:
        answer = self._ask(*arguments, question=question, through=through)
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.DecodeError as error:
            raise CommlensError(
                f"{self.path} {' '.join(arguments)} has another answer than "
                f"{PROGRAM} {commlens.__version__} ({error}): rebuild it"
            ) from None


def _command_lines(jobs: Sequence[tuple[int, Sequence[str]]]) -> str:
    lines = [{"ranks": ranks, "words": words} for ranks, words in jobs]
    # JSON cannot hold what is not UTF-8.
    text = json.dumps(lines, ensure_ascii=False).encode("utf-8", "surrogateescape")
    return text.decode("utf-8", "replace")


def find_native(environment: Mapping[str, str] = os.environ) -> Native:
    """COMMLENS_BENCH, else the package's own, else one on the PATH, else the newest build in the
    source tree.

    Raises CommlensError where there is none.
    """
    named = environment.get("COMMLENS_BENCH")
    if named:
        if not _is_program(Path(named)):
            raise CommlensError(
                f"COMMLENS_BENCH={shown(named)} is not a program: name the built {PROGRAM}, or"
                " unset it"
            )
        return Native(Path(named).resolve())
    on_path = shutil.which(PROGRAM, path=environment.get("PATH"))
    packaged = [Path(folder) / "bin" / PROGRAM for folder in commlens.__path__]
    built = [*_SOURCE_TREE.glob(f"build/*/{PROGRAM}"), *_SOURCE_TREE.glob(f"build/*/src/{PROGRAM}")]
    built.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in [*packaged, *([Path(on_path)] if on_path else []), *built]:
        if _is_program(path):
            return Native(path)
    raise CommlensError(
        f"the native program {PROGRAM} is missing: build it with `commlens build`, or name it in"
        " COMMLENS_BENCH"
    )


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
