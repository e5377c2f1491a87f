"""What a search is of: kept in its folder, so that it can be resumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from commlens.base.errors import CommlensError, reason
from commlens.base.text import plural
from commlens.jobs.launchers import physical_cores
from commlens.jobs.native import Native
from commlens.jobs.options import Options
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec
from commlens.tuning import library
from commlens.tuning.situation import (
    Applicable,
    Situation,
    answer,
    applicable,
    beside,
    facts_of_machine,
    is_on_gpu,
    version_in,
)
from commlens.tuning.space import Space, TuningSetting, curated, load

PLAN = "search.json"
SPACES = ("curated", "library")


class SearchPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A search, as its folder keeps it."""

    job: JobSpec
    launcher: str
    transports: tuple[str, ...]
    others: tuple[str, ...]  # transports that are measured once beside them
    by_size: bool
    here: Situation
    settings: tuple[TuningSetting, ...]  # those that apply

    @property
    def space(self) -> Space:
        """The settings to try."""
        return Space(self.settings)

    @property
    def summary(self) -> list[str]:
        """How much there is to try, and for which transports there is nothing."""
        values = sum(len(one.values) for one in self.settings)
        counts = f"{plural(values, 'value')} of {plural(len(self.settings), 'setting')}"
        lacking = [name for name in self.transports if not any(map(_concerns(name), self.settings))]
        return [
            f"{counts} to try for {' and '.join(self.transports)}",
            *(f"{name}: no setting of it applies here" for name in lacking),
        ]


def _concerns(transport: str) -> Callable[[TuningSetting], bool]:
    return lambda one: not one.applies.transports or transport in one.applies.transports


def save(plan: SearchPlan, folder: Path) -> None:
    """Keeps it in the folder; the options of the job as words."""
    text = msgspec.json.encode(plan, enc_hook=Options.words)
    (folder / PLAN).write_bytes(msgspec.json.format(text))


def resumed(folder: Path) -> SearchPlan:
    """Raises CommlensError where there is no search."""
    try:
        text = (folder / PLAN).read_bytes()
        return msgspec.json.decode(
            text, type=SearchPlan, dec_hook=lambda _, words: Options.parse(words)
        )
    except OSError as error:
        raise CommlensError(
            f"--resume {folder}: there is no search ({reason(error)}); name the folder of one"
        ) from None
    except msgspec.MsgspecError as error:
        raise CommlensError(f"--resume {folder}: {PLAN} cannot be read ({error})") from None


class Found(msgspec.Struct, frozen=True):
    """Where a search would run, and what the libraries there list."""

    here: Situation
    ranks: int
    listed: str  # by ompi_info
    listed_ucx: str


def situation(session: Session, entry: JobSpec) -> Found:
    """Raises CommlensError for what cannot run."""
    (job,) = session.jobs([entry])
    about, chosen = session.native.about, session.launcher
    memories = _memories(entry.options, session.native)
    family = "cray" if "cray" in about.mpi.lower() else about.mpi_family
    listed = listed_ucx = ucx_version = ""
    if family == "openmpi" and (tool := beside(chosen.program, "ompi_info")):
        listed = answer([tool, "--all", "--level", "9", "--parsable"])
    if tool := beside(chosen.program, "ucx_info"):
        listed_ucx, ucx_version = answer([tool, "-caf"]), version_in(answer([tool, "-v"]))
    facts = (
        facts_of_machine()
        | library.components(listed)
        | {"several nodes" if chosen.spans_nodes(job) else "one node"}
    )
    if job.ranks <= physical_cores():
        facts.add("enough cores")
    layer = "ucx" if {"pml ucx", "Mellanox adapter"} <= facts else "ob1"
    here = Situation(
        family,
        version_in(about.mpi),
        _transports(entry.options, session.native, is_on_gpu(memories)),
        memories,
        about.backend,
        job.benchmark,
        chosen.launcher.name,
        ucx_version,
        frozenset(facts),
        chosen.settings(job),
        {"OMPI_MCA_pml": layer} if family == "openmpi" else {},
    )
    return Found(here, job.ranks, listed, listed_ucx)


def planned(
    session: Session, entry: JobSpec, launcher: str, spaces: Sequence[str], *, by_size: bool
) -> tuple[SearchPlan, Applicable]:  # fmt: skip
    """Raises CommlensError for what cannot be searched."""
    if entry.options.text("record") or entry.options.text("format"):
        raise CommlensError("--record and --format are not for tune: it keeps all records itself")
    found = situation(session, entry)
    here = found.here
    usable = applicable(_settings(spaces, found), here)
    if not usable.space.settings:
        raise CommlensError(
            f"no setting applies to {here.benchmark} over {' or '.join(here.transports)} here: "
            + "; ".join(f"{name}: {why}" for name, why in list(usable.why_not.items())[:3])
        )
    asked = entry.options.text("transport")
    others = session.native.about.transports if here.is_on_gpu and not asked else ()
    plan = SearchPlan(
        replace(entry, benchmark=here.benchmark, ranks=found.ranks),
        launcher,
        tuple(here.transports),
        tuple(one for one in others if one not in here.transports),
        by_size,
        replace(here, variables=_relevant(here, usable.space)),
        tuple(usable.space.settings.values()),
    )
    return plan, usable


def _settings(spaces: Sequence[str], where: Found) -> list[TuningSetting]:
    found: list[TuningSetting] = []
    for name in spaces:
        if name in SPACES:
            found += curated()
        else:
            found += load(Path(name))
        if name == "library":
            found += library.settings(where.listed, where.listed_ucx, where.here, found)
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


def _relevant(here: Situation, space: Space) -> dict[str, str]:
    """Of the environment only what settings ask for is kept in the folder."""
    settings = space.settings.values()
    names = {name for one in settings for value in one.values for name in value.set}
    names |= {name for one in settings for name in one.needs}
    return {name: text for name, text in here.variables.items() if name in names}
