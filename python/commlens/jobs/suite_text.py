"""The text of a suite: read from a file that may be anything, and parsed as YAML in which every
value is text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from commlens.base.errors import CommlensError

_MOST_BYTES = 16 << 20  # far more than ten thousand entries
_DEEPEST = 20  # a suite has five levels
_TOO_DEEP = "lists and mappings are nested too deeply"

_Base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # of libyaml, where there is that


class _MistakeError(Exception):
    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class _Loader(_Base):  # type: ignore[misc]
    """Leaves every value as it is written: `8:32` is a range of sizes here, not YAML's 512 in base
    sixty. A key that stands twice is a mistake; YAML's loaders take the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        known = set()
        for key, _ in node.value:
            if isinstance(key.value, str) and key.value in known:
                raise _MistakeError(
                    key.start_mark.line + 1, f"'{key.value}' stands there twice; leave one out"
                )
            known.add(key.value if isinstance(key.value, str) else None)
        return super().construct_mapping(node, deep=deep)

    def construct_scalar(self, node: Any) -> Any:
        text = super().construct_scalar(node)
        if "\0" in text:
            raise _MistakeError(node.start_mark.line + 1, "a NUL character cannot be in a value")
        return text


def read(path: Path) -> str:
    """The text of a file. Raises CommlensError for what is no text file."""
    try:
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "a device or a pipe"
            raise CommlensError(f"{path} is {kind}: name a YAML file")
        if path.stat().st_size > _MOST_BYTES:
            raise CommlensError(f"{path} is larger than {_MOST_BYTES >> 20} MiB: not a suite")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommlensError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CommlensError(f"{path} is not a text file in UTF-8") from None


def parse(text: str, source: str) -> Any:
    """The mappings, lists and texts of a YAML file.

    Raises CommlensError, which names the file and the line.
    """
    try:
        _refuse_depth(text)
        return yaml.load(text, Loader=_Loader)
    except _MistakeError as mistake:
        raise CommlensError(f"{source}, line {mistake.line}: {mistake}") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CommlensError(
            f"{source}{line}: not YAML ({error.problem}); see `commlens run --help` for a suite"
        ) from None
    except yaml.YAMLError as error:
        raise CommlensError(f"{source}: not YAML ({str(error).splitlines()[0]})") from None


def _refuse_depth(text: str) -> None:
    depth = 0
    for event in _events(text):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1
        if depth > _DEEPEST:
            line = event.start_mark.line + 1 if event.start_mark else 0
            raise _MistakeError(line, _TOO_DEEP)


def _events(text: str) -> Iterator[Any]:
    """The events of YAML; libyaml 0.2.6 and later has a limit of its own."""
    try:
        yield from yaml.parse(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        if "nesting depth" not in str(error.problem):
            raise
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise _MistakeError(line, _TOO_DEEP) from None
