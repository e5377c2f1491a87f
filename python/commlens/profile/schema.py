"""The JSON Schema of profiles, generated from their structs.

python -m commlens.profile.schema > docs/profile.schema.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec

from commlens.model.profile import VERSION, Profile


def document() -> dict[str, Any]:
    (profile,), components = msgspec.json.schema_components(
        (Profile,), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"commlens profile, version {VERSION}",
        **profile,
        "$defs": components,
    }


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
