#!/usr/bin/env python3
"""Writes docs/record.schema.json and docs/profile.schema.json, the JSON Schemas of records and
profiles, from their structs and from the meanings in knowledge/record_fields.yaml.

tools/schemas.py            writes the files
tools/schemas.py --check    exit status 1 if a file is not what the structs say
"""

from __future__ import annotations

import inspect
import json
import sys
from array import array
from pathlib import Path
from typing import Any

import msgspec

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "python"))

from commlens import knowledge  # noqa: E402
from commlens.model.profile import VERSION, Profile  # noqa: E402
from commlens.model.record import Record  # noqa: E402
from commlens.model.reroute import Reroute  # noqa: E402
from commlens.model.results import Ceiling  # noqa: E402
from commlens.model.start import SCHEMA_VERSION, Start, StartLine  # noqa: E402

_DIALECT = {"$schema": "https://json-schema.org/draft/2020-12/schema"}


def record_schema() -> dict[str, Any]:
    """The schema of one line of a file of records."""
    (start, record, reroute), components = _components(StartLine, Record, Reroute)
    components["Ceiling"].update(Ceiling.rules)
    return {
        **_DIALECT,
        "title": f"commlens record, schema {SCHEMA_VERSION}",
        "description": "One line of a file of records: a start, a case as it was measured, or a"
        " rerouted program. docs/records-reference.md explains each field.",
        "oneOf": [start, record, reroute],
        "$defs": components,
    }


def profile_schema() -> dict[str, Any]:
    """The schema of the line of a profile."""
    (profile,), components = _components(Profile)
    title = f"commlens profile, version {VERSION}"
    return {**_DIALECT, "title": title, **profile, "$defs": components}


def _components(*kinds: type) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """References to the structs, and all components with the meanings of their fields. The same
    whatever the version of Python, and without defaults that no file can have.

    Up to Python 3.12 a docstring keeps its indentation, and the order of an enumeration depends on
    how texts are hashed. A field that is absent or something is never null.
    """
    references, components = msgspec.json.schema_components(
        kinds, schema_hook=_hook, ref_template="#/$defs/{name}"
    )
    meanings = knowledge.load("record_fields", dict[str, dict[str, str]])
    for struct, component in components.items():
        if "description" in component:
            component["description"] = inspect.cleandoc(component["description"])
        for name, field in component.get("properties", {}).items():
            if name in meanings.get(struct, {}):
                field["description"] = meanings[struct][name]
            if "default" in field and field["default"] is None:
                del field["default"]
            if "enum" in field:
                field["enum"].sort()
    return references, components


def _hook(kind: type) -> dict[str, Any]:
    if kind is Start:
        return {"type": "string", "minLength": 1}
    if kind is array:
        return {"type": "array", "items": {"type": "number", "minimum": 0}}
    raise NotImplementedError(kind)


def main() -> int:
    """Writes or checks the files; the exit status."""
    status = 0
    for kind, schema in (("record", record_schema()), ("profile", profile_schema())):
        path = TOP / "docs" / f"{kind}.schema.json"
        text = json.dumps(schema, indent=2) + "\n"
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif text != path.read_text(encoding="utf-8"):
            print(f"{path.name}: not what the structs say; run tools/schemas.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
