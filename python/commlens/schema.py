"""The JSON Schemas of what is read."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from jsonschema import Draft202012Validator

import commlens


@cache
def validator(name: str) -> Draft202012Validator:
    """Of `name`.schema.json in the installed package, else in the source tree."""
    folders = [*map(Path, commlens.__path__), Path(__file__).resolve().parents[2] / "docs"]
    path = next(path for folder in folders if (path := folder / f"{name}.schema.json").is_file())
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
