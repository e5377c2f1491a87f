"""The JSON Schemas of records and profiles, generated from their structs.

What the fields of records mean is in knowledge/record_fields.yaml.

python -m commlens.model.schema record > docs/record.schema.json
python -m commlens.model.schema profile > docs/profile.schema.json
"""

from __future__ import annotations

import inspect
import json
import sys
from array import array
from typing import Any

import msgspec

from commlens import knowledge
from commlens.model.profile import VERSION, Profile
from commlens.model.record import Record
from commlens.model.results import Ceiling
from commlens.model.start import SCHEMA_VERSION, Start, StartLine

_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def record_schema() -> dict[str, Any]:
    """The schema of one line of a file of records."""
    (start, record), components = msgspec.json.schema_components(
        (StartLine, Record), schema_hook=_hook, ref_template="#/$defs/{name}"
    )
    components["Ceiling"].update(Ceiling.rules)
    for name, meanings in knowledge.load("record_fields", dict[str, dict[str, str]]).items():
        for field, meaning in meanings.items():
            components[name]["properties"][field]["description"] = meaning
    return {
        **_DIALECT,
        "title": f"commlens record, schema {SCHEMA_VERSION}",
        "description": "One line of a file of records: a start, or a case as it was measured."
        " docs/records-reference.md explains each field.",
        "oneOf": [start, record],
        "$defs": _tidy(components),
    }


def profile_schema() -> dict[str, Any]:
    """The schema of the line of a profile."""
    (profile,), components = msgspec.json.schema_components(
        (Profile,), ref_template="#/$defs/{name}"
    )
    title = f"commlens profile, version {VERSION}"
    return {**_DIALECT, "title": title, **profile, "$defs": _tidy(components)}


SCHEMAS = {"record": record_schema, "profile": profile_schema}


def _tidy(components: dict[str, Any]) -> dict[str, Any]:
    """The same whatever the version of Python, and without defaults that no file can have.

    Up to Python 3.12 a docstring keeps its indentation, and the order of an enumeration depends on
    how texts are hashed. A field that is absent or something is never null.
    """
    for component in components.values():
        if "description" in component:
            component["description"] = inspect.cleandoc(component["description"])
        for field in component.get("properties", {}).values():
            if "default" in field and field["default"] is None:
                del field["default"]
            if "enum" in field:
                field["enum"].sort()
    return components


def _hook(kind: type) -> dict[str, Any]:
    if kind is Start:
        return {"type": "string", "minLength": 1}
    if kind is array:
        return {"type": "array", "items": {"type": "number", "minimum": 0}}
    raise NotImplementedError(kind)


if __name__ == "__main__":
    json.dump(SCHEMAS[sys.argv[1]](), sys.stdout, indent=2)
    sys.stdout.write("\n")
