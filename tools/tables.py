#!/usr/bin/env python3
"""Writes the tables of docs/*.md from the records in docs/measured/ (see doc_tables/).

tools/tables.py            rewrites what stands between <!-- table: NAME --> and <!-- end -->
tools/tables.py --check    exit status 1 if a table differs from its records
"""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "python"))

from doc_tables import rewritten  # noqa: E402


def main() -> int:
    stale = 0
    for page in sorted((TOP / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        current = rewritten(text)
        if current == text:
            continue
        if "--check" in sys.argv:
            print(f"{page.name}: a table differs from its records; run tools/tables.py")
            stale = 1
        else:
            page.write_text(current, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
