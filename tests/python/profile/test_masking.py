"""Command lines without what they say in confidence, and odd ones, in tables and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Commlens
from profile_helpers import Mpi
from sample_records import make_profile


def test_no_secret_is_stored_shown_or_drawn(mpi: Mpi, commlens: Commlens) -> None:
    words = ("--password=hunter2", "costs 5$ or $6")
    run = mpi.profile(mpi.compile("endings.c"), *words, options=("--plot",))
    assert run.record["command"][-2:] == ["--password=***", "costs 5$ or $6"]
    assert commlens("plot", "out", "--out", "picture.svg").returncode == 0
    for text in (run.output, Path("picture.svg").read_text()):
        assert "hunter2" not in text
    assert list(Path("out").glob("*.png"))
    assert not [file for file in Path("out").rglob("*") if b"hunter2" in file.read_bytes()]


def test_a_name_that_is_not_utf8(mpi: Mpi) -> None:
    program = mpi.compile("endings.c")
    run = mpi.profile(program, "\udcc3\x1b[31m", options=("--plot",))
    assert run.status == 0, run.error
    assert "\x1b" not in run.output
    assert "picture:" in run.output


@pytest.mark.parametrize("name", [r"$\frac{$", "a\nb", "x" * 3000])
def test_odd_names_are_shown_and_drawn(commlens: Commlens, name: str) -> None:
    Path("odd.jsonl").write_text(json.dumps(make_profile(command=[name], program=name)) + "\n")
    assert commlens("show", "odd.jsonl").returncode == 0
    assert commlens("plot", "odd.jsonl", "--out", "odd.png").returncode == 0
