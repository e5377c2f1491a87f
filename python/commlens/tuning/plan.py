"""What a search is of: kept in its folder, so that it can be resumed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import msgspec

from commlens.base import inputs
from commlens.base.errors import CommlensError
from commlens.base.text import plural
from commlens.jobs.launchers import physical_cores
from commlens.jobs.native import Native
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec, Options
from commlens.tuning import library
from commlens.tuning.space import Situation, Space, TuningSetting, applicable, curated, load

PLAN = "search.json"
_VERSION = re.compile(r"\d+(\.\d+)*")


class SearchPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A search, as its folder keeps it."""

    job: JobSpec
    launcher: str
    transports: tuple[str, ...]
    others: tuple[str, ...]  # transports that are measured once beside them
    by_size: bool
    here: Situation
    settings: tuple[TuningSetting, ...]  # those that apply
    why_not: Mapping[str, str]  # of others, by `NAME` or `NAME=VALUE`

    @property
    def space(self) -> Space:
        """The settings to try."""
        return Space(self.settings)

    @property
    def summary(self) -> list[str]:
        """How much there is to try, and for which transports there is nothing."""
        values = plural(sum(len(setting.values) for setting in self.settings), "value")
        wanted = {
            name
            for setting in self.settings
            for name in setting.applies.transports or self.transports
        }
        without = [name for name in self.transports if name not in wanted]
        return [
            f"{values} of {plural(len(self.settings), 'setting')} to try for"
            f" {' and '.join(self.transports)}",
            *(f"{name}: no setting of it applies here" for name in without),
        ]

    def save(self, folder: Path) -> None:
        """Keeps it in the folder; the options of the job as words."""
        text = msgspec.json.encode(self, enc_hook=Options.words)
        (folder / PLAN).touch(mode=0o600)  # it has what the user has set, secrets too
        (folder / PLAN).write_bytes(msgspec.json.format(text))


def resumed(folder: Path) -> SearchPlan:
    """Raises CommlensError where there is no search."""
    if not (folder / PLAN).exists():
        raise CommlensError(f"--resume {folder}: there is no search; name the folder of one")
    text = inputs.read_text(folder / PLAN, "--resume", "the folder of a search")
    try:
        return msgspec.json.decode(text, type=SearchPlan, dec_hook=_options)
    except msgspec.MsgspecError as error:
        raise CommlensError(f"--resume {folder}: {PLAN} cannot be read ({error})") from None


def _options(_: type, saved: Any) -> Options:
    """A mapping, or words: a version of msgspec writes what is a dict as such, and asks nobody."""
    if isinstance(saved, dict):
        return Options(msgspec.convert(saved, dict[str, Optional[str]]))
    return Options.parse(msgspec.convert(saved, list[str]))


def situation(session: Session, entry: JobSpec) -> tuple[Situation, JobSpec]:
    """Where it would run, and the job with its ranks. Raises CommlensError for what cannot run."""
    (job,) = session.jobs([entry])
    about, chosen = session.native.about, session.launcher
    memories = _memories(entry.options, session.native)
    family = "cray" if "cray" in about.mpi.lower() else about.mpi_family
    facts = facts_of_machine() | library.components(library.of_mpi(chosen.program, family))
    facts.add("several nodes" if chosen.spans_nodes(job) else "one node")
    if job.ranks <= physical_cores():
        facts.add("enough cores")
    layer = "ucx" if {"pml ucx", "Mellanox adapter"} <= facts else "ob1"
    here = Situation(
        family,
        version_in(about.mpi),
        (),
        memories,
        about.backend,
        job.benchmark,
        chosen.launcher.name,
        version_in(library.of_ucx(chosen.program, "-v")),
        frozenset(facts),
        chosen.settings(job),
        {"OMPI_MCA_pml": layer} if family == "openmpi" else {},
    )
    here = replace(here, transports=_transports(entry.options, session.native, here.is_on_gpu))
    return here, replace(entry, benchmark=job.benchmark, ranks=job.ranks)


def planned(
    session: Session, entry: JobSpec, launcher: str, spaces: Sequence[str], *, by_size: bool
) -> SearchPlan:
    """Raises CommlensError for what cannot be searched."""
    if entry.options.text("record") or entry.options.text("format"):
        raise CommlensError("--record and --format are not for tune: it keeps all records itself")
    here, job = situation(session, entry)
    space, why_not = applicable(_settings(spaces, here, session.launcher.program), here)
    settings = tuple(space.settings.values())
    if not settings:
        raise CommlensError(
            f"no setting applies to {here.benchmark} over {' or '.join(here.transports)} here: "
            + "; ".join(f"{name}: {why}" for name, why in list(why_not.items())[:3])
        )
    _check_options(session.native, job, settings)
    # Of the environment only what settings ask for is kept in the folder.
    asked_for = {name for setting in settings for value in setting.values for name in value.set}
    asked_for |= {name for setting in settings for name in setting.needs}
    kept = {name: text for name, text in here.variables.items() if name in asked_for}
    asked = entry.options.text("transport")
    others = session.native.about.transports if here.is_on_gpu and not asked else ()
    return SearchPlan(
        job,
        launcher,
        tuple(here.transports),
        tuple(transport for transport in others if transport not in here.transports),
        by_size,
        replace(here, variables=kept),
        settings,
        why_not,
    )


def _check_options(native: Native, job: JobSpec, settings: Sequence[TuningSetting]) -> None:
    """Raises CommlensError for an option that the benchmark does not have. A value that it refuses
    is a result of the search."""
    tried = [
        (f"{setting.name}={value.name}", Options({k: v or None for k, v in value.options.items()}))
        for setting in settings
        for value in setting.values
        if value.options
    ]
    lines = [(job.ranks, (job.benchmark, *options.words())) for _, options in tried]
    for (name, _), mistake in zip(tried, native.mistakes(lines) if lines else ()):
        if mistake.startswith("no option"):
            raise CommlensError(f"--space: {name}: {mistake}")


def _settings(spaces: Sequence[str], here: Situation, program: str) -> list[TuningSetting]:
    settings: list[TuningSetting] = []
    for name in spaces:
        settings += curated() if name in ("curated", "library") else load(Path(name))
        if name == "library":
            listed = library.of_mpi(program, here.mpi), library.of_ucx(program, "-caf")
            settings += library.settings(*listed, here, settings)
    return settings


def _memories(options: Options, native: Native) -> list[str]:
    given = [options.text(name) for name in ("from", "to")]
    named = options.text("memory") or ("device" if native.about.has_gpu else "host")
    words = [text or named for text in given] if any(given) else [named]
    return list(dict.fromkeys(word for text in words for word in text.split(":")))


def _transports(options: Options, native: Native, on_gpu: bool) -> list[str]:
    """Those that were asked for; else MPI, and beside it staging where there is a GPU."""
    given = options.text("transport")
    if given and given != "all":
        return given.split(",")
    wanted = list(native.about.transports) if given else ["mpi", "staged"] if on_gpu else ["mpi"]
    return [name for name in wanted if name in native.about.transports]


def version_in(text: str) -> str:
    """`5.0.7` of `Open MPI 5.0.7`"""
    match = _VERSION.search(text)
    return match[0] if match else ""


def facts_of_machine(root: Path = Path("/")) -> set[str]:
    """Adapters that the kernel knows."""
    patterns = {
        "InfiniBand adapter": "sys/class/infiniband/*",
        "Mellanox adapter": "sys/class/infiniband/mlx*",
        "Slingshot adapter": "sys/class/cxi/*",
        "gdrcopy": "dev/gdrdrv",
    }
    return {fact for fact, pattern in patterns.items() if any(root.glob(pattern))}
