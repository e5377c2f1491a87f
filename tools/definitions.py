#!/usr/bin/env python3
"""Puts the definitions of metrics and facts into docs/records.md, as the native program has them.

tools/definitions.py            rewrites what stands between <!-- metrics --> and <!-- /metrics -->
tools/definitions.py --check    exit status 1 if that is not what the program says
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "records.md"
BLOCK = re.compile(r"(<!-- metrics -->\n).*?(<!-- /metrics -->)", re.DOTALL)


def program() -> Path:
    """COMMLENS_BENCH, or the program that was built last."""
    if named := os.environ.get("COMMLENS_BENCH"):
        return Path(named)
    built = sorted(TOP.glob("build/*/src/commlens-bench"), key=lambda path: path.stat().st_mtime)
    if not built:
        sys.exit("definitions.py: no program was built; name one with --program")
    return built[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description="Definitions of metrics and facts for the docs.")
    parser.add_argument(
        "--program", type=Path, help="commlens-bench; else COMMLENS_BENCH or build/"
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    command = [options.program or program(), "--metrics", "--format", "markdown"]
    tables = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = PAGE.read_text(encoding="utf-8")
    current = BLOCK.sub(lambda match: f"{match[1]}{tables.strip()}\n{match[2]}", text)
    if not options.check:
        PAGE.write_text(current, encoding="utf-8")
    elif current != text:
        print(f"{PAGE.name}: a definition is not what {command[0]} says; run tools/definitions.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
