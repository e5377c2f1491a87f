"""YAML that users write, parsed with a message that names the line of a mistake."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import yaml

from commlens.base.errors import CommlensError

_DEEPEST = 20  # a suite has five levels
_Kind = TypeVar("_Kind")


class _MistakeError(yaml.MarkedYAMLError):
    """What YAML allows, and we do not."""


class _Checks:
    """Of a loader: a key that stands twice is a mistake; YAML's own take the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        known = set()
        for key, _ in node.value:
            if isinstance(key.value, str) and key.value in known:
                problem = f"'{key.value}' stands there twice; leave one out"
                raise _MistakeError(problem=problem, problem_mark=key.start_mark)
            known.add(key.value if isinstance(key.value, str) else None)
        return super().construct_mapping(node, deep=deep)  # type: ignore[misc]

    def construct_scalar(self, node: Any) -> Any:
        text = super().construct_scalar(node)  # type: ignore[misc]
        if not node.style and text in ("~", "null", "Null", "NULL"):
            problem = f"{text} is no value; write one, or leave the key out"
            raise _MistakeError(problem=problem, problem_mark=node.start_mark)
        if not text and not node.style:
            problem = "a value is missing; write one, or '' for an empty text, or leave the key out"
            raise _MistakeError(problem=problem, problem_mark=node.start_mark)
        if "\0" in text:
            problem = "a NUL character cannot be in a value"
            raise _MistakeError(problem=problem, problem_mark=node.start_mark)
        return text


class _TextLoader(_Checks, getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]
    """Leaves every value as it is written: `8:32` is a range of sizes here, not 512."""


class _TypedLoader(_Checks, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Numbers are numbers."""


def parse(text: str, source: str, *, typed: bool = False) -> Any:
    """The mappings, lists and texts of a YAML file; `typed`: and its numbers and truth values.

    Raises CommlensError, which names the file and the line.
    """
    try:
        _refuse_depth(text)
        return yaml.load(text, Loader=_TypedLoader if typed else _TextLoader)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        problem = error.problem
        if "nesting depth" in str(problem):  # libyaml 0.2.6 and later has a limit of its own
            problem = "lists and mappings are nested too deeply"
        elif not isinstance(error, _MistakeError):
            problem = f"not YAML ({problem})"
        raise CommlensError(f"{source}{line}: {problem}") from None
    except yaml.YAMLError as error:
        raise CommlensError(f"{source}: not YAML ({str(error).splitlines()[0]})") from None


def convert(data: Any, kind: type[_Kind], where: str, *, strict: bool = True) -> _Kind:
    """As a struct of this kind. Raises CommlensError, which names the place and the mistake."""
    try:
        return msgspec.convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise CommlensError(f"{where}: {error}") from None


def _refuse_depth(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_TextLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            mark: Any = event.start_mark
            raise _MistakeError(problem="nesting depth", problem_mark=mark)
