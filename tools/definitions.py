#!/usr/bin/env python3
"""Writes docs/records-reference.md's tables: of fields from docs/record.schema.json, of metrics,
facts and roles of parameters from the native program.

tools/definitions.py            rewrites what stands between <!-- NAME --> and <!-- /NAME -->
tools/definitions.py --check    exit status 1 if the page differs
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "records-reference.md"
SCHEMA = TOP / "docs" / "record.schema.json"
BLOCK = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- /\2 -->)", re.DOTALL)


def program() -> Path:
    """COMMLENS_BENCH, or the program that was built last."""
    if named := os.environ.get("COMMLENS_BENCH"):
        return Path(named)
    built = sorted(TOP.glob("build/*/src/commlens-bench"), key=lambda path: path.stat().st_mtime)
    if not built:
        sys.exit("definitions.py: no program was built; name one with --program")
    return built[-1]


def metrics(bench: Path) -> str:
    """The tables of metrics and facts that the program prints."""
    command = [bench, "--metrics"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def keys(bench: Path) -> str:
    """A table of the options of each benchmark by their role."""
    command = [bench, "--list", "--format", "json"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rows = ["| benchmark | size | setting | variant | derived |", "| --- | --- | --- | --- | --- |"]
    for benchmark in listed:
        roles: dict[str, list[str]] = {"size": [], "setting": [], "variant": [], "derived": []}
        for option in benchmark["options"]:
            roles[option["role"]].append(f"`{option['name'].replace('-', '_')}`")
        cells = " | ".join(", ".join(names) for names in roles.values())
        rows.append(f"| `{benchmark['name']}` | {cells} |")
    return "\n".join(rows)


def fields(root: str) -> str:
    """A table for a struct of the schema and, below it, one for each struct in it."""
    structs = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    return "\n\n".join(_tables(structs, root, "", {}))


def _tables(
    structs: Mapping[str, Any], name: str, path: str, above: dict[str, str]
) -> Iterator[str]:
    """Of a struct that has a table above, its place alone."""
    if name in above:
        yield f"### `{path[:-1]}`\n\nThe fields are those of `{above[name]}`."
        return
    above[name] = path[:-1]
    struct = structs[name]
    inner = []
    rows = ["| field | type | meaning |", "| --- | --- | --- |"]
    for field, value in struct["properties"].items():
        optional = "" if field in struct["required"] or field == "kind" else ", optional"
        rows.append(f"| `{field}` | {_type(value)}{optional} | {value['description']} |")
        if match := re.search(r'"#/\$defs/(\w+)"', json.dumps(value)):
            inner.append((match[1], f"{path}{field}{_suffix(value)}"))
    heading = f"### `{path[:-1]}`\n\n" if path else ""
    about = f"{struct['description']}\n\n" if "description" in struct else ""
    yield f"{heading}{about}" + "\n".join(rows)
    for other, place in inner:
        yield from _tables(structs, other, f"{place}.", above)


def _suffix(value: Mapping[str, Any]) -> str:
    return {"array": "[]", "object": ".METRIC"}.get(value.get("type", ""), "")


def _type(value: Mapping[str, Any]) -> str:
    if "enum" in value:
        return ", ".join(f"`{json.dumps(word)}`" for word in value["enum"])
    if "anyOf" in value:
        kinds = [_type(kind) for kind in value["anyOf"]]
        return " or ".join(dict.fromkeys(kinds))
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}"
    if value.get("type") == "object":
        return f"map to {_type(value['additionalProperties'])}"
    return str(value.get("type", "object"))


def rewritten(text: str, bench: Path) -> str:
    """The text of the page with its tables as the schema and the program have them."""
    blocks = {
        "start": lambda: fields("StartLine"),
        "record": lambda: fields("Record"),
        "reroute": lambda: fields("Reroute"),
        "metrics": lambda: metrics(bench),
        "keys": lambda: keys(bench),
    }
    return BLOCK.sub(lambda match: f"{match[1]}{blocks[match[2]]()}\n{match[3]}", text)


def main() -> int:
    """Rewrites or checks the page; the exit status."""
    parser = argparse.ArgumentParser(description="The tables of docs/records-reference.md.")
    parser.add_argument(
        "--program", type=Path, help="commlens-bench; else COMMLENS_BENCH or build/"
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    bench = options.program or program()
    text = PAGE.read_text(encoding="utf-8")
    current = rewritten(text, bench)
    if not options.check:
        PAGE.write_text(current, encoding="utf-8")
    elif current != text:
        print(f"{PAGE.name}: not what the schema and {bench} have; run tools/definitions.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
