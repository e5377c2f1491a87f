"""What is to be run: its options, its variables, and its command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs.spec import JobSpec, Options, parse_environment
from run_helpers import cases


def test_options_are_parsed_once_and_in_order() -> None:
    words = ["--bytes", "8:1K", "--format=osu", "--in-place", "--warmup", "-1", "--repeat"]
    options = Options.parse(words)
    assert list(options.items()) == [
        ("bytes", "8:1K"),
        ("format", "osu"),
        ("in-place", None),
        ("warmup", "-1"),
        ("repeat", None),
    ]
    assert options.words() == [
        *["--bytes", "8:1K", "--format", "osu", "--in-place", "--warmup", "-1", "--repeat"]
    ]
    assert options.text("format") == "osu"
    assert options.text("repeat") == options.text("none") == ""


@pytest.mark.parametrize("words", [["--record="], ["--record", ""], ["--record=--x", "--y"], []])
def test_words_that_look_odd_mean_the_same_again(words: list[str]) -> None:
    options = Options.parse(words)
    assert Options.parse(options.words()) == options


@pytest.mark.parametrize(
    ("parse", "words", "message"),
    [
        *((Options.parse, *case) for case in cases("no options")),
        *((parse_environment, *case) for case in cases("no variables")),
    ],
)
def test_words_that_are_none_are_refused(
    parse: Callable[[list[str]], object], words: list[str], message: str
) -> None:
    with pytest.raises(CommlensError) as error:
        parse(words)
    assert str(error.value).startswith(message)


def test_some_options_replace_others() -> None:
    options = Options({"memory": "host", "repeat": "10"})
    device = Options.parse(["--memory=device"])
    assert options.replaced_by(device).words() == ["--repeat", "10", "--memory", "device"]
    assert options.without("memory") == Options({"repeat": "10"})


def test_a_job_is_a_command_line_of_the_native_program() -> None:
    job = JobSpec("latency", Options({"bytes": "8", "in-place": None}), ranks=2)
    assert job.program(Path("/b")) == [
        *["/b", "latency", "--expect-ranks", "2", "--bytes", "8", "--in-place"]
    ]
    # The file comes first: an option that lacks its value must not take ours for it.
    with_file = JobSpec("latency", Options({"bytes": None}), ranks=2)
    words = ["--record", "r.jsonl", "--expect-ranks", "2"]
    assert with_file.program(Path("/b"), Path("r.jsonl")) == ["/b", "latency", *words, "--bytes"]


def test_a_job_is_printed_as_run_takes_it() -> None:
    job = JobSpec("fft", Options({"grid": "8"}), 2, {"A": "b c"}, ["--bind-to", "core"], nodes=1)
    settings = "--env 'A=b c' --launcher-args '--bind-to core'"
    assert str(job) == f"fft --grid 8 --ranks 2 --nodes 1 {settings}"


def test_variables_are_parsed() -> None:
    assert parse_environment(["UCX_TLS=self,sm", "A=", "B=c=d"]) == {
        "UCX_TLS": "self,sm",
        "A": "",
        "B": "c=d",
    }
