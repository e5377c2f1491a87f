import pytest

from commlens import suite
from commlens.errors import CommlensError
from commlens.native import find_native

RUNS = "runs:\n  - benchmark: latency\n"


def test_values_stay_as_they_are_written() -> None:
    options = "{bytes: 8:32, count: 010, transport: [mpi, staged], in-place: true}"
    entry = suite.parse(RUNS + f"    options: {options}", "mine.yaml").entries[0]
    assert suite.arguments(entry.options) == [
        *["--bytes", "8:32"], *["--count", "010"], *["--transport", "mpi,staged"], "--in-place",
    ]  # fmt: skip


def test_options_of_the_command_line_replace_those_of_the_suite() -> None:
    own = {"memory": "host", "repeat": "10"}
    assert suite.arguments(own, ["--memory=device"]) == ["--repeat", "10", "--memory=device"]
    assert suite.arguments(own, ["--memory", "device"]) == ["--repeat", "10", "--memory", "device"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs: [", "mine.yaml, line 1: not YAML"),
        ("a: b: c", "mine.yaml, line 1: not YAML"),
        ("- latency", "mine.yaml: a suite is a mapping with 'name' and 'runs', not a list"),
        ("", "mine.yaml: a suite is a mapping with 'name' and 'runs', not ''|not nothing"),
        ("name: x", "mine.yaml: 'runs' must be a list of benchmarks .*, not nothing"),
        ("runs: latency", "mine.yaml: 'runs' must be a list .*, not 'latency'"),
        ("run: []", "mine.yaml: unknown key 'run'; known are name, description, runs"),
        ("runs: [latency]", "mine.yaml, entry 1: must be a mapping .*, not 'latency'"),
        (RUNS + "  - options: {}", "mine.yaml, entry 2: 'benchmark' is missing"),
        (RUNS + "    option: {}", "mine.yaml, entry 1: unknown key 'option'"),
        (RUNS + "    options: [repeat]", "mine.yaml, entry 1: 'options' must be a mapping .*, not a list"),
        (
            RUNS + "    options: {repeat: {a: b}}",
            "mine.yaml, entry 1: option 'repeat' must be a single value, not a map",
        ),
        (RUNS + "    options: {in-place: false}", "mine.yaml, entry 1: option 'in-place': 'false' is no value; leave"),
        (RUNS + "    ranks: two", "mine.yaml, entry 1: ranks 'two' is no number of ranks; write a whole number"),
        (RUNS + "    ranks: 0", "mine.yaml, entry 1: ranks '0' is no number of ranks"),
    ],
)
def test_a_mistake_is_named_with_its_cure(text: str, message: str) -> None:
    with pytest.raises(CommlensError, match=message):
        suite.parse(text, "mine.yaml")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("{benchmark: latncy}", "mine.yaml, entry 1: no benchmark is called 'latncy': did you mean latency?"),
        (
            "{benchmark: latency, options: {byte: 8}}",
            "mine.yaml, entry 1: latency has no option 'byte': did you mean 'bytes'?",
        ),
        (
            "{benchmark: latency, options: {zzz: 8}}",
            "latency has no option 'zzz': `commlens run latency --help` lists them",
        ),
    ],
)
def test_names_are_checked_before_anything_runs(run: str, message: str) -> None:
    wanted = suite.parse(f"runs: [{run}]", "mine.yaml")
    with pytest.raises(CommlensError, match=message.replace("?", "[?]")):
        suite.check(wanted, find_native())


def test_the_shipped_suites_are_sound() -> None:
    assert "quick" in suite.shipped()
    for name in suite.shipped():
        loaded = suite.load(name)
        assert loaded.name == name
        assert loaded.description
        suite.check(loaded, find_native())


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CommlensError, match=r"none.yaml cannot be read: No such file"):
        suite.load("none.yaml")
