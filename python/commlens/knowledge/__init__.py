"""Facts about libraries, machines and settings, as data: the YAML files of this folder, and the
only code that reads them. Each kind of file has a struct, which is its schema."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import msgspec
import yaml

_ENDING = ".yaml"
# Every scalar is a text: `no` is no boolean.
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_Kind = TypeVar("_Kind")


@cache
def names(folder: str) -> tuple[str, ...]:
    """The files of a folder such as `sites`, without their ending, in alphabetical order."""
    entries = (path.name for path in (files(__name__) / folder).iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in entries if name.endswith(_ENDING)))


@cache
def text(name: str) -> str:
    """The text of a file, named without its ending: `settings/ucx`."""
    return (files(__name__) / f"{name}{_ENDING}").read_text(encoding="utf-8")


def load(name: str, kind: type[_Kind]) -> _Kind:
    """The file of this name as a struct of this kind. Raises msgspec.ValidationError."""
    return msgspec.convert(_data(name), kind, strict=False)


@cache
def _data(name: str) -> Any:
    return yaml.load(text(name), Loader=_LOADER)
