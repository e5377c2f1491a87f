"""Whether the MPI library takes GPU memory: tried in a job of its own, whose crash is survived and explained.

The native program's `probe` prints a line of JSON before and after each step. From these lines, from how the job ended
and from what Open MPI logs of its choice of a messaging layer (pml), the first rule that applies makes one sentence:
which call, which library and version, what to set.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from commlens import noise
from commlens.launch import Outcome, run_job
from commlens.launchers import Launcher, settings
from commlens.native import Native
from commlens.text import library_name

TIME_LIMIT_S = 60.0

# With it Open MPI logs which pml it chose, and which one it passed over.
_LOG_THE_CHOICE = {"OMPI_MCA_pml_base_verbose": "10"}

_UCX_ON_ANY_DEVICE = "OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any"
_OTHER_WAYS = "use --transport staged or ccl for device memory"


class Fitness(Enum):
    FIT = "MPI takes GPU memory"
    UNFIT = "MPI must not be given GPU memory"
    BROKEN = "MPI does not start at all, for any memory"
    UNKNOWN = "the probe itself did not run"


@dataclass(frozen=True)
class Verdict:
    fitness: Fitness
    sentence: str = ""  # for FIT: advice, often none


@dataclass(frozen=True)
class Step:
    """One call of the probe: `MPI_Send` of 1 byte from device memory."""

    rank: int
    call: str
    bytes: int | None = None
    memory: str | None = None

    def __str__(self) -> str:
        if self.bytes is None or self.memory is None:
            return self.call
        direction = "to" if "recv" in self.call.lower() and "send" not in self.call.lower() else "from"
        return f"{self.call} of {self.bytes} B {direction} {self.memory} memory"


_START = Step(-1, "MPI_Init")


@dataclass(frozen=True)
class Evidence:
    """What is known when the probe has ended."""

    ranks: int
    begun: tuple[Step, ...] = ()
    open: tuple[Step, ...] = ()  # begun and not ended
    wrong: tuple[Step, ...] = ()  # ended with wrong data
    done: frozenset[int] = frozenset()  # ranks that came to the end
    mpi: str = ""  # what MPI_Get_library_version says, else the build
    ucx: str | None = None
    says_gpu_aware: str = "unknown"
    how: str = ""
    log: str = ""  # the standard error, and what the launcher said
    death: noise.Death | None = None
    status: int = 0
    said: str = ""  # by the native program, of a call that failed in order
    timed_out: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def pml(self) -> str:
        """Open MPI's messaging layer, empty where another library did not log one."""
        match = re.search(r"select: component (\w+) selected|selected (\w+) best priority", self.log)
        return next((name for name in match.groups() if name), "") if match else ""

    @property
    def ucx_refused(self) -> bool:
        return "init returned failure for component ucx" in self.log

    @property
    def ucx_passed_over(self) -> bool:
        """Refused, or, where a GPU's own transports would do, given a priority below that of ob1."""
        return self.ucx_refused or "component ucx not selected" in self.log

    @property
    def ucx_in_use(self) -> bool:
        return self.pml == "ucx" if self.pml else self.ucx is not None

    @property
    def library(self) -> str:
        """`Open MPI 5.0.7 with UCX 1.22.0`"""
        name = library_name(self.mpi)
        if self.ucx_in_use:
            return f"{name} with UCX {self.ucx}" if self.ucx else f"{name} with UCX"
        return f"{name} over pml {self.pml}" if self.pml else name

    @property
    def culprit(self) -> Step | None:
        """The call that did not come back: of the rank that died if that is known, else a send before its receive."""
        suspects = sorted(
            self.open, key=lambda step: (step.rank != getattr(self.death, "rank", None), "Send" not in step.call)
        )
        return suspects[0] if suspects else None

    @property
    def end(self) -> str:
        """`crashed (SIGSEGV)`, or `failed (why)` where no signal ended it."""
        if self.death:
            return f"crashed ({signal.Signals(self.death.signal).name})"
        return f"failed ({self.said or f'exit status {self.status}'})"

    @property
    def crashed(self) -> bool:
        return not self.timed_out and (self.death is not None or self.status != 0 or len(self.done) < self.ranks)


@dataclass(frozen=True)
class Rule:
    applies: Callable[[Evidence], bool]
    fitness: Fitness
    sentence: Callable[[Evidence], str]


def _in_start(evidence: Evidence) -> bool:
    return evidence.culprit == _START


def _asked_for_refused_ucx(evidence: Evidence) -> bool:
    no_pml = re.search(r"No components were able to be opened in the\s+pml framework", evidence.log) is not None
    asked = "ucx" in evidence.environment.get("OMPI_MCA_pml", "") or evidence.ucx_refused
    cured = evidence.environment.get("OMPI_MCA_opal_common_ucx_tls") == "any"
    return no_pml and asked and not cured


def _ucx_mistook_the_pointer(evidence: Evidence) -> bool:
    step = evidence.culprit
    cache_is_off = evidence.environment.get("UCX_MEMTYPE_CACHE", "").lower() in ("n", "no", "0", "off")
    crashed_on_gpu = evidence.death is not None and step is not None and step.memory == "device"
    return crashed_on_gpu and evidence.ucx_in_use and not cache_is_off


def _claim(evidence: Evidence) -> str:
    if evidence.says_gpu_aware != "yes":
        return ""
    return f", although {evidence.how or 'the library'} says that it takes GPU memory"


RULES: Sequence[Rule] = (
    Rule(
        _asked_for_refused_ucx,
        Fitness.BROKEN,
        lambda e: (
            f"MPI_Init failed: {library_name(e.mpi)} was told to use pml ucx (OMPI_MCA_pml=ucx), but turns UCX off on "
            f"a host without a Mellanox adapter. Set {_UCX_ON_ANY_DEVICE}, or do not ask for pml ucx."
        ),
    ),
    Rule(
        lambda e: e.timed_out and _in_start(e),
        Fitness.BROKEN,
        lambda e: (
            f"MPI_Init of {e.library} did not return within {TIME_LIMIT_S:.0f} s: check that the launcher belongs to "
            "this MPI library, and the network that it tries to use."
        ),
    ),
    Rule(
        lambda e: e.crashed and _in_start(e),
        Fitness.BROKEN,
        lambda e: f"MPI_Init of {e.library} {e.end}: no benchmark can start with this MPI library.",
    ),
    Rule(
        lambda e: e.says_gpu_aware == "no" and (e.crashed or e.timed_out or bool(e.wrong) or not _tried_device(e)),
        Fitness.UNFIT,
        lambda e: (
            f"{library_name(e.mpi)} does not take GPU memory ({e.how or 'it'} says no): load or build an MPI library "
            f"with GPU support, or {_OTHER_WAYS}."
        ),
    ),
    Rule(
        _ucx_mistook_the_pointer,
        Fitness.UNFIT,
        lambda e: (
            f"{e.culprit} {e.end} inside {e.library}{_claim(e)}: UCX's memory-type cache took the "
            "GPU pointer for host memory. Set UCX_MEMTYPE_CACHE=n."
        ),
    ),
    Rule(
        lambda e: bool(e.wrong),
        Fitness.UNFIT,
        lambda e: (
            f"{e.wrong[0]} with {e.library} delivered wrong data{_claim(e)}: "
            f"do not trust it with GPU memory; {_OTHER_WAYS}."
        ),
    ),
    Rule(
        lambda e: e.timed_out and e.culprit is not None,
        Fitness.UNFIT,
        lambda e: (
            f"{e.culprit} with {e.library} did not return within {TIME_LIMIT_S:.0f} s{_claim(e)}: "
            f"{_OTHER_WAYS}, or try another messaging layer of the library."
        ),
    ),
    Rule(
        lambda e: e.crashed and e.culprit is not None,
        Fitness.UNFIT,
        lambda e: (
            f"{e.culprit} {e.end} inside {e.library}{_claim(e)}: "
            f"{_OTHER_WAYS}, or try another messaging layer of the library."
        ),
    ),
    Rule(
        lambda e: len(e.done) == e.ranks and e.ucx_passed_over and e.pml not in ("", "ucx"),
        Fitness.FIT,
        lambda e: (
            f"MPI carries GPU memory over pml {e.pml}, not UCX: {library_name(e.mpi)} passes UCX over on a host "
            f"without a Mellanox adapter; to use UCX set {_UCX_ON_ANY_DEVICE}."
        ),
    ),
    Rule(lambda e: len(e.done) == e.ranks, Fitness.FIT, lambda e: ""),
)


def judge(evidence: Evidence) -> Verdict:
    """What the first rule that applies says; UNKNOWN where the probe did not come far enough to tell."""
    for rule in RULES:
        if rule.applies(evidence):
            return Verdict(rule.fitness, rule.sentence(evidence))
    return Verdict(Fitness.UNKNOWN)


def explain_failed_start(log: str, mpi: str, environment: Mapping[str, str]) -> str:
    """The sentence for a run that ended in MPI_Init for a known reason; empty for any other end."""
    evidence = Evidence(ranks=1, log=log, mpi=mpi, environment=environment, status=1)
    return RULES[0].sentence(evidence) if RULES[0].applies(evidence) else ""


def run_probe(
    launcher: Launcher, launcher_arguments: Sequence[str], native: Native, ranks: int
) -> tuple[Verdict, Outcome]:
    """Runs the probe on `ranks` ranks. Raises CommlensError where the launcher cannot be started."""
    output, error = bytearray(), bytearray()
    outcome = run_job(
        launcher.command(
            ranks, [str(native.path), "probe", "--memory", "device"], launcher_arguments, with_gpus=native.about.has_gpu
        ),
        {**os.environ, **_LOG_THE_CHOICE},
        output.extend,
        error.extend,
        time_limit_s=TIME_LIMIT_S,
    )
    text = output.decode(errors="replace"), error.decode(errors="replace")
    return judge(
        gather(*text, outcome, ranks=ranks, mpi=native.about.mpi, environment=settings(launcher_arguments))
    ), outcome


def gather(
    output: str, error: str, outcome: Outcome, *, ranks: int, mpi: str, environment: Mapping[str, str]
) -> Evidence:
    """The evidence in what the probe and its launcher wrote; `mpi` is the library that the program was built with."""
    begun: list[Step] = []
    open_steps: list[Step] = []
    wrong: list[Step] = []
    done: set[int] = set()
    library: dict[str, Any] = {}
    for line in _json_lines(output):
        kind = line["probe"]
        step = _step(line)
        if kind == "library":
            library = library or line
            # A rank that can say this has left MPI_Init; before, it did not know its number.
            with suppress(ValueError):
                open_steps.remove(_START)
        elif kind == "begin":
            begun.append(step)
            open_steps.append(step)
        elif kind == "end":
            with suppress(ValueError):
                open_steps.remove(step)
            if line.get("valid") is False:
                wrong.append(step)
        elif kind == "done":
            done.add(step.rank)
    log = f"{error}\n{output}"
    return Evidence(
        ranks=ranks,
        begun=tuple(begun),
        open=tuple(open_steps),
        wrong=tuple(wrong),
        done=frozenset(done),
        mpi=library.get("mpi") or mpi,
        ucx=library.get("ucx"),
        says_gpu_aware=library.get("says_gpu_aware", "unknown"),
        how=library.get("how") or "",
        log=log,
        # A job that ran into the time limit dies of our own signals.
        death=None if outcome.timed_out else noise.death(log, outcome.status),
        status=outcome.status,
        said=next(iter(re.findall(r"^commlens: probe: (.*)$", error, re.MULTILINE)), ""),
        timed_out=outcome.timed_out,
        environment=environment,
    )


def _step(line: Mapping[str, Any]) -> Step:
    if line.get("call") == _START.call:
        return _START
    return Step(int(line.get("rank", -1)), str(line.get("call", "")), line.get("bytes"), line.get("memory"))


def _tried_device(evidence: Evidence) -> bool:
    return any(step.memory == "device" for step in evidence.begun)


def _json_lines(output: str) -> list[dict[str, Any]]:
    lines = []
    for text in output.splitlines():
        with suppress(json.JSONDecodeError):
            line = json.loads(text)
            if isinstance(line, dict) and "probe" in line:
                lines.append(line)
    return lines


def is_needed(native: Native, options: Mapping[str, str]) -> bool:
    """Whether a benchmark with these options could give GPU memory to MPI. What is not said counts as possible."""
    if not native.about.has_gpu:
        return False
    transports = options.get("transport", "all").split(",")
    memories = [options[name] for name in ("memory", "from", "to") if name in options]
    gpu_memory = not memories or any(
        part not in ("host", "pinned") for memory in memories for part in memory.split(",")
    )
    return gpu_memory and bool({"mpi", "all"} & set(transports))
