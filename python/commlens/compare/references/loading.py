"""Reads the YAML files of this folder. A file is one source: its results are in blocks."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any, TypeVar

import msgspec
import yaml

from commlens import knowledge
from commlens.base.errors import CommlensError
from commlens.compare.references.model import Figure, Source

_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_ENDING = ".yaml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast as the other


@cache
def load() -> tuple[Source, ...]:
    """All sources, by name."""
    return tuple(
        parse(knowledge.text(f"references/{name}"), name) for name in knowledge.names("references")
    )


def find(name: str) -> Source:
    """The source of this name. Raises CommlensError if there is none."""
    sources = {source.name: source for source in load()}
    if name in sources:
        return sources[name]
    close = difflib.get_close_matches(name[:80], sources, 1)
    fix = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(sources)}"
    raise CommlensError(
        f"{name[:80]}: there is no such file, and no published results have this name; {fix}"
    )


def parse(text: str, name: str) -> Source:
    """The source of this name. Raises CommlensError that names the file and the field.

    In the file, `results` is a list of blocks: what a block says holds for all of its `figures`,
    and an entry may have its own.
    """
    try:
        data = yaml.load(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise CommlensError(f"{name}{_ENDING}: no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        raise CommlensError(f"{name}{_ENDING}: a mapping with a list `results` is expected")
    blocks = data.pop("results")
    figures = [
        _figure(merged, f"{name}{_ENDING}, block {number}")
        for number, block in enumerate(blocks, 1)
        for merged in _merged(block, name, f"{name}{_ENDING}, block {number}")
    ]
    return _converted({**data, "name": name, "figures": figures}, Source, f"{name}{_ENDING}")


def _merged(block: Any, name: str, where: str) -> list[dict[str, Any]]:
    """Each entry of a block with what the block says of all."""
    entries = block.get("figures") if isinstance(block, dict) else None
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise CommlensError(f"{where}: a mapping with a list `figures` is expected")
    common = {key: value for key, value in block.items() if key != "figures"}
    return [{**common, **entry, "source": name} for entry in entries]


def _figure(merged: dict[str, Any], where: str) -> Figure:
    return _converted(merged, Figure, f"{where}, entry '{merged.get('as_printed')}'")


def _converted(data: Any, kind: type[_Struct], where: str) -> _Struct:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise CommlensError(f"{where}: {error}") from None
