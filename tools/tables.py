#!/usr/bin/env python3
"""Writes tables and outputs into README.md and docs/*.md from the records in docs/measured/.

tools/tables.py            rewrites the text from <!-- table: NAME --> and <!-- output: WORDS -->
                           to <!-- end --> (see doc_tables/)
tools/tables.py --check    exit status 1 if a table or an output differs from its records
"""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "python"))

from doc_tables import rewritten  # noqa: E402


def main() -> int:
    stale = 0
    for page in [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        current = rewritten(text)
        if current == text:
            continue
        if "--check" in sys.argv:
            print(f"{page.name}: not what the records say; run tools/tables.py")
            stale = 1
        else:
            page.write_text(current, encoding="utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
