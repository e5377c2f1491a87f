"""A suite: a YAML file that lists benchmarks with their options."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from commlens.errors import CommlensError
from commlens.launchers import MOST_RANKS
from commlens.native import Native

ENDINGS = (".yaml", ".yml")
_TRUE = ("true", "yes", "on")
_FALSE = ("false", "no", "off")


@dataclass(frozen=True)
class Entry:
    benchmark: str
    options: Mapping[str, str | None]  # None: a flag, which takes no value
    ranks: int | None = None


@dataclass(frozen=True)
class Suite:
    name: str
    description: str
    entries: Sequence[Entry]
    source: str  # the file, for messages


def is_suite(name: str) -> bool:
    """Whether `commlens run NAME` means a suite: a YAML file, or one that is shipped."""
    return name.endswith(ENDINGS) or name in shipped()


def shipped() -> dict[str, str]:
    """The text of each suite that comes with commlens, by name."""
    folder = files("commlens") / "suites"
    return {
        Path(entry.name).stem: entry.read_text(encoding="utf-8")
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(ENDINGS)
    }


def load(name: str) -> Suite:
    """The shipped suite of this name, or the one in the YAML file `name`. Raises CommlensError for a mistake in it."""
    if not name.endswith(ENDINGS):
        return parse(shipped()[name], f"{name}.yaml")
    try:
        return parse(Path(name).read_text(encoding="utf-8"), name)
    except OSError as error:
        raise CommlensError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommlensError(f"{name} is not a text file in UTF-8") from None


def parse(text: str, source: str) -> Suite:
    """Raises CommlensError, which names the file, the entry, the value and the cure."""
    try:
        # BaseLoader leaves every value as it is written: `8:32` is a range of sizes here, not YAML's 512 in base sixty.
        data = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CommlensError(
            f"{source}{line}: not YAML ({error.problem}); see `commlens run --help` for a suite"
        ) from None
    except yaml.YAMLError as error:
        raise CommlensError(f"{source}: not YAML ({str(error).splitlines()[0]})") from None
    if not isinstance(data, dict):
        raise CommlensError(f"{source}: a suite is a mapping with 'name' and 'runs', not {_kind(data)}")
    _reject_unknown(data, ("name", "description", "runs"), source)
    runs = data.get("runs")
    if not isinstance(runs, list) or not runs:
        raise CommlensError(
            f"{source}: 'runs' must be a list of benchmarks (`- benchmark: latency`), not {_kind(runs)}"
        )
    return Suite(
        name=_text(data.get("name", Path(source).stem), f"{source}: 'name'"),
        description=_text(data.get("description", ""), f"{source}: 'description'"),
        entries=[_entry(run, f"{source}, entry {number}") for number, run in enumerate(runs, start=1)],
        source=source,
    )


def check(suite: Suite, native: Native) -> None:
    """Raises CommlensError for a benchmark or an option that the native program does not have."""
    for number, entry in enumerate(suite.entries, start=1):
        where = f"{suite.source}, entry {number}"
        try:
            native.benchmark(entry.benchmark)
        except CommlensError as error:
            raise CommlensError(f"{where}: {error}") from None
        known = native.option_names(entry.benchmark)
        for name in entry.options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                cure = f"did you mean '{near[0]}'?" if near else f"`commlens run {entry.benchmark} --help` lists them"
                raise CommlensError(f"{where}: {entry.benchmark} has no option '{name}': {cure}")


def arguments(options: Mapping[str, str | None], overriding: Sequence[str] = ()) -> list[str]:
    """The options as a command line; an option that stands in `overriding` is taken from there."""
    replaced = parse_options(overriding)
    own = [
        word
        for name, value in options.items()
        if name not in replaced
        for word in ([f"--{name}"] if value is None else [f"--{name}", value])
    ]
    return [*own, *overriding]


def parse_options(words: Sequence[str]) -> dict[str, str]:
    """The options on a command line of the native program: `--name value`, `--name=value`; a flag's value is empty."""
    options: dict[str, str] = {}
    name = None
    for word in words:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name] = value
        elif name is not None and not options[name]:
            options[name] = word
    return options


def _entry(run: Any, where: str) -> Entry:
    if not isinstance(run, dict):
        raise CommlensError(f"{where}: must be a mapping (`benchmark: latency`), not {_kind(run)}")
    _reject_unknown(run, ("benchmark", "options", "ranks"), where)
    if "benchmark" not in run:
        raise CommlensError(f"{where}: 'benchmark' is missing; write `benchmark: NAME`, `commlens list` has the names")
    options = run.get("options", {})
    if not isinstance(options, dict):
        raise CommlensError(f"{where}: 'options' must be a mapping (`options: {{repeat: 10}}`), not {_kind(options)}")
    return Entry(
        benchmark=_text(run["benchmark"], f"{where}: 'benchmark'"),
        options={str(name).lstrip("-"): _option(value, f"{where}: option '{name}'") for name, value in options.items()},
        ranks=_ranks(run["ranks"], where) if "ranks" in run else None,
    )


def _option(value: Any, where: str) -> str | None:
    if isinstance(value, list):
        return ",".join(_text(part, where) for part in value)
    text = _text(value, where)
    if text.lower() in _FALSE:
        raise CommlensError(f"{where}: '{text}' is no value; leave the option out, or name its opposite with 'true'")
    return None if text.lower() in _TRUE else text


def _ranks(value: Any, where: str) -> int:
    text = _text(value, f"{where}: 'ranks'")
    if not text.isdecimal() or not 1 <= int(text) <= MOST_RANKS:
        raise CommlensError(f"{where}: ranks '{text}' is no number of ranks; write a whole number, 1 to {MOST_RANKS}")
    return int(text)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise CommlensError(f"{where} must be a single value, not {_kind(value)}")
    return value


def _reject_unknown(mapping: Mapping[Any, Any], known: Sequence[str], where: str) -> None:
    for key in mapping:
        if key not in known:
            raise CommlensError(f"{where}: unknown key '{key}'; known are {', '.join(known)}")


def _kind(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, dict) else f"'{value}'"
