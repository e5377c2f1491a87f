"""Where a search runs: which settings apply here, and why the others do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from commlens.tuning.space import Space, TuningSetting, Value, Where

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
        return bool({"device", "managed"} & set(self.memories))

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
            (self.mpi, where.mpi_version, self.mpi_version),
            ("UCX", where.ucx_version, self.ucx_version),
        ):
            if versions and not (version and Version(version) in SpecifierSet(versions)):
                return f"for {what} {versions}; here it is {version or 'unknown'}"
        reasons = [f"there is no {fact}" for fact in where.has if fact not in self.facts]
        reasons += [f"there is a {fact}" for fact in where.has_not if fact in self.facts]
        return reasons[0] if reasons else ""

    def why_not_value(self, value: Value) -> str:
        """Also: a variable that the user or the system has set is not changed."""
        for name, text in value.set.items():
            if self.variables.get(name, text) != text:
                return f"the environment has {name}={self.variables[name]}"
        return self.why_not(value.applies)

    def has_already(self, value: Value) -> bool:
        """Whether all that the value sets is set."""
        if value.launcher_args or value.options:
            return False
        return all(self.variables.get(name) == text for name, text in value.set.items())


def applicable(settings: Sequence[TuningSetting], here: Situation) -> tuple[Space, dict[str, str]]:
    """The settings with the values that apply here, without those whose needs nothing can meet; and
    by `NAME` or `NAME=VALUE` why others do not apply."""
    why_not: dict[str, str] = {}
    kept: list[TuningSetting] = []
    for setting in settings:
        if refusal := here.why_not(setting.applies):
            why_not.setdefault(setting.name, refusal)
            continue
        refusals = {value.name: here.why_not_value(value) for value in setting.values}
        why_not |= {f"{setting.name}={name}": why for name, why in refusals.items() if why}
        values = tuple(
            one for one in setting.values if not refusals[one.name] and not here.has_already(one)
        )
        if values:
            kept.append(replace(setting, values=values))
    for setting in list(kept):
        for name, text in setting.needs.items():
            is_possible = is_met(name, text, here, {}) or any(Space(kept).providers(name, text))
            if not is_possible and setting in kept:
                why_not[setting.name] = f"it needs {name}={text}"
                kept.remove(setting)
    space = Space(kept)
    return space, {name: why for name, why in why_not.items() if name not in space.settings}


def is_met(name: str, text: str, here: Situation, environment: Mapping[str, str]) -> bool:
    """Whether the ranks have this variable with this value, or the library does so by itself."""
    for known in (environment, here.variables):
        if name in known:
            return known[name] == text
    return here.implied.get(name) == text


def version_in(text: str) -> str:
    """`5.0.7` of `Open MPI 5.0.7`"""
    found = _VERSION.search(text)
    return found[0] if found else ""


def facts_of_machine(root: Path = Path("/")) -> set[str]:
    """Adapters that the kernel knows."""
    patterns = {
        "InfiniBand adapter": "sys/class/infiniband/*",
        "Mellanox adapter": "sys/class/infiniband/mlx*",
        "Slingshot adapter": "sys/class/cxi/*",
        "gdrcopy": "dev/gdrdrv",
    }
    return {fact for fact, pattern in patterns.items() if any(root.glob(pattern))}
