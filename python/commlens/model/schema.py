"""The JSON Schema of records, generated from the structs and from what their fields mean.

python -m commlens.model.schema > docs/record.schema.json
"""

from __future__ import annotations

import json
import sys
from array import array
from typing import Any

import msgspec

from commlens import knowledge
from commlens.model.record import Record
from commlens.model.results import Ceiling
from commlens.model.start import SCHEMA_VERSION, Start, StartLine


def document() -> dict[str, Any]:
    """The schema of one line of a file of records."""
    (start, record), components = msgspec.json.schema_components(
        (StartLine, Record), schema_hook=_hook, ref_template="#/$defs/{name}"
    )
    components["Ceiling"].update(Ceiling.rules)
    for name, meanings in knowledge.load("record_fields", dict[str, dict[str, str]]).items():
        for field, meaning in meanings.items():
            components[name]["properties"][field]["description"] = meaning
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"commlens record, schema {SCHEMA_VERSION}",
        "description": "One line of a file of records: a start, or a case as it was measured."
        " docs/records-reference.md explains each field.",
        "oneOf": [start, record],
        "$defs": {name: _tidy(one) for name, one in components.items()},
    }


def _tidy(component: dict[str, Any]) -> dict[str, Any]:
    """Without the defaults of fields that are absent or something, but never null; and with the
    values of enumerations in one order, which else depends on how Python hashes texts."""
    for field in component.get("properties", {}).values():
        if "default" in field and field["default"] is None:
            del field["default"]
        if "enum" in field:
            field["enum"].sort()
    return component


def _hook(kind: type) -> dict[str, Any]:
    if kind is Start:
        return {"type": "string", "minLength": 1}
    if kind is array:
        return {"type": "array", "items": {"type": "number", "minimum": 0}}
    raise NotImplementedError(kind)


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
