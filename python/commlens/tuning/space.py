"""What may be set: settings with their values, read from YAML files, and where they apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from commlens import knowledge
from commlens.base import user_yaml
from commlens.base.errors import CommlensError
from commlens.jobs.spec import is_variable

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
    has: tuple[str, ...] = ()  # facts of the machine and of the MPI library: see situation.py
    has_not: tuple[str, ...] = ()


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One value of a setting, and all that it changes."""

    name: str
    set: Mapping[str, str] = {}  # environment variables
    launcher_args: tuple[str, ...] = ()
    options: Mapping[str, str] = {}  # of the benchmark
    applies: Where = Where()


class TuningSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Something that can be set; beside its values it can be left as it is."""

    name: str
    kind: Kind
    values: tuple[Value, ...]
    meaning: str
    applies: Where = Where()
    needs: Mapping[str, str] = {}  # variables without whose values it has no effect
    may_break: str = ""
    source: str = ""
    file: str = ""

    def value(self, name: str) -> Value:
        """The value of this name."""
        return next(value for value in self.values if value.name == name)


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"also": "with"}):
    """A setting as it is written in a file."""

    name: str
    values: tuple[Union[str, Value], ...]  # noqa: UP007 (evaluated by Python 3.9)
    meaning: str
    kind: Kind = "variable"
    applies: Where = Where()
    needs: Mapping[str, str] = {}
    also: Mapping[str, str] = {}  # variables that are set together with each of its values
    may_break: str = ""
    source: str = ""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    settings: tuple[_Entry, ...]
    order: int = 10  # of the files: what is lower is tried first
    source: str = ""
    applies: Where = Where()
    needs: Mapping[str, str] = {}


def curated() -> list[TuningSetting]:
    """The settings of all files of knowledge/settings, in the order of the files."""
    files = [
        _parsed(knowledge.text(f"settings/{name}"), f"{name}.yaml")
        for name in knowledge.names("settings")
    ]
    ordered = sorted(files, key=lambda file: file[0].order)
    return [setting for _, settings in ordered for setting in settings]


def load(path: Path) -> list[TuningSetting]:
    """Those of a file of the user's. Raises CommlensError that names the file and the mistake."""
    return parse(user_yaml.read(path, "--space"), str(path))


def parse(text: str, where: str) -> list[TuningSetting]:
    """The settings of a file; every scalar of it is text. Raises CommlensError in one line."""
    return _parsed(text, where)[1]


def _parsed(text: str, where: str) -> tuple[_File, list[TuningSetting]]:
    data = user_yaml.parse(text, where)
    if not isinstance(data, dict) or not isinstance(data.get("settings"), list):
        raise CommlensError(f"{where}: a mapping with a list `settings` is expected")
    common = _converted({**data, "settings": []}, _File, where)
    found = []
    for number, entry in enumerate(data["settings"], 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        place = f"{where}, setting {str(name)[:60] if name else number}"
        found.append(_setting(_converted(entry, _Entry, place), common, place))
    _check_once(found, where)
    return common, found


def _converted(data: Any, kind: Any, where: str) -> Any:
    try:
        return msgspec.convert(data, kind, strict=False)
    except msgspec.ValidationError as error:
        raise CommlensError(f"{where}: {error}") from None


def _setting(entry: _Entry, file: _File, where: str) -> TuningSetting:
    values = tuple(_value(entry, value, where) for value in entry.values)
    if not values:
        raise CommlensError(f"{where}: it has no values; write at least one beside the default")
    names = [value.name for value in values]
    if len(set(names)) < len(names) or UNSET in names:
        raise CommlensError(f"{where}: the names of its values must differ, and not be '{UNSET}'")
    applies = _both(file.applies, entry.applies, where)
    for one in (applies, *(value.applies for value in values)):
        _check_where(one, where)
    return TuningSetting(
        entry.name,
        entry.kind,
        values,
        entry.meaning,
        applies,
        {**file.needs, **entry.needs},
        entry.may_break,
        entry.source or file.source,
        where.rpartition(",")[0],
    )


def _value(entry: _Entry, given: str | Value, where: str) -> Value:
    if isinstance(given, Value):
        if not (given.set or given.launcher_args or given.options):
            raise CommlensError(f"{where}, value {given.name}: it sets nothing (set, options ...)")
        value = msgspec.structs.replace(given, set={**entry.also, **given.set})
    elif entry.kind == "group":
        raise CommlensError(f"{where}, value {given}: a value of a group is a mapping with `set`")
    elif entry.kind == "launcher":
        words = tuple(entry.name.split()) + tuple(given.split())
        value = Value(given, set=entry.also, launcher_args=words)
    elif entry.kind == "option":
        value = Value(given, set=entry.also, options={entry.name: given})
    else:
        value = Value(given, set={**entry.also, entry.name: given})
    for name in value.set:
        if not is_variable(name):
            raise CommlensError(f"{where}: '{name[:60]}' cannot be the name of a variable")
    return value


def _both(file: Where, own: Where, where: str) -> Where:
    """The conditions of a file and of one of its settings."""
    together: dict[str, Any] = {}
    for name in Where.__struct_fields__:
        common, special = getattr(file, name), getattr(own, name)
        if name in ("has", "has_not"):
            together[name] = (*common, *special)
        elif name.endswith("_version"):
            together[name] = ",".join(filter(None, (common, special)))
        else:
            together[name] = special or common
    return Where(**together)


def _check_where(where: Where, place: str) -> None:
    for text in (where.mpi_version, where.ucx_version):
        try:
            SpecifierSet(text)
        except InvalidSpecifier:
            raise CommlensError(
                f"{place}: '{text}' is no range of versions; write them as in >=4.1,<5"
            ) from None


def _check_once(settings: Iterable[TuningSetting], where: str) -> None:
    seen: set[tuple[str, Where]] = set()
    for setting in settings:
        if (setting.name, setting.applies) in seen:
            raise CommlensError(f"{where}: '{setting.name}' stands there twice")
        seen.add((setting.name, setting.applies))


class Change(msgspec.Struct, frozen=True):
    """What a choice of values does to a job."""

    environment: Mapping[str, str]
    launcher_arguments: Sequence[str]
    options: Mapping[str, str]


Choice = Mapping[str, str]  # the names of values by the names of settings; what is unset is absent


class Space:
    """Settings by name, in the order in which they are tried."""

    def __init__(self, settings: Iterable[TuningSetting]) -> None:
        self.settings: dict[str, TuningSetting] = {}
        for setting in settings:
            self.settings.setdefault(setting.name, setting)

    def change(self, choice: Choice) -> Change:
        """Of two settings that set the same variable, the later one of the space counts."""
        environment: dict[str, str] = {}
        words: list[str] = []
        options: dict[str, str] = {}
        for setting in self.settings.values():
            if setting.name in choice:
                value = setting.value(choice[setting.name])
                environment.update(value.set)
                words += value.launcher_args
                options.update(value.options)
        return Change(environment, words, options)

    def ordered(self, choice: Choice) -> dict[str, str]:
        """The same choice in the order of the space."""
        return {name: choice[name] for name in self.settings if name in choice}

    def text(self, choice: Choice) -> str:
        """`btl_sm_eager_limit=16384, --bind-to core`; of none `default`."""
        words = []
        for name, value in self.ordered(choice).items():
            kind = self.settings[name].kind
            if kind == "launcher":
                words.append(f"{name} {value}")
            elif kind == "option":
                words.append(f"--{name} {value}")
            else:
                words.append(f"{name.replace('OMPI_MCA_', '')}={value}")
        return ", ".join(words) or "default"
