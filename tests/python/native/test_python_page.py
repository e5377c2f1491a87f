"""docs/python.md and its notebook: their code is executed, and what the page prints is compared."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from native_helpers import ROOT, missing, start

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the documentation, in which results may be written."""
    pytest.importorskip("pandas")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    return tmp_path


def test_the_examples_of_the_page_print_what_they_show(checkout: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").replace("```", "\n")
    assert text.count("\n>>> ") > 15
    (checkout / "page.txt").write_text(text, encoding="utf-8")
    flags = ("-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE")
    job = start([sys.executable, "-m", "doctest", *flags, "page.txt"], checkout).wait()
    assert job.status == 0, job.output


def test_the_cells_of_the_notebook_run(checkout: Path) -> None:
    notebook = json.loads((ROOT / "docs" / "python.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["nbformat"] == 4 and len(cells) > 4
    (checkout / "cells.py").write_text("\n\n".join(cells), encoding="utf-8")
    job = start([sys.executable, "cells.py"], checkout, {"MPLBACKEND": "agg"}).wait()
    assert job.status == 0, job.error
    assert "mpi-slower" not in job.output and "latency 8 B, mpi, host - not enough" in job.output
