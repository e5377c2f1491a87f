"""Launchers on this machine: which one starts the ranks, and with which command line.

What is known of each is in knowledge/launchers.yaml.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.jobs.native import Native
from commlens.jobs.spec import Allocation, JobSpec
from commlens.knowledge.launchers import LAUNCHERS, Launcher, LauncherOption, launcher_of_version
from commlens.knowledge.secrets import mask_words
from commlens.machine.system import System

_ANSWER_TIME_S = 20

# An mpirun whose --version names no launcher that is known.
UNKNOWN = Launcher("", (), options=(LauncherOption("-n {ranks}", always=True),))

_OF_MPI = [launcher for launcher in LAUNCHERS if launcher.mpi_families]
_OF_MANAGERS = [launcher for launcher in LAUNCHERS if not launcher.mpi_families]

_PROGRAMS = dict.fromkeys(program for launcher in LAUNCHERS for program in launcher.programs)
CHOICES = ["auto", *(program for program in _PROGRAMS if "." not in program)]


def _is_given(option: str, arguments: Sequence[str]) -> bool:
    """Whether the arguments have this option, `--name value` or `--name=value`, with any value."""
    return re.split("[ =]", option)[0] in {word.partition("=")[0] for word in arguments}


@dataclass(frozen=True)
class Chosen:
    """A launcher on this machine."""

    program: str
    launcher: Launcher
    allocation: Allocation | None = None
    options_here: Sequence[str] = ()  # that it needs in this environment

    @property
    def may_wait(self) -> bool:
        """Whether a job may be queued before it starts."""
        return bool(self.launcher.allocation) and self.allocation is None

    def command(
        self,
        job: JobSpec,
        native: Path,
        record_file: Path | None = None,
        *,
        with_gpus: bool = False,
    ) -> list[str]:
        """The command line that launches the job. The user's own arguments come last."""
        nodes, arguments = min(job.nodes, job.ranks), job.launcher_arguments
        prefix = self.start(job.ranks, nodes, job.environment, arguments, with_gpus=with_gpus)
        return [*prefix, *job.program(native, record_file)]

    def start(
        self,
        ranks: int,
        nodes: int = 0,
        environment: Mapping[str, str] = {},
        arguments: Sequence[str] = (),
        *,
        with_gpus: bool = False,
    ) -> list[str]:
        """The words before those of a program that is started on `ranks` ranks, which are spread
        over the nodes as evenly as possible; 0 nodes: the launcher decides."""
        applies = {
            "": True,
            "root": os.geteuid() == 0,
            "oversubscribed": self.allocation is None and ranks > physical_cores(),
            "gpus": with_gpus,
            "nodes": nodes > 0,
            "even": nodes > 0 and ranks % nodes == 0,
        }
        numbers = {"ranks": ranks, "nodes": nodes, "ranks_per_node": -(-ranks // (nodes or 1))}
        options = [
            word
            for option in self.launcher.options
            if applies[option.condition]
            and (option.always or not _is_given(option.words, arguments))
            for word in option.words.format_map(numbers).split(" ")
        ]
        here = [option for option in self.options_here if not _is_given(option, arguments)]
        variables = [
            word.format(name=name, value=value)
            for name, value in environment.items()
            for word in self.launcher.variable
        ]
        return [self.program, *options, *here, *variables, *arguments]

    def check(self, job: JobSpec) -> None:
        """Raises CommlensError where the launcher's arguments say how many ranks there are: which
        number counts, the job's or theirs, differs between launchers and their versions."""
        for word in job.launcher_arguments:
            if word.startswith("-") and word.lstrip("-").partition("=")[0] in self.launcher.ranks:
                given = shlex.quote(shlex.join(mask_words(job.launcher_arguments)))
                raise CommlensError(
                    f"--launcher-args {given}: {word} says how many ranks there are; leave it out,"
                    " and write --ranks N"
                )

    def on_a_node(self) -> list[str]:
        """What runs a program once, on a node of the allocation; empty without an allocation."""
        return self.start(1, arguments=self.launcher.whole_node) if self.allocation else []

    def spans_nodes(self, job: JobSpec) -> bool:
        """Whether the resolved job runs on several nodes, as far as its words tell."""
        hosts: set[str] = set()
        words = job.launcher_arguments
        for option, value in zip(words, [*words[1:], ""]):
            name = option.lstrip("-") if option.startswith("-") else ""
            if name in self.launcher.host_files:
                return True
            if name in self.launcher.hosts:
                hosts |= {host.partition(":")[0] for host in value.split(",")}
        return len(hosts) > 1 or job.nodes > 1

    def settings(self, job: JobSpec, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The environment of the ranks, with the variables that the launcher's arguments set."""
        variables = variables_set_by(job.launcher_arguments, self.launcher)
        return {**environment, **job.environment, **variables}


def variables_set_by(arguments: Sequence[str], launcher: Launcher) -> dict[str, str]:
    """The variables that the launcher's arguments set for all ranks."""
    variables: dict[str, str] = {}
    for index, word in enumerate(arguments):
        for setter in launcher.settings:
            if word.lstrip("-") in setter.options:
                values = [*arguments[index + 1 : index + 3], "", ""]
                name, is_set, value = setter.sets.format(*values).partition("=")
                if is_set and (value or "{1}" not in setter.sets):
                    variables[name] = value
    return variables


def choose(requested: str, native: Native, environment: Mapping[str, str] = os.environ) -> Chosen:
    """The launcher that was asked for, or for `auto` that of the allocation, or of the program's
    own MPI.

    Raises CommlensError where it is missing, or where `auto` finds only launchers of another MPI:
    under one of those every rank would take itself for the only one.
    """
    path = environment.get("PATH")
    given = Allocation.current(environment)
    manager = next(
        (known for known in _OF_MANAGERS if given and known.allocation == given.variable), None
    )
    if requested == "auto" and manager and _on_path(manager.programs, path):
        requested = manager.programs[0]
    for launcher in _OF_MANAGERS:
        if requested in launcher.programs:
            programs = _on_path([requested], path)
            if not programs:
                raise CommlensError(
                    f"--launcher {requested}: there is no {requested} on the PATH; "
                    "load its module first"
                )
            here = options_here(launcher, native.about.mpi_family, environment)
            return Chosen(programs[0], launcher, given, here)
    return _of_mpi(requested, native, given, path)


def options_here(launcher: Launcher, mpi_family: str, environment: Mapping[str, str]) -> list[str]:
    """The options for the MPI library of the program, and for what the job was asked for."""
    asked = launcher.from_variables.items()
    wanted = [(text, environment.get(name, "")) for name, text in asked]
    options = [text.format(value=value) for text, value in wanted if value]
    # With Slurm's own default, `none`, each rank takes itself for the only one, or Open MPI aborts
    # with a misleading hint.
    types = launcher.mpi_types.get(mpi_family, ())
    if not types or environment.get("SLURM_MPI_TYPE"):
        return options  # the user or the site has set one
    config = _output(["scontrol", "show", "config"], environment)
    if not re.search(r"^MpiDefault\s*=\s*none\s*$", config, re.MULTILINE):
        return options
    known = _output(["srun", "--mpi=list"], environment).split()
    return [*[f"--mpi={name}" for name in types if name in known][:1], *options]


def _of_mpi(requested: str, native: Native, given: Allocation | None, path: str | None) -> Chosen:
    usual = dict.fromkeys(program for launcher in _OF_MPI for program in launcher.programs)
    names = list(usual) if requested == "auto" else [requested]
    folders = [*_folders_of_linked_mpi(native.path), path or ""]
    programs = dict.fromkeys(place for folder in folders for place in _on_path(names, folder))
    if not programs:
        raise CommlensError(
            f"--launcher {requested}: there is no {names[0]} on the PATH; "
            "load the MPI module with which commlens was built"
        )
    candidates = (
        Chosen(program, launcher_of_version(_output([program, "--version"])) or UNKNOWN, given)
        for program in programs
    )
    first = next(candidates)
    if requested != "auto":
        return first
    family = native.about.mpi_family
    is_known = any(family in launcher.mpi_families for launcher in _OF_MPI)
    for chosen in chain([first], candidates):
        if not is_known or chosen.launcher is UNKNOWN or family in chosen.launcher.mpi_families:
            return chosen
    raise CommlensError(
        f"{native.path} was built with {native.about.mpi}, but {first.program} is "
        f"{first.launcher.name}'s: put the bin folder of that {native.about.mpi} first in the PATH,"
        " or choose with --launcher"
    )


def physical_cores() -> int:
    """The cores that this process may use; the hardware threads of a core count once, as Open MPI
    counts its slots."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        core = [str(cpu)]
        with suppress(OSError):
            core = [(topology / name).read_text() for name in ("physical_package_id", "core_id")]
        cores.add(tuple(core))
    return len(cores)


def _on_path(names: Sequence[str], path: str | None) -> list[str]:
    return [place for name in names if (place := shutil.which(name, path=path))]


def _folders_of_linked_mpi(program: Path) -> list[str]:
    """The bin folders beside the MPI library that the program loads, where the loader names it."""
    match = re.search(r"libmpi\S* => (/\S+)", _output(["ldd", str(program)]))
    if match is None:
        return []
    library = Path(match[1])
    return [str(path.parent.parent / "bin") for path in dict.fromkeys((library, library.resolve()))]


def _output(command: Sequence[str], environment: Mapping[str, str] = os.environ) -> str:
    """What a command prints; nothing where it cannot be run."""
    output = System(environment).run(*command, time_limit_s=_ANSWER_TIME_S)
    return output.text + output.error
