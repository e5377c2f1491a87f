"""Secrets that someone else has written into a record are not shown, drawn or printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.knowledge.secrets import is_secret, mask_words
from commlens.model import read
from conftest import Commlens
from record_helpers import record, write
from run_helpers import cases
from sample_records import make_profile, make_record
from show_helpers import output

TOP = Path(__file__).parents[3]
TABLE = [
    line.split(" ", 1)
    for line in (TOP / "tests/secrets.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("kind", "variable"), TABLE)
def test_secrets_are_those_of_the_table(kind: str, variable: str) -> None:
    """The same as tests/base/environment_variables_test.cpp."""
    name, _, value = variable.partition("=")
    assert is_secret(name, value) is (kind == "secret")


@pytest.mark.parametrize(("words", "masked"), cases("masked command lines"))
def test_the_words_of_a_command_line_are_masked(words: str, masked: str) -> None:
    assert " ".join(mask_words(words.split())) == masked


def test_no_table_has_a_secret_of_a_record() -> None:
    variables = {"UCX_TLS": "sm", "UCX_PASSWORD": "hunter2", "NCCL_URL": "http://me:hunter2@host"}
    text = make_record(environment=variables, command=["commlens-bench", "--token=hunter2"])
    printed = output(text, wide=True)
    assert "hunter2" not in printed
    assert "UCX_PASSWORD=***" in printed and "UCX_TLS=sm" in printed
    start = record(environment=variables, command=["commlens-bench", "--token=hunter2"]).start
    assert start.command == ["commlens-bench", "--token=***"]


def test_no_picture_shows_a_secret(commlens: Commlens, tmp_path: Path) -> None:
    records = [
        make_record(bytes=size, start=tls, environment={"UCX_TLS": tls, "UCX_PWD": f"hunter2{tls}"})
        for tls in ("a", "b")
        for size in (8, 64)
    ]
    file = write(tmp_path / "records.jsonl", *records)
    assert commlens("plot", file, "--out", "picture.svg").returncode == 0
    picture = Path("picture.svg").read_text(encoding="utf-8")
    assert "UCX_TLS=a" in picture and "hunter2" not in picture


def test_no_profile_holds_a_secret() -> None:
    import json

    text = make_profile(command=["mpirun", "prog", "--password=hunter2"])
    text["environment"] = {"FI_CRED": "hunter2"}
    (profile,) = read([json.dumps(text) + "\n"]).profiles
    assert (profile.command[-1], profile.environment) == ("--password=***", {"FI_CRED": "***"})
