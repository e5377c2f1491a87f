from __future__ import annotations

import pytest

from commlens.errors import CommlensError
from commlens.launch.native import find_native
from commlens.launch.options import Options
from commlens.run import suite
from commlens.run.entry import Entry, Overrides, jobs_of

RUNS = "runs:\n  - benchmark: latency\n"


def test_values_stay_as_they_are_written() -> None:
    options = "{bytes: 8:32, count: 010, transport: [mpi, staged], in-place: true}"
    entry = suite.parse(RUNS + f"    options: {options}", "mine.yaml").entries[0]
    assert entry.options.words() == [
        *["--bytes", "8:32"], *["--count", "010"], *["--transport", "mpi,staged"], "--in-place",
    ]  # fmt: skip


def test_an_entry_says_how_it_is_launched() -> None:
    text = (
        RUNS + "    ranks: 4\n    starts: 3\n    environment: {UCX_TLS: n, NCCL_DEBUG: 010}\n"
        "    launcher_args: --bind-to core --host 'a b'\n  - benchmark: fft\n"
    )
    entry, plain = suite.parse(text, "mine.yaml").entries
    assert (entry.ranks, entry.starts) == (4, 3)
    assert entry.environment == {"UCX_TLS": "n", "NCCL_DEBUG": "010"}
    assert entry.launcher_arguments == ["--bind-to", "core", "--host", "a b"]
    assert plain == Entry("fft", launcher_arguments=[], where="mine.yaml, entry 2")


def test_the_command_line_replaces_what_the_suite_says() -> None:
    own = Entry("latency", Options({"memory": "host"}), 2, {"A": "1", "B": "2"}, ["-v"], 3)
    said = Overrides(Options({"memory": "device"}), 4, {"A": "3"}, ["-q"], 5)
    assert said.applied_to(own) == Entry(
        "latency", Options({"memory": "device"}), 4, {"A": "3", "B": "2"}, ("-v", "-q"), 5
    )
    assert Overrides().applied_to(own) == Entry(
        "latency", own.options, 2, own.environment, ("-v",), 3
    )


NO_RANKS = "mine.yaml, entry 1: 'ranks' must be a whole number from 1 to 1,000,000, not"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs: [", "mine.yaml, line 1: not YAML"),
        ("a: b: c", "mine.yaml, line 1: not YAML"),
        ("- latency", "mine.yaml: a suite is a mapping with 'name' and 'runs', not a list"),
        ("", "mine.yaml: a suite is a mapping with 'name' and 'runs', not nothing"),
        ("name: x", "mine.yaml: 'runs' must be a list (`- benchmark: latency`), not nothing"),
        ("runs: latency", "mine.yaml: 'runs' must be a list (`- benchmark: latency`), not 'lat"),
        ("runs: []", "mine.yaml: 'runs' must be a list (`- benchmark: latency`), not an empty"),
        ("run: []", "mine.yaml: unknown key 'run'; known are runs, name, description"),
        (RUNS + "name: [a]", "mine.yaml: 'name' must be a single value, not a list"),
        ("runs: [latency]", "mine.yaml, entry 1: must be a mapping (`benchmark: latency`), not 'l"),
        (
            RUNS + "  - options: {}",
            "mine.yaml, entry 2: 'benchmark' must be a name from `commlens list`, not nothing",
        ),
        (
            RUNS + "    option: {}",
            "mine.yaml, entry 1: unknown key 'option'; known are benchmark, options, ranks, "
            "environment, launcher_args, starts",
        ),
        (
            RUNS + "    options: [repeat]",
            "mine.yaml, entry 1: 'options' must be a mapping (`options: {repeat: 10}`), not a list",
        ),
        (
            RUNS + "    options: {repeat: {a: b}}",
            "mine.yaml, entry 1: option 'repeat' must be a single value, not a mapping",
        ),
        (
            RUNS + "    options: {repeat: [[1]]}",
            "mine.yaml, entry 1: option 'repeat' must be a single value, not a list",
        ),
        (
            RUNS + "    options: {in-place: false}",
            "mine.yaml, entry 1: option 'in-place': 'false' is no value; leave",
        ),
        (RUNS + "    ranks: two", f"{NO_RANKS} 'two'"),
        (RUNS + "    ranks: 0", f"{NO_RANKS} '0'"),
        (RUNS + "    ranks: 1000001", f"{NO_RANKS} '1000001'"),
        (RUNS + "    ranks:", f"{NO_RANKS} nothing"),
        (
            RUNS + "    starts: 0",
            "mine.yaml, entry 1: 'starts' must be a whole number from 1 to 10,000, not '0'",
        ),
        (
            RUNS + "    environment: [A]",
            "mine.yaml, entry 1: 'environment' must be a mapping (`environment: {UCX_TLS: all}`), "
            "not a list",
        ),
        (
            RUNS + "    environment: {A: [b]}",
            "mine.yaml, entry 1: environment 'A' must be a single value, not a list",
        ),
        (
            RUNS + "    environment: {A B: c}",
            "mine.yaml, entry 1: environment 'A B' cannot be the name of a variable",
        ),
        (
            RUNS + "    launcher_args: [a]",
            "mine.yaml, entry 1: 'launcher_args' must be a single value, not a list",
        ),
        (
            RUNS + "    launcher_args: a 'b",
            'mine.yaml, entry 1: launcher_args "a \'b": no closing quotation',
        ),
    ],
)
def test_a_mistake_is_named_with_its_cure(text: str, message: str) -> None:
    with pytest.raises(CommlensError) as error:
        suite.parse(text, "mine.yaml")
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            "{benchmark: latncy}",
            "mine.yaml, entry 1: no benchmark is called 'latncy': did you mean latency?",
        ),
        (
            "{benchmark: latency, options: {byte: 8}}",
            "mine.yaml, entry 1: no option '--byte': did you mean --bytes?",
        ),
        (
            "{benchmark: latency, options: {zzz: 8}}",
            "no option '--zzz'; see commlens run latency --help",
        ),
    ],
)
def test_names_are_checked_before_anything_runs(run: str, message: str) -> None:
    wanted = suite.parse(f"runs: [{run}]", "mine.yaml")
    with pytest.raises(CommlensError, match=message.replace("?", "[?]")):
        jobs_of(wanted.entries, find_native())


def test_the_shipped_suites_are_sound() -> None:
    assert "quick" in suite.shipped()
    for name in suite.shipped():
        loaded = suite.load(name)
        assert loaded.name == name
        assert loaded.description
        jobs_of(loaded.entries, find_native())


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CommlensError, match=r"none.yaml cannot be read: No such file"):
        suite.load("none.yaml")
