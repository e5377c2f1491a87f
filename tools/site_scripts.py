#!/usr/bin/env python3
"""Writes the job script of each site into docs/sites.md, below the heading of its name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from commlens.jobs.sites import site  # noqa: E402
from commlens.jobs.sites.script import Request, render  # noqa: E402

PAGE = ROOT / "docs" / "sites.md"
WORDS = ("run", "gather-scatter", "bps5", "bp5")


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in site.names():
        loaded = site.load(name)
        account = "" if loaded.account == "none" else "CSC262"
        script = render(loaded, Request(1, 30, WORDS, account), "commlens")
        block = re.compile(rf"(### {name}\n.*?```bash\n).*?(```)", re.DOTALL)
        page, count = block.subn(lambda match, text=script: match[1] + text + match[2], page, 1)
        if not count:
            sys.exit(f"{PAGE}: there is no heading {name} with a block of bash")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
