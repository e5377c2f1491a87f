"""Launchers: which there are, which one starts the ranks, and with which command line.

A new launcher is one entry in LAUNCHERS.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.jobs import allocation, slurm
from commlens.jobs.allocation import Allocation
from commlens.jobs.native import Native
from commlens.jobs.spec import JobSpec


@dataclass(frozen=True)
class Conditions:
    """What the options of a launcher depend on."""

    ranks: int
    nodes: int  # the ranks are spread over so many, as evenly as it goes; 0: not given
    arguments: Sequence[str]  # the user's own for the launcher
    in_allocation: bool
    with_gpus: bool

    @property
    def ranks_per_node(self) -> int:
        """The most that a node has."""
        return -(-self.ranks // (self.nodes or 1))

    def unless_given(self, *options: str) -> list[str]:
        """The words of each option, `--name value` or `--name=value`, that the user has not given
        otherwise."""
        given = {word.partition("=")[0] for word in self.arguments}
        kept = (option for option in options if re.split("[ =]", option)[0] not in given)
        return [word for option in kept for word in option.split(" ")]


def _inherited(_name: str, _value: str) -> list[str]:
    """The launcher hands its own environment on to all ranks."""
    return []


def _nothing(_arguments: Sequence[str]) -> dict[str, str]:
    return {}


def _no_options(_mpi_family: str, _environment: Mapping[str, str]) -> list[str]:
    return []


@dataclass(frozen=True)
class Launcher:
    """Facts about one launcher.

    `options` are what it needs before the user's own arguments, `options_here` what else it needs
    for a family of MPI in the environment at hand, `environment` the words that set a variable for
    all ranks, and `settings` the variables that the user's arguments set.
    """

    name: str
    programs: Sequence[str]  # its names on the PATH, the usual ones first
    options: Callable[[Conditions], list[str]]
    options_here: Callable[[str, Mapping[str, str]], list[str]] = _no_options
    environment: Callable[[str, str], list[str]] = _inherited
    settings: Callable[[Sequence[str]], dict[str, str]] = _nothing
    whole_node: Sequence[str] = ()  # with them a single task is given all GPUs of its node
    allocation: str = ""  # the variable that is set where it is the launcher of the allocation
    mpi_families: Sequence[str] = ()  # of --about; whose programs it launches, empty: those of any
    version: str = ""  # a pattern in its answer to --version, where others have its name too


def _count(conditions: Conditions) -> list[str]:
    return ["-n", str(conditions.ranks)]


def _hydra_options(conditions: Conditions) -> list[str]:
    per_node = [f"-ppn {conditions.ranks_per_node}"] if conditions.nodes else []
    return [*conditions.unless_given(*per_node), *_count(conditions)]


def _open_mpi_options(conditions: Conditions) -> list[str]:
    """Not --quiet: Open MPI 5 does not know it, and Open MPI 4 then hides which rank died."""
    wanted = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    if conditions.ranks > physical_cores() and not conditions.in_allocation:
        wanted += ["--oversubscribe", "--bind-to none"]
    if conditions.nodes:
        wanted.append(f"--map-by ppr:{conditions.ranks_per_node}:node")
    return [*conditions.unless_given(*wanted), *_count(conditions)]


def _open_mpi_settings(arguments: Sequence[str]) -> dict[str, str]:
    """Those of --mca NAME VALUE and of -x NAME=VALUE."""
    found: dict[str, str] = {}
    for index, word in enumerate(arguments):
        option, values = word.lstrip("-"), arguments[index + 1 : index + 3]
        if option in ("mca", "gmca") and len(values) == 2:
            found[f"OMPI_MCA_{values[0]}"] = values[1]
        elif option == "x" and values and "=" in values[0]:
            name, _, value = values[0].partition("=")
            found[name] = value
    return found


def _srun_options(conditions: Conditions) -> list[str]:
    """Without --kill-on-bad-exit the others wait for a rank that has died."""
    wanted = ["--kill-on-bad-exit=1"]
    if conditions.nodes:
        wanted.append(f"--nodes={conditions.nodes}")
        if conditions.ranks % conditions.nodes == 0:
            wanted.append(f"--ntasks-per-node={conditions.ranks_per_node}")
    return [f"--ntasks={conditions.ranks}", *conditions.unless_given(*wanted)]


def _jsrun_options(conditions: Conditions) -> list[str]:
    """Without -gpu, Spectrum MPI takes every pointer for one to host memory."""
    wanted = ["--tasks_per_rs 1", "--cpu_per_rs 1"]
    if conditions.with_gpus:
        wanted += ["--gpu_per_rs 1", "--smpiargs=-gpu"]
    if conditions.nodes:
        wanted.append(f"--rs_per_host {conditions.ranks_per_node}")
    return ["--nrs", str(conditions.ranks), *conditions.unless_given(*wanted)]


def _flux_options(conditions: Conditions) -> list[str]:
    """Flux hides the GPUs from tasks that did not ask for any."""
    wanted = ["--gpus-per-task 1"] if conditions.with_gpus else []
    if conditions.nodes:
        wanted.append(f"--nodes {conditions.nodes}")
    return ["run", "--ntasks", str(conditions.ranks), *conditions.unless_given(*wanted)]


# Within an allocation the resource manager's launcher comes first, elsewhere that of the MPI.
LAUNCHERS: Sequence[Launcher] = (
    Launcher(
        name="Open MPI",
        programs=("mpirun", "mpiexec", "mpirun.openmpi"),
        options=_open_mpi_options,
        environment=lambda name, value: ["-x", f"{name}={value}"],
        settings=_open_mpi_settings,
        mpi_families=("openmpi",),
        version="Open MPI|OpenRTE|prterun|PRRTE",
    ),
    Launcher(
        name="MPICH",
        programs=("mpirun", "mpiexec", "mpiexec.hydra", "mpirun.mpich"),
        options=_hydra_options,
        environment=lambda name, value: ["-genv", name, value],
        mpi_families=("mpich", "intel"),
        version=r"HYDRA|MPICH|MVAPICH|Intel\(R\) MPI",
    ),
    Launcher(
        name="srun",
        programs=("srun",),
        options=_srun_options,
        options_here=slurm.options_here,
        allocation="SLURM_JOB_ID",
    ),
    Launcher(
        name="jsrun",
        programs=("jsrun",),
        options=_jsrun_options,
        whole_node=("--gpu_per_rs", "ALL_GPUS"),
        allocation="LSB_JOBID",
    ),
    Launcher(
        name="flux",
        programs=("flux",),
        options=_flux_options,
        whole_node=("--nodes", "1", "--exclusive"),
        allocation="FLUX_URI",
    ),
)

# An mpirun that does not say whose it is.
UNKNOWN = Launcher(name="", programs=(), options=_count)

_OF_MPI = [launcher for launcher in LAUNCHERS if launcher.mpi_families]
_OF_MANAGERS = [launcher for launcher in LAUNCHERS if not launcher.mpi_families]

# A name with a dot is Debian's for the launcher of an MPI that is not the default one.
CHOICES = list(
    dict.fromkeys(
        program
        for programs in (("auto",), *(launcher.programs for launcher in LAUNCHERS))
        for program in programs
        if "." not in program
    )
)


@dataclass(frozen=True)
class Chosen:
    """A launcher on this machine."""

    program: str
    launcher: Launcher
    allocation: Allocation | None = None
    options_here: Sequence[str] = ()

    @property
    def may_wait(self) -> bool:
        """Whether a job may stand in a queue before it starts."""
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
        nodes = min(job.nodes, job.ranks)
        conditions = Conditions(
            job.ranks, nodes, job.launcher_arguments, self.allocation is not None, with_gpus
        )
        return self._command(conditions, job.environment, job.program(native, record_file))

    def on_each_node(
        self,
        nodes: int,
        words: Sequence[str],
        environment: Mapping[str, str],
        arguments: Sequence[str] = (),
    ) -> list[str]:
        """The command line that starts a program once on each of so many nodes."""
        in_allocation = self.allocation is not None
        conditions = Conditions(nodes, nodes, arguments, in_allocation, with_gpus=False)
        return self._command(conditions, environment, words)

    def _command(
        self, conditions: Conditions, environment: Mapping[str, str], words: Sequence[str]
    ) -> list[str]:
        variables = [
            word
            for name, value in environment.items()
            for word in self.launcher.environment(name, value)
        ]
        here = conditions.unless_given(*self.options_here)
        options = [*self.launcher.options(conditions), *here, *variables, *conditions.arguments]
        return [self.program, *options, *words]

    def on_a_node(self) -> list[str]:
        """What runs a program once, on a node of the allocation; empty where there is none."""
        if self.allocation is None:
            return []
        own = self.launcher.whole_node
        conditions = Conditions(1, 0, own, in_allocation=True, with_gpus=False)
        here = conditions.unless_given(*self.options_here)
        return [self.program, *self.launcher.options(conditions), *here, *own]

    def settings(self, job: JobSpec, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The environment as the ranks see it."""
        own = self.launcher.settings(job.launcher_arguments)
        return {**environment, **job.environment, **own}


def choose(requested: str, native: Native, environment: Mapping[str, str] = os.environ) -> Chosen:
    """The launcher that was asked for, or for `auto` that of the allocation, or of the program's
    own MPI.

    Raises CommlensError where it is missing, or where `auto` finds only launchers of another MPI:
    under one of those every rank would take itself for the only one.
    """
    path = environment.get("PATH")
    given = allocation.current(environment)
    own = next((one for one in _OF_MANAGERS if given and one.allocation == given.variable), None)
    if requested == "auto" and own and _on_path(own.programs, path):
        requested = own.programs[0]
    for launcher in _OF_MANAGERS:
        if requested in launcher.programs:
            found = _on_path([requested], path)
            if not found:
                raise CommlensError(
                    f"--launcher {requested}: there is no {requested} on the PATH; "
                    "load its module first"
                )
            here = launcher.options_here(native.about.mpi_family, environment)
            return Chosen(found[0], launcher, given, here)
    return _of_mpi(requested, native, given, path)


def _of_mpi(requested: str, native: Native, given: Allocation | None, path: str | None) -> Chosen:
    usual = dict.fromkeys(program for launcher in _OF_MPI for program in launcher.programs)
    names = list(usual) if requested == "auto" else [requested]
    folders = [*_folders_of_linked_mpi(native.path), path or ""]
    programs = dict.fromkeys(found for folder in folders for found in _on_path(names, folder))
    if not programs:
        raise CommlensError(
            f"--launcher {requested}: there is no {names[0]} on the PATH; "
            "load the MPI module with which commlens was built"
        )
    if requested != "auto":
        program = next(iter(programs))
        return Chosen(program, _launcher_of(program), given)
    found = [Chosen(program, _launcher_of(program), given) for program in programs]
    family = native.about.mpi_family
    known = any(family in launcher.mpi_families for launcher in _OF_MPI)
    for chosen in found:
        if not known or chosen.launcher is UNKNOWN or family in chosen.launcher.mpi_families:
            return chosen
    raise CommlensError(
        f"{native.path} was built with {native.about.mpi}, but {found[0].program} is "
        f"{found[0].launcher.name}'s: put the bin folder of that {native.about.mpi} first in the "
        "PATH, or choose with --launcher"
    )


def physical_cores() -> int:
    """The cores that this process may use; the hardware threads of a core count once, as Open MPI
    counts its slots."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            package = (topology / "physical_package_id").read_text()
            core = (topology / "core_id").read_text()
        except OSError:
            cores.add((str(cpu), ""))
        else:
            cores.add((package, core))
    return len(cores)


def _on_path(names: Sequence[str], path: str | None) -> list[str]:
    return [found for name in names if (found := shutil.which(name, path=path))]


def _launcher_of(program: str) -> Launcher:
    said = _output([program, "--version"])
    return next((one for one in _OF_MPI if re.search(one.version, said, re.IGNORECASE)), UNKNOWN)


def _folders_of_linked_mpi(program: Path) -> list[str]:
    """The bin folders beside the MPI library that the program loads, where the loader can tell."""
    match = re.search(r"libmpi\S* => (/\S+)", _output(["ldd", str(program)]))
    if match is None:
        return []
    library = Path(match[1])
    return [str(path.parent.parent / "bin") for path in dict.fromkeys((library, library.resolve()))]


def _output(command: Sequence[str]) -> str:
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr
