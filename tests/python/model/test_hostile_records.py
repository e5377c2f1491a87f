"""Whatever stands in a file of records, `show` and `plot` end with a status and a sentence.

COMMLENS_EXAMPLES=20000 tries that many files instead of a few.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from conftest import Commlens
from hostile import ESCAPES, files, paths, replaced, samples, text_of, value_at

EXAMPLES = int(os.environ.get("COMMLENS_EXAMPLES", "0"))
few = settings(
    max_examples=EXAMPLES or 200,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def assert_clear(commlens: Commlens, *words: object) -> str:
    """Runs the command, which must not end by an exception, and returns what it wrote."""
    done = commlens(*words)
    assert done.returncode in (0, 1, 2)
    said = done.stderr.splitlines()
    assert all(line.startswith("commlens: ") for line in said), said
    assert said or done.returncode == 0
    written = done.stdout + done.stderr
    assert written.replace("\n", "").isprintable(), written
    return written


@given(text=files())
@few
def test_show_survives_any_record(text: str, commlens: Commlens) -> None:
    Path("records.jsonl").write_text(text, encoding="utf-8")
    assert_clear(commlens, "show", "records.jsonl")


@given(text=files())
@settings(few, max_examples=EXAMPLES // 10 or 12)
def test_plot_survives_any_record(text: str, commlens: Commlens) -> None:
    Path("records.jsonl").write_text(text, encoding="utf-8")
    assert_clear(commlens, "plot", "records.jsonl", "--out", "picture.svg")


@pytest.mark.parametrize(
    "file", samples(), ids=lambda file: file[-1].get("benchmark") or file[-1].get("kind", "profile")
)
def test_no_text_of_a_record_reaches_the_terminal_as_it_is(
    file: list[dict[str, Any]], commlens: Commlens
) -> None:
    """Each text by itself, as one wrong name may hide all others; those of one kind just once."""
    tried: set[object] = set()
    for number, line in enumerate(file):
        for path in paths(line):
            value = value_at(line, path)
            place = number if number < 2 else 1, *("#" if type(k) is int else k for k in path)
            if isinstance(value, str) and place not in tried:
                tried.add(place)
                changed = replaced(line, path, value + ESCAPES)
                lines_changed = [*file[:number], changed, *file[number + 1 :]]
                Path("records.jsonl").write_text("".join(map(text_of, lines_changed)))
                assert_clear(commlens, "show", "records.jsonl", "--wide")
    assert len(tried) >= 15
