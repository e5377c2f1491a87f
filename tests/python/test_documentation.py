"""The documentation shows what is there: tested examples, tables that records give, links that lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent.parent
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])


def test_the_examples_of_contributing_are_the_files_that_are_tested() -> None:
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- file: (\S+) -->\n```cpp\n(.*?)```\n", text, re.DOTALL)
    assert len(shown) == 3
    for name, code in shown:
        assert code == (TOP / name).read_text(encoding="utf-8"), name


def test_the_tables_are_what_their_records_say() -> None:
    assert subprocess.run([sys.executable, str(TOP / "tools/tables.py"), "--check"], check=False).returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(TOP)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target
