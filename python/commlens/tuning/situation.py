"""Where a search runs: which settings apply here, and why the others do not."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from commlens.machine.system import System
from commlens.tuning.space import Space, TuningSetting, Value, Where

ANSWER_TIME_S = 60  # of ompi_info on a slow file system
_VERSION = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True)
class Situation:
    """What conditions are compared with."""

    mpi: str  # the family
    mpi_version: str
    transports: Sequence[str]
    memories: Sequence[str]
    backend: str
    benchmark: str
    launcher: str = ""
    ucx_version: str = ""
    facts: frozenset[str] = frozenset()  # "pml ucx", "mellanox adapter", "several nodes" ...
    # What the ranks see without any setting, and what a library chooses by itself.
    variables: Mapping[str, str] = field(default_factory=dict)
    implied: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_on_gpu(self) -> bool:
        """Whether any buffer is in the memory of a GPU."""
        return is_on_gpu(self.memories)

    @property
    def uses_mpi(self) -> bool:
        """Whether MPI moves the bytes of any transport."""
        return bool({"mpi", "staged"} & set(self.transports))

    def why_not(self, where: Where) -> str:
        """Why what has these conditions does not apply; empty: it does."""
        for what, wanted, have in (
            ("MPI library", where.mpi, [self.mpi]),
            ("transport", where.transports, self.transports),
            ("memory", where.memories, self.memories),
            ("backend", where.backends, [self.backend]),
            ("benchmark", where.benchmarks, [self.benchmark]),
            ("launcher", where.launchers, [self.launcher]),
        ):
            if wanted and not set(wanted) & set(have):
                return f"for {what} {' or '.join(wanted)}; here it is {', '.join(have) or 'none'}"
        for what, versions, version in (
            (f"{self.mpi} ", where.mpi_version, self.mpi_version),
            ("UCX ", where.ucx_version, self.ucx_version),
        ):
            if versions and not _fits(version, versions):
                return f"for {what}{versions}; here it is {version or 'unknown'}"
        for fact in where.has:
            if fact not in self.facts:
                return f"there is no {fact}"
        for fact in where.has_not:
            if fact in self.facts:
                return f"there is a {fact}"
        return ""

    def why_not_value(self, value: Value) -> str:
        """Also: a variable that the user or the system has set is not changed."""
        for name, text in value.set.items():
            if self.variables.get(name, text) != text:
                return f"the environment has {name}={self.variables[name]}"
        return self.why_not(value.applies)


def is_on_gpu(memories: Iterable[str]) -> bool:
    """Whether any of these kinds of memory is a GPU's."""
    return bool({"device", "managed"} & set(memories))


@dataclass(frozen=True)
class Applicable:
    """The settings that apply, and why others do not."""

    space: Space
    why_not: Mapping[str, str]  # by `NAME` or `NAME=VALUE`


def applicable(settings: Sequence[TuningSetting], here: Situation) -> Applicable:
    """The settings with the values that apply here, without those whose needs nothing can meet."""
    why_not: dict[str, str] = {}
    kept: list[TuningSetting] = []
    for setting in settings:
        if refusal := here.why_not(setting.applies):
            why_not.setdefault(setting.name, refusal)
            continue
        values = []
        for value in setting.values:
            if refusal := here.why_not_value(value):
                why_not[f"{setting.name}={value.name}"] = refusal
            elif not _is_there_already(value, here):
                values.append(value)
        if values:
            kept.append(replace(setting, values=tuple(values)))
    for setting in list(kept):
        if lacking := _unmet(setting, kept, here):
            why_not[setting.name] = f"it needs {lacking}"
            kept.remove(setting)
    space = Space(kept)
    return Applicable(space, {name: why for name, why in why_not.items() if name not in
                              space.settings})  # fmt: skip


def _is_there_already(value: Value, here: Situation) -> bool:
    """All that it sets is set."""
    if value.launcher_args or value.options:
        return False
    return all(here.variables.get(name) == text for name, text in value.set.items())


def _unmet(setting: TuningSetting, kept: Sequence[TuningSetting], here: Situation) -> str:
    for name, text in setting.needs.items():
        if not is_met(name, text, here, {}) and provider(name, text, kept) is None:
            return f"{name}={text}"
    return ""


def is_met(name: str, text: str, here: Situation, environment: Mapping[str, str]) -> bool:
    """Whether the ranks have this variable with this value, or the library does so by itself."""
    if name in environment:
        return environment[name] == text
    if name in here.variables:
        return here.variables[name] == text
    return here.implied.get(name) == text


def provider(name: str, text: str, settings: Sequence[TuningSetting]) -> tuple[str, str] | None:
    """The setting, and which of its values, that sets the variable so."""
    for setting in settings:
        for value in setting.values:
            if value.set.get(name) == text:
                return setting.name, value.name
    return None


def version_in(text: str) -> str:
    """`5.0.7` of `Open MPI 5.0.7`"""
    found = _VERSION.search(text)
    return found[0] if found else ""


def _fits(version: str, versions: str) -> bool:
    try:
        return Version(version) in SpecifierSet(versions)
    except InvalidVersion:
        return False


def facts_of_machine(root: Path = Path("/")) -> set[str]:
    """Adapters that the kernel knows."""
    found = set()
    infiniband = _names(root / "sys/class/infiniband")
    if infiniband:
        found.add("InfiniBand adapter")
    if any(name.startswith("mlx") for name in infiniband):
        found.add("Mellanox adapter")
    if _names(root / "sys/class/cxi"):
        found.add("Slingshot adapter")
    if (root / "dev/gdrdrv").exists():
        found.add("gdrcopy")
    return found


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []


def beside(program: str, name: str, path: str | None = None) -> str | None:
    """A tool of the MPI library to which the launcher belongs, else one on the PATH."""
    own = Path(program).parent / name
    return str(own) if os.access(own, os.X_OK) else shutil.which(name, path=path)


def answer(command: Sequence[str]) -> str:
    """What a tool prints; empty where it does not run."""
    return System().run(*command, time_limit_s=ANSWER_TIME_S).text
