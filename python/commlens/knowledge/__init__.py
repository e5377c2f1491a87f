"""Facts about libraries, machines and settings, as data: the YAML files of this folder, and the
only code that reads them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_ENDING = ".yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast as the other


@cache
def names(folder: str) -> tuple[str, ...]:
    """The files of a folder such as `sites`, without their ending, in alphabetical order."""
    entries = (files(__name__) / folder).iterdir()
    return tuple(sorted(one.name[: -len(_ENDING)] for one in entries if one.name.endswith(_ENDING)))


@cache
def text(name: str) -> str:
    """The text of a file, named without its ending: `settings/ucx`."""
    return (files(__name__) / f"{name}{_ENDING}").read_text(encoding="utf-8")


@cache
def load(name: str, *, as_text: bool = False) -> Any:
    """What the file of this name holds; shared by all callers, so nobody may change it.

    `as_text`: numbers and words such as `on` stay texts, for what is passed on as it is written.
    """
    return yaml.load(text(name), Loader=yaml.BaseLoader if as_text else _LOADER)
