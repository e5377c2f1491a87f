"""A suite: a YAML file that lists benchmarks with their options and how they are launched."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar, Union, get_args

import msgspec

from commlens import knowledge
from commlens.base import user_yaml
from commlens.base.errors import CommlensError
from commlens.jobs.options import Options
from commlens.jobs.spec import FORMER_NAMES, MOST_LAUNCHES, MOST_RANKS, JobSpec, is_variable

ENDINGS = (".yaml", ".yml")
_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")
_LONGEST_NAME = 100

_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def _must(text: str) -> msgspec.Meta:
    """What a value must be, for the message where it is not."""
    return msgspec.Meta(description=f"must be {text}")


_Text = Annotated[str, _must("a single value")]
_OptionalText = Optional[_Text]
_Name = Annotated[str, _must("a name from `commlens list`")]
_Runs = Annotated[list[Any], msgspec.Meta(min_length=1), _must("a list (`- benchmark: latency`)")]
_Options = Annotated[dict[str, Any], _must("a mapping (`options: {repeat: 10}`)")]
_Option = Annotated[Union[str, list[str]], _must("a single value")]
_Environment = Annotated[dict[str, Any], _must("a mapping (`environment: {UCX_TLS: all}`)")]
_Ranks = Optional[
    Annotated[
        int,
        msgspec.Meta(ge=1, le=MOST_RANKS),
        _must(f"a whole number from 1 to {MOST_RANKS:,}"),
    ]
]
_Launches = Annotated[
    int,
    msgspec.Meta(ge=1, le=MOST_LAUNCHES),
    _must(f"a whole number from 1 to {MOST_LAUNCHES:,}"),
]


class _SuiteText(msgspec.Struct):
    """A suite as it stands in the file, in which every value is text."""

    runs: _Runs
    name: _OptionalText = None
    description: _Text = ""


class _EntryText(msgspec.Struct):
    benchmark: _Name
    options: _Options = {}
    ranks: _Ranks = None
    environment: _Environment = {}
    launcher_args: _Text = ""
    launches: _Launches = 1


@dataclass(frozen=True)
class Suite:
    """A list of jobs with a name."""

    name: str
    description: str
    entries: Sequence[JobSpec]


def is_suite(name: str) -> bool:
    """Whether `commlens run NAME` means a suite: a YAML file, or one that is shipped."""
    return name.lower().endswith(ENDINGS) or name in shipped()


def shipped() -> dict[str, str]:
    """The text of each suite that comes with commlens, by name."""
    return {name: knowledge.text(f"suites/{name}") for name in knowledge.names("suites")}


def load(name: str) -> Suite:
    """The shipped suite of this name, or the one in the YAML file `name`. Raises CommlensError for
    a mistake in it."""
    if name in shipped():
        return parse(shipped()[name], f"{name}.yaml")
    return parse(user_yaml.read(Path(name)), name)


def of_names(names: Sequence[str]) -> Suite:
    """All of several suites and benchmarks, one after the other. Raises CommlensError for a mistake
    in one of them."""
    suites = [
        load(name) if is_suite(name) else Suite(name, "", [JobSpec(name, where=name)])
        for name in names
    ]
    if len(suites) == 1:
        return suites[0]
    joined = "-".join(one.name for one in suites)
    entries = [entry for one in suites for entry in one.entries]
    return Suite(joined[:_LONGEST_NAME], f"{', '.join(names)}", entries)


def parse(text: str, source: str) -> Suite:
    """The suite in a text. Raises CommlensError, which names the file, the entry, the value and the
    fix."""
    data = user_yaml.parse(text, source)
    if not isinstance(data, dict):
        raise CommlensError(
            f"{source}: a suite is a mapping with 'name' and 'runs', not {_kind(data)}"
        )
    suite = _converted(_SuiteText, data, source)
    return Suite(
        _name(suite.name, source),
        suite.description,
        [_entry(run, f"{source}, entry {number}") for number, run in enumerate(suite.runs, 1)],
    )


def _name(given: str | None, source: str) -> str:
    """That of the folder for its records. Raises CommlensError for what can be none."""
    name = Path(source).stem if given is None else given
    is_sound = name.isprintable() and "/" not in name and not name.startswith((".", "-"))
    if not name or not is_sound or len(name.encode()) > _LONGEST_NAME:
        what = f"the file's name {name!a}" if given is None else f"'name' {name!a}"
        raise CommlensError(
            f"{source}: {what} cannot be that of a folder; write a short 'name' without slashes"
        )
    return name


def _entry(data: Any, where: str) -> JobSpec:
    if not isinstance(data, dict):
        raise CommlensError(f"{where}: must be a mapping (`benchmark: latency`), not {_kind(data)}")
    entry = _converted(_EntryText, _renamed(data, where), where)
    try:
        launcher_arguments = shlex.split(entry.launcher_args)
    except ValueError as error:
        raise CommlensError(
            f"{where}: launcher_args {entry.launcher_args!r}: {str(error).lower()}"
        ) from None
    return JobSpec(
        entry.benchmark,
        _options(entry.options, where),
        entry.ranks or 0,
        {name: _variable(name, value, where) for name, value in entry.environment.items()},
        launcher_arguments,
        entry.launches,
        where=where,
    )


def _renamed(data: Mapping[Any, Any], where: str) -> dict[Any, Any]:
    """The mapping with the present names of its keys."""
    present = {former: name for name, former in FORMER_NAMES.items()}
    for former in data.keys() & present.keys():
        if present[former] in data:
            raise CommlensError(
                f"{where}: '{former}' is the former name of '{present[former]}'; leave it out"
            )
    return {present.get(name, name): value for name, value in data.items()}


def _converted(kind: type[_Struct], data: Mapping[Any, Any], where: str) -> _Struct:
    """The struct that a mapping holds, each of its values as the struct says that it must be."""
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    for name in data:
        if name not in fields:
            raise CommlensError(f"{where}: unknown key '{name}'; known are {', '.join(fields)}")
    for name, field in fields.items():
        if field.required or name in data:
            _value(field.type, data.get(name), f"{where}: '{name}'")
    return msgspec.convert(data, kind, strict=False)


def _value(kind: Any, value: Any, where: str) -> Any:
    """Raises CommlensError where the value is not what the kind says that it must be."""
    try:
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, ValueError):  # of a number of thousands of digits
        raise CommlensError(f"{where} {_description(kind)}, not {_kind(value)}") from None


def _description(kind: Any) -> str:
    """What `_must` says of the kind, wherever it is in it."""
    if isinstance(kind, msgspec.Meta):
        return kind.description or ""
    metadata = getattr(kind, "__metadata__", ())
    return next(filter(None, map(_description, (*metadata, *get_args(kind)))), "")


def _options(texts: Mapping[str, Any], where: str) -> Options:
    values: dict[str, str | None] = {}
    for text, value in texts.items():
        name = text.lstrip("-")
        if not name or name in values:
            what = f"option '{name}' stands there twice" if name else f"'{text}' is no option"
            raise CommlensError(f"{where}: {what}; leave it out")
        values[name] = _option(value, f"{where}: option '{name}'")
    return Options(values)


def _option(value: Any, where: str) -> str | None:
    value = _value(_Option, value, where)
    if isinstance(value, list):
        return ",".join(value)
    text: str = value
    if text.lower() in _FALSE:
        raise CommlensError(
            f"{where}: '{text}' is no value; leave the option out, or name its opposite with 'true'"
        )
    return None if text.lower() in _TRUE else text


def _variable(name: str, value: Any, where: str) -> str:
    if not is_variable(name):
        raise CommlensError(f"{where}: environment '{name}' cannot be the name of a variable")
    text: str = _value(_Text, value, f"{where}: environment '{name}'")
    return text


def _kind(value: Any) -> str:
    """A value in messages."""
    if value is None or value == "":
        return "nothing"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping"
    text = str(value)
    return f"'{text}'" if len(text) <= _LONGEST_NAME else f"'{text[:_LONGEST_NAME]}...'"
