"""Input that nobody has thought of, made by hypothesis: each is run or refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commlens.base.errors import CommlensError
from commlens.jobs import suite
from commlens.jobs.spec import Options
from conftest import Commlens
from run_helpers import cases

# What numbers, names, paths and texts go wrong with.
ODD = st.sampled_from([*cases("odd values"), "9" * 5000])
TEXT = ODD | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))
NAMES = st.sampled_from(cases("options of any kind"))
WORDS = st.lists(
    st.builds("--{}={}".format, NAMES, TEXT) | st.builds("--{}".format, NAMES) | TEXT, max_size=4
)
BENCHMARKS = st.sampled_from(["latency", "allreduce", "quick", "none.yaml", "nosuch"]) | TEXT
VALUES = st.recursive(
    TEXT | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["benchmark", "options", "ranks", "environment", "launcher_args", "launches", "x"]
)
ENTRIES = st.dictionaries(KEYS, VALUES, max_size=4) | VALUES
SUITES = st.fixed_dictionaries(
    {"runs": st.lists(ENTRIES, max_size=3) | VALUES}, optional={"name": VALUES, "more": VALUES}
)

quick = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_one_sentence(text: str) -> None:
    assert text.strip()
    assert "Traceback" not in text and "Error(" not in text


def assert_one_line(text: str) -> None:
    (line,) = text.splitlines()
    assert line.startswith("commlens: ") and len(line) < 1000
    assert_one_sentence(line)


@settings(quick, max_examples=40)
@given(BENCHMARKS, WORDS)
def test_any_command_line(commlens: Commlens, benchmark: str, words: list[str]) -> None:
    run = commlens("run", benchmark, "--dry-run", *words)
    assert run.returncode in (0, 2), run.stderr
    if run.returncode == 2:
        assert_one_line(run.stderr)
        assert run.stdout == ""
    assert list(Path.cwd().iterdir()) == [], "a dry run leaves nothing behind"


@settings(quick, max_examples=200)
@given(st.lists(TEXT | st.builds("--{}".format, TEXT), max_size=6))
def test_any_options(words: list[str]) -> None:
    try:
        options = Options.parse(words)
    except CommlensError as error:
        assert_one_sentence(str(error))
    else:
        assert Options.parse(options.words()).words() == options.words()


@settings(quick, max_examples=150)
@given(SUITES)
def test_any_suite(data: object) -> None:
    check(yaml.safe_dump(data, allow_unicode=True))


@settings(quick, max_examples=300)
@given(TEXT.map(lambda text: f"name: {text}\nruns: [{{benchmark: latency}}]") | TEXT)
def test_any_text(text: str) -> None:
    check(text)


def check(text: str) -> None:
    """It is a suite whose folder is below --out, or refused."""
    try:
        loaded = suite.parse(text, "mine.yaml")
    except CommlensError as error:
        assert_one_sentence(str(error))
        return
    assert loaded.entries
    assert Path("out", loaded.name).parent == Path("out")
    for entry in loaded.entries:
        for word in entry.options.words():
            assert "\0" not in word


@pytest.mark.parametrize("depth", [100, 10_000, 100_000])
def test_nesting_without_end(depth: int) -> None:
    for text in ("[" * depth, "{a: " * depth, "\n".join("  " * i + "- a:" for i in range(100))):
        with pytest.raises(CommlensError):
            suite.parse(text, "mine.yaml")
