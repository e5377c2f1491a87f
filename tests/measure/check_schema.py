"""Checks the lines that a program prints against a JSON Schema: check_schema.py SCHEMA PROGRAM."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

try:
    import jsonschema
except ImportError:
    print("jsonschema is not installed")
    sys.exit(77)  # what CTest takes for "skipped"


def refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def main(schema_path: str, program: str) -> int:
    schema = json.loads(Path(schema_path).read_text())
    validator = jsonschema.Draft202012Validator(schema)
    lines = subprocess.run(
        [program], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    faults = 0
    for number, line in enumerate(lines, start=1):
        record = json.loads(line, parse_constant=refuse_constant)
        for error in validator.iter_errors(record):
            print(f"line {number}: {error.json_path}: {error.message}")
            faults += 1
    print(f"{len(lines)} records, {faults} faults")
    return 1 if faults or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
