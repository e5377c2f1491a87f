"""A suite: a YAML file that lists benchmarks with their options and how they are launched."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Union

from commlens import knowledge
from commlens.base import inputs, user_yaml
from commlens.base.errors import CommlensError
from commlens.base.outputs import is_name
from commlens.base.text import whole_number
from commlens.jobs.native import Native
from commlens.jobs.spec import (
    FORMER_NAMES,
    MOST_LAUNCHES,
    MOST_RANKS,
    JobSpec,
    Options,
    is_variable,
    ranks_of_pairs,
)

ENDINGS = (".yaml", ".yml")
_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")
_LONGEST_NAME = 100
_MOST_ENTRIES = 10_000


# What a value must be: its type, or the largest number, as every value of a suite is text.
_Kind = tuple[Union[type, int], str]
_TEXT: _Kind = (str, "a single value")
_SUITE: dict[str, _Kind] = {
    "runs": (list, "a list (`- benchmark: latency`)"),
    "name": _TEXT,
    "description": _TEXT,
    "needs_gpu": _TEXT,
}
_ENTRY: dict[str, _Kind] = {
    "benchmark": (str, "a name from `commlens list`"),
    "options": (dict, "a mapping (`options: {repeat: 10}`)"),
    "ranks": (MOST_RANKS, f"a whole number from 1 to {MOST_RANKS:,}"),
    "environment": (dict, "a mapping (`environment: {UCX_TLS: all}`)"),
    "launcher_args": _TEXT,
    "launches": (MOST_LAUNCHES, f"a whole number from 1 to {MOST_LAUNCHES:,}"),
}


@dataclass(frozen=True)
class Suite:
    """A list of jobs with a name."""

    name: str
    description: str
    entries: Sequence[JobSpec]
    needs_gpu: bool = False  # else nothing of it is worth to be run


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
    return parse(inputs.read_text(Path(name), kind=inputs.YAML), name)


def of_names(names: Sequence[str]) -> Suite:
    """All of several suites and benchmarks, one after the other. Raises CommlensError for a mistake
    in one of them."""
    suites = [
        load(name) if is_suite(name) else Suite(name, "", [JobSpec(name, where=name)])
        for name in names
    ]
    if len(suites) == 1:
        return suites[0]
    joined = "-".join(suite.name for suite in suites)
    entries = [entry for suite in suites for entry in suite.entries]
    needs_gpu = any(suite.needs_gpu for suite in suites)
    return Suite(joined[:_LONGEST_NAME], "", entries, needs_gpu)


def overridden(
    entries: Sequence[JobSpec], by: JobSpec, native: Native
) -> tuple[list[JobSpec], list[JobSpec]]:
    """The entries with what the command line says, and those of them which run on fewer ranks than
    it says: a benchmark of pairs takes two for each, whatever the others of its suite take."""
    jobs, smaller = [], []
    for job in (entry.overridden_by(by) for entry in entries):
        # A name that is none is refused with all other mistakes.
        of_pairs = ranks_of_pairs(job, native) if job.benchmark in native.benchmarks else 0
        if 0 < of_pairs < by.ranks and "matrix" not in job.options:
            job = replace(job, ranks=of_pairs)
            smaller.append(job)
        jobs.append(job)
    return jobs, smaller


def parse(text: str, source: str) -> Suite:
    """The suite in a text. Raises CommlensError, which names the file, the entry, the value and the
    fix."""
    data = user_yaml.parse(text, source)
    if not isinstance(data, dict):
        raise CommlensError(
            f"{source}: a suite is a mapping with 'name' and 'runs', not {_shown(data)}"
        )
    _check(data, _SUITE, "runs", source)
    needs_gpu = data.get("needs_gpu", "no").lower()
    if needs_gpu not in (*_TRUE, *_FALSE):
        raise CommlensError(f"{source}: 'needs_gpu' must be true or false, not {needs_gpu!r}")
    if len(data["runs"]) > _MOST_ENTRIES:
        count = len(data["runs"])
        raise CommlensError(f"{source}: {count:,} entries; a suite has at most {_MOST_ENTRIES:,}")
    return Suite(
        _name(data.get("name"), source),
        data.get("description", ""),
        [_entry(run, f"{source}, entry {number}") for number, run in enumerate(data["runs"], 1)],
        needs_gpu in _TRUE,
    )


def _name(given: str | None, source: str) -> str:
    """That of the folder for its records. Raises CommlensError for what can be none."""
    name = Path(source).stem if given is None else given
    if not is_name(name):
        subject = f"the file's name {name!a}" if given is None else f"'name' {name!a}"
        raise CommlensError(
            f"{source}: {subject} cannot be that of a folder; write a short 'name' without slashes"
        )
    return name


def _entry(data: Any, where: str) -> JobSpec:
    _require(data, (dict, "a mapping (`benchmark: latency`)"), f"{where}:")
    entry = dict(data)
    for name, former in FORMER_NAMES.items():
        if former in entry and name in entry:
            raise CommlensError(f"{where}: '{former}' is the former name of '{name}'; leave it out")
        if former in entry:
            entry[name] = entry.pop(former)
    _check(entry, _ENTRY, "benchmark", where)
    words = entry.get("launcher_args", "")
    try:
        launcher_arguments = shlex.split(words)
    except ValueError as error:
        raise CommlensError(f"{where}: launcher_args {words!r}: {str(error).lower()}") from None
    environment = entry.get("environment", {})
    for name, value in environment.items():
        if not is_variable(name):
            raise CommlensError(f"{where}: environment '{name}' cannot be the name of a variable")
        _require(value, _TEXT, f"{where}: environment '{name}'")
    return JobSpec(
        entry["benchmark"],
        _options(entry.get("options", {}), where),
        int(entry.get("ranks", 0)),
        environment,
        launcher_arguments,
        int(entry.get("launches", 1)),
        where=where,
    )


def _require(value: Any, kind: _Kind, where: str) -> None:
    """Raises CommlensError for a value that is none of the kind."""
    wanted, must_be = kind
    if isinstance(wanted, int):
        holds = isinstance(value, str) and 1 <= (whole_number(value) or 0) <= wanted
    else:
        holds = isinstance(value, wanted) and value != []
    if not holds:
        raise CommlensError(f"{where} must be {must_be}, not {_shown(value)}")


def _check(data: Mapping[Any, Any], kinds: Mapping[str, _Kind], needed: str, where: str) -> None:
    for name in data:
        if name not in kinds:
            raise CommlensError(f"{where}: unknown key '{name}'; known are {', '.join(kinds)}")
    for name, kind in kinds.items():
        if name in data or name == needed:
            _require(data.get(name), kind, f"{where}: '{name}'")


def _options(texts: Mapping[str, Any], where: str) -> Options:
    values: dict[str, str | None] = {}
    for text, value in texts.items():
        name = text.lstrip("-")
        if not name or name in values:
            mistake = f"option '{name}' stands there twice" if name else f"'{text}' is no option"
            raise CommlensError(f"{where}: {mistake}; leave it out")
        values[name] = _option(value, f"{where}: option '{name}'")
    return Options(values)


def _option(value: Any, where: str) -> str | None:
    values = value if isinstance(value, list) else [value]
    for entry in values:
        _require(entry, _TEXT, where)
    text = ",".join(values)
    if isinstance(value, str) and text.lower() in _FALSE:
        raise CommlensError(
            f"{where}: '{text}' is no value; leave the option out, or name its opposite with 'true'"
        )
    return None if isinstance(value, str) and text.lower() in _TRUE else text


def _shown(value: Any) -> str:
    """A value in messages."""
    if value is None or value == "":
        return "nothing"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a mapping"
    text = str(value)
    return f"'{text}'" if len(text) <= _LONGEST_NAME else f"'{text[:_LONGEST_NAME]}...'"
