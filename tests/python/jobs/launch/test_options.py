from __future__ import annotations

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs.options import Options
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


@pytest.mark.parametrize(("words", "message"), cases("no options"))
def test_words_that_are_no_options_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(CommlensError) as error:
        Options.parse(words)
    assert str(error.value).startswith(message)


def test_some_options_replace_others() -> None:
    own = Options({"memory": "host", "repeat": "10"})
    device = Options.parse(["--memory=device"])
    assert own.replaced_by(device).words() == ["--repeat", "10", "--memory", "device"]
    assert own.without("memory") == Options({"repeat": "10"})
