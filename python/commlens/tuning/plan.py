"""What a search is of: kept in its folder, so that it can be resumed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from commlens.errors import CommlensError, reason
from commlens.launch.launchers import physical_cores
from commlens.launch.native import Native
from commlens.launch.options import Options
from commlens.run.entry import Entry
from commlens.run.session import Session
from commlens.tuning import library
from commlens.tuning.situation import (
    Applicable,
    Situation,
    answer,
    applicable,
    beside,
    facts_of_machine,
    version_in,
)
from commlens.tuning.space import Setting, Space, curated, load

PLAN = "search.json"
SPACES = ("curated", "library")
_HOST_OPTIONS = ("-H", "-host", "--host")
_FILE_OPTIONS = ("-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f")


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    benchmark: str
    options: tuple[str, ...]
    ranks: int
    environment: Mapping[str, str]
    launcher: str
    launcher_arguments: tuple[str, ...]
    transports: tuple[str, ...]
    others: tuple[str, ...]  # transports that are measured once beside them
    by_size: bool
    seed: int
    here: Situation
    settings: tuple[Setting, ...]  # those that apply

    @property
    def entry(self) -> Entry:
        return Entry(
            self.benchmark,
            Options.parse(self.options),
            self.ranks,
            self.environment,
            self.launcher_arguments,
        )

    @property
    def space(self) -> Space:
        return Space(self.settings)


def save(plan: Plan, folder: Path) -> None:
    (folder / PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(plan)))


def resumed(folder: Path) -> Plan:
    """Raises CommlensError where there is no search."""
    try:
        return msgspec.json.decode((folder / PLAN).read_bytes(), type=Plan)
    except OSError as error:
        raise CommlensError(
            f"--resume {folder}: there is no search ({reason(error)}); name the folder of one"
        ) from None
    except msgspec.MsgspecError as error:
        raise CommlensError(f"--resume {folder}: {PLAN} cannot be read ({error})") from None


def planned(
    session: Session, entry: Entry, launcher: str, spaces: Sequence[str], *, by_size: bool,
    seed: int,
) -> tuple[Plan, Applicable]:  # fmt: skip
    """Raises CommlensError for what cannot be searched."""
    if entry.options.text("record") or entry.options.text("format"):
        raise CommlensError("--record and --format are not for tune: it keeps all records itself")
    (job,) = session.jobs([entry])
    about = session.native.about
    memories = _memories(entry.options, session.native)
    on_gpu = any(memory in ("device", "managed") for memory in memories)
    transports = _transports(entry.options, session.native, on_gpu)
    program = session.launcher.program
    listed = answer([tool, "--all", "--level", "9", "--parsable"]) if (
        tool := beside(program, "ompi_info")
    ) and about.mpi_family == "openmpi" else ""  # fmt: skip
    listed_ucx = answer([tool, "-caf"]) if (tool := beside(program, "ucx_info")) else ""
    family = "cray" if "cray" in about.mpi.lower() else about.mpi_family
    facts = facts_of_machine() | library.components(listed) | {_nodes(entry)}
    if job.ranks <= physical_cores():
        facts.add("enough cores")
    has_ucx = {"pml ucx", "Mellanox adapter"} <= facts
    here = Situation(
        family,
        version_in(about.mpi),
        transports,
        memories,
        about.backend,
        job.benchmark,
        session.launcher.launcher.name,
        version_in(listed_ucx and answer([str(tool), "-v"])),
        frozenset(facts),
        session.launcher.settings(job),
        {"OMPI_MCA_pml": "ucx" if has_ucx else "ob1"} if family == "openmpi" else {},
    )
    found = applicable(_settings(spaces, listed, listed_ucx, here), here)
    if not found.space.settings:
        raise CommlensError(
            f"no setting applies to {job.benchmark} over {' or '.join(transports)} here; "
            "--dry-run says why"
        )
    on_gpu_alone = [one for one in about.transports if one not in transports] if on_gpu else []
    plan = Plan(
        job.benchmark,
        tuple(entry.options.words()),
        job.ranks,
        dict(entry.environment),
        launcher,
        tuple(entry.launcher_arguments),
        tuple(transports),
        tuple(on_gpu_alone) if not entry.options.text("transport") else (),
        by_size,
        seed,
        replace(here, variables=_relevant(here, found.space)),
        tuple(found.space.settings.values()),
    )
    return plan, found


def _settings(
    spaces: Sequence[str], listed: str, listed_ucx: str, here: Situation
) -> list[Setting]:
    found: list[Setting] = []
    for name in spaces:
        if name in SPACES:
            found += curated()
        else:
            found += load(Path(name))
        if name == "library":
            found += library.settings(listed, listed_ucx, here, found)
    return found


def _memories(options: Options, native: Native) -> list[str]:
    given = [options.text(name) for name in ("from", "to")]
    named = options.text("memory") or ("device" if native.about.has_gpu else "host")
    words = [one or named for one in given] if any(given) else [named]
    return list(dict.fromkeys(word for text in words for word in text.split(":")))


def _transports(options: Options, native: Native, on_gpu: bool) -> list[str]:
    """Those that were asked for; else MPI, and beside it staging where there is a GPU."""
    given = options.text("transport")
    if given and given != "all":
        return given.split(",")
    wanted = list(native.about.transports) if given else ["mpi", "staged"] if on_gpu else ["mpi"]
    return [name for name in wanted if name in native.about.transports]


def _nodes(entry: Entry) -> str:
    words = list(entry.launcher_arguments)
    hosts: set[str] = set()
    for option, value in zip(words, words[1:]):
        if option in _HOST_OPTIONS:
            hosts |= {host.partition(":")[0] for host in value.split(",")}
    counts = [os.environ.get(name, "1") for name in ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")]
    several = len(hosts) > 1 or any(word in _FILE_OPTIONS for word in words)
    return "several nodes" if several or any(one not in ("", "1") for one in counts) else "one node"


def _relevant(here: Situation, space: Space) -> dict[str, str]:
    """Of the environment only what settings ask for is kept in the folder."""
    settings = space.settings.values()
    names = {name for one in settings for value in one.values for name in value.set}
    names |= {name for one in settings for name in one.needs}
    return {name: text for name, text in here.variables.items() if name in names}
