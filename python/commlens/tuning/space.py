"""What may be set: settings with their values, read from YAML files, and which of them apply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from commlens import knowledge
from commlens.base import inputs, user_yaml
from commlens.base.errors import CommlensError
from commlens.jobs.spec import Options, is_variable
from commlens.knowledge.secrets import mask_variables, mask_words

UNSET = "unset"  # the name of the value that every setting has: the default
Kind = Literal["variable", "launcher", "option", "group"]


class Where(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The conditions under which something applies; empty: any."""

    mpi: tuple[str, ...] = ()  # families: openmpi, mpich, intel, cray
    mpi_version: str = ""  # ">=5.0", "<5", of that MPI library
    ucx_version: str = ""
    transports: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    has: tuple[str, ...] = ()  # facts of the machine and of the MPI library: see plan.py
    has_not: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the ranges of versions."""
        for text in (self.mpi_version, self.ucx_version):
            try:
                SpecifierSet(text)
            except InvalidSpecifier:
                raise ValueError(
                    f"'{text}' is no range of versions; write them as in >=4.1,<5"
                ) from None


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One value of a setting, and all that it changes."""

    name: str
    set: Mapping[str, str] = {}  # environment variables
    launcher_args: tuple[str, ...] = ()
    options: Mapping[str, str] = {}  # of the benchmark
    applies: Where = Where()

    def __post_init__(self) -> None:
        """Checks that it changes something."""
        if not (self.set or self.launcher_args or self.options):
            raise ValueError(f"value {self.name}: it sets nothing (set, options ...)")
        for name in self.set:
            if not is_variable(name):
                raise ValueError(f"'{name[:60]}' cannot be the name of a variable")


class TuningSetting(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True,
    rename={"also": "with"},
):  # fmt: skip
    """Something that can be set; beside its values it can be left as it is."""

    name: str
    values: tuple[Value, ...]
    meaning: str
    kind: Kind = "variable"
    applies: Where = Where()
    needs: Mapping[str, str] = {}  # variables without whose values it has no effect
    also: Mapping[str, str] = {}  # variables that are set together with each of its values
    may_break: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Checks that its values can be told apart."""
        names = {value.name for value in self.values}
        if not names:
            raise ValueError("it has no values; write at least one beside the default")
        if len(names) < len(self.values) or UNSET in names:
            raise ValueError(f"the names of its values must differ, and not be '{UNSET}'")

    def value(self, name: str) -> Value:
        """The value of this name."""
        return next(value for value in self.values if value.name == name)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file has of all of its settings."""

    title: str
    settings: tuple[Any, ...]
    order: int = 10  # of the files: what is lower is tried first
    source: str = ""
    applies: Where = Where()  # where a setting has no such condition of its own
    needs: Mapping[str, str] = {}


def curated() -> list[TuningSetting]:
    """The settings of all files of knowledge/settings, in the order of the files."""
    names = knowledge.names("settings")
    files = [_parsed(knowledge.text(f"settings/{name}"), f"{name}.yaml") for name in names]
    files.sort(key=lambda file: file[0].order)
    return [setting for _, settings in files for setting in settings]


def load(path: Path) -> list[TuningSetting]:
    """Those of a file of the user's. Raises CommlensError that names the file and the mistake."""
    return parse(inputs.read_text(path, "--space", inputs.YAML), str(path))


def parse(text: str, where: str) -> list[TuningSetting]:
    """The settings of a file; every scalar of it is text. Raises CommlensError in one line."""
    return _parsed(text, where)[1]


def _parsed(text: str, where: str) -> tuple[_File, list[TuningSetting]]:
    file = user_yaml.convert(user_yaml.parse(text, where), _File, where, strict=False)
    settings: dict[tuple[str, Where], TuningSetting] = {}
    for number, entry in enumerate(file.settings, 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        setting = _setting(entry, file, f"{where}, setting {str(name)[:60] if name else number}")
        if (setting.name, setting.applies) in settings:
            raise CommlensError(f"{where}: '{setting.name}' stands there twice")
        settings[setting.name, setting.applies] = setting
    return file, list(settings.values())


def _setting(entry: Any, file: _File, where: str) -> TuningSetting:
    if isinstance(entry, dict) and isinstance(entry.get("values"), list):
        entry = {**entry, "values": [_value(entry, value) for value in entry["values"]]}
    setting = user_yaml.convert(entry, TuningSetting, where, strict=False)
    return replace(
        setting,
        values=tuple(replace(value, set={**setting.also, **value.set}) for value in setting.values),
        applies=msgspec.convert(
            {**msgspec.to_builtins(file.applies), **msgspec.to_builtins(setting.applies)}, Where
        ),
        needs={**file.needs, **setting.needs},
        source=setting.source or file.source,
    )


def _value(entry: Mapping[str, Any], given: Any) -> Any:
    """What a value that is a word changes, by the kind of its setting."""
    kind, name = entry.get("kind", "variable"), str(entry.get("name"))
    if not isinstance(given, str) or kind == "group":
        return given
    if kind == "launcher":
        return {"name": given, "launcher_args": [*name.split(), *given.split()]}
    return {"name": given, "options" if kind == "option" else "set": {name: given}}


@dataclass(frozen=True)
class Change:
    """What a choice of values does to a job."""

    environment: Mapping[str, str] = field(default_factory=dict)
    launcher_arguments: Sequence[str] = ()
    options: Options = field(default_factory=Options)


Choice = Mapping[str, str]  # the names of values by the names of settings; what is unset is absent


class Space:
    """Settings by name, in the order in which they are tried."""

    def __init__(self, settings: Iterable[TuningSetting]) -> None:
        self.settings: dict[str, TuningSetting] = {}
        for setting in settings:
            self.settings.setdefault(setting.name, setting)

    def has(self, choice: Choice) -> bool:
        """Whether all of the choice is in this space."""
        known = {
            (name, value.name) for name in self.settings for value in self.settings[name].values
        }
        return set(choice.items()) <= known

    def change(self, choice: Choice) -> Change:
        """Of two settings that set the same variable, the later one of the space counts."""
        environment: dict[str, str] = {}
        words: list[str] = []
        options: dict[str, str | None] = {}
        for name, chosen in self.ordered(choice).items():
            value = self.settings[name].value(chosen)
            environment.update(value.set)
            words += value.launcher_args
            options.update({option: text or None for option, text in value.options.items()})
        return Change(environment, words, Options(options))

    def changed(self, choice: Choice, name: str, value: str = UNSET) -> dict[str, str]:
        """The same choice with another value of a setting, or without one."""
        rest = {other: text for other, text in choice.items() if other != name}
        return self.ordered({**rest, name: value} if value != UNSET else rest)

    def providers(self, name: str, text: str) -> Iterator[tuple[str, str]]:
        """The settings that set this variable to this text, each with the value that does."""
        for setting in self.settings.values():
            for value in setting.values:
                if value.set.get(name) == text:
                    yield setting.name, value.name

    def ordered(self, choice: Choice) -> dict[str, str]:
        """The same choice in the order of the space."""
        return {name: choice[name] for name in self.settings if name in choice}

    def text(self, choice: Choice) -> str:
        """`btl_sm_eager_limit=16384, --bind-to core`; of none `default`."""
        forms = {"launcher": "{} {}", "option": "--{} {}"}
        words = [
            forms.get(self.settings[name].kind, "{}={}").format(
                name.replace("OMPI_MCA_", ""), value
            )
            for name, value in mask_variables(self.ordered(choice)).items()
        ]
        return ", ".join(words) or "default"


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
        for kind, wanted, have in (
            ("MPI library", where.mpi, [self.mpi]),
            ("transport", where.transports, self.transports),
            ("memory", where.memories, self.memories),
            ("backend", where.backends, [self.backend]),
            ("benchmark", where.benchmarks, [self.benchmark]),
            ("launcher", where.launchers, [self.launcher]),
        ):
            if wanted and not set(wanted) & set(have):
                return f"for {kind} {' or '.join(wanted)}; here it is {', '.join(have) or 'none'}"
        for library, versions, version in (
            (self.mpi, where.mpi_version, self.mpi_version),
            ("UCX", where.ucx_version, self.ucx_version),
        ):
            if versions and not (version and Version(version) in SpecifierSet(versions)):
                return f"for {library} {versions}; here it is {version or 'unknown'}"
        reasons = [f"there is no {fact}" for fact in where.has if fact not in self.facts]
        reasons += [f"there is a {fact}" for fact in where.has_not if fact in self.facts]
        return reasons[0] if reasons else ""


def applicable(settings: Sequence[TuningSetting], here: Situation) -> tuple[Space, dict[str, str]]:
    """The settings with the values that apply here, without those whose needs nothing can meet; and
    by `NAME` or `NAME=VALUE` why others do not apply."""
    why_not: dict[str, str] = {}
    kept: list[TuningSetting] = []
    for setting in settings:
        if refusal := here.why_not(setting.applies):
            why_not.setdefault(setting.name, refusal)
            continue
        values = []
        for value in setting.values:
            # A variable that the user or the system has set is not changed.
            others = [
                f"the environment has {mask_words([f'{name}={here.variables[name]}'])[0]}"
                for name, text in value.set.items()
                if here.variables.get(name, text) != text
            ]
            if refusal := next(iter(others), "") or here.why_not(value.applies):
                why_not[f"{setting.name}={value.name}"] = refusal
            elif value.launcher_args or value.options or value.set.items() - here.variables.items():
                values.append(value)
        if values:
            kept.append(replace(setting, values=tuple(values)))
    for setting in list(kept):
        lacking = [
            f"it needs {name}={text}"
            for name, text in setting.needs.items()
            if not is_met(name, text, here, {}) and not any(Space(kept).providers(name, text))
        ]
        if lacking:
            why_not[setting.name] = lacking[0]
            kept.remove(setting)
    space = Space(kept)
    return space, {name: why for name, why in why_not.items() if name not in space.settings}


def is_met(name: str, text: str, here: Situation, environment: Mapping[str, str]) -> bool:
    """Whether the ranks have this variable with this value, or the library does so by itself."""
    for known in (environment, here.variables):
        if name in known:
            return known[name] == text
    return here.implied.get(name) == text
