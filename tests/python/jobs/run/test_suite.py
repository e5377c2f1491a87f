from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs import suite
from commlens.jobs.native import find_native
from commlens.jobs.options import Options
from commlens.jobs.spec import JobSpec, resolve

RUNS = "runs:\n  - benchmark: latency\n"


def test_values_stay_as_they_are_written() -> None:
    options = "{bytes: 8:32, count: 010, transport: [mpi, staged], in-place: true}"
    entry = suite.parse(RUNS + f"    options: {options}", "mine.yaml").entries[0]
    assert entry.options.words() == [
        *["--bytes", "8:32"], *["--count", "010"], *["--transport", "mpi,staged"], "--in-place",
    ]  # fmt: skip


def test_an_entry_says_how_it_is_launched() -> None:
    text = (
        RUNS + "    ranks: 4\n    launches: 3\n    environment: {UCX_TLS: n, NCCL_DEBUG: 010}\n"
        "    launcher_args: --bind-to core --host 'a b'\n  - benchmark: fft\n"
    )
    entry, plain = suite.parse(text, "mine.yaml").entries
    assert (entry.ranks, entry.launches) == (4, 3)
    assert entry.environment == {"UCX_TLS": "n", "NCCL_DEBUG": "010"}
    assert entry.launcher_arguments == ["--bind-to", "core", "--host", "a b"]
    assert plain == JobSpec("fft", launcher_arguments=[], launches=1, where="mine.yaml, entry 2")


def test_a_key_is_accepted_by_its_former_name() -> None:
    (entry,) = suite.parse(RUNS + "    starts: 3\n", "mine.yaml").entries
    assert entry.launches == 3
    with pytest.raises(CommlensError, match="'starts' is the former name of 'launches'; leave it"):
        suite.parse(RUNS + "    starts: 3\n    launches: 3\n", "mine.yaml")


def test_the_command_line_replaces_what_the_suite_says() -> None:
    own = JobSpec("latency", Options({"memory": "host"}), 2, {"A": "1", "B": "2"}, ["-v"], 3)
    said = JobSpec("", Options({"memory": "device"}), 4, {"A": "3"}, ["-q"], 5)
    assert own.overridden_by(said) == JobSpec(
        "latency", Options({"memory": "device"}), 4, {"A": "3", "B": "2"}, ("-v", "-q"), 5
    )
    assert own.overridden_by(JobSpec()) == JobSpec(
        "latency", own.options, 2, own.environment, ("-v",), 3
    )


NO_RANKS = "mine.yaml, entry 1: 'ranks' must be a whole number from 1 to 1,000,000, not"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs: [a: b\n", "mine.yaml, line 2: not YAML"),
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
            "environment, launcher_args, launches",
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
            RUNS + "    launches: 0",
            "mine.yaml, entry 1: 'launches' must be a whole number from 1 to 10,000, not '0'",
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
def test_a_mistake_is_named_with_its_fix(text: str, message: str) -> None:
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
        resolve(wanted.entries, find_native())


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{RUNS}name: ../../x", "mine.yaml: 'name' '../../x' cannot be that of a folder; write"),
        (f"{RUNS}name: /tmp/x", "mine.yaml: 'name' '/tmp/x' cannot be that of a folder"),
        (f"{RUNS}name: ''", "mine.yaml: 'name' '' cannot be that of a folder"),
        (f"{RUNS}name: ..", "mine.yaml: 'name' '..' cannot be that of a folder"),
        (f'{RUNS}name: "a\\e[31m"', r"mine.yaml: 'name' 'a\x1b[31m' cannot be that of a folder"),
        (f"{RUNS}name: {'x' * 300}", "mine.yaml: 'name' 'xxx"),
        (f"{RUNS}runs: []", "mine.yaml, line 3: 'runs' stands there twice; leave one out"),
        (
            f"{RUNS}    options: {{repeat: 1, repeat: 2}}",
            "mine.yaml, line 3: 'repeat' stands there twice; leave one out",
        ),
        (
            f"{RUNS}    options: {{repeat: 1, --repeat: 2}}",
            "mine.yaml, entry 1: option 'repeat' stands there twice; leave it out",
        ),
        (f"{RUNS}    options: {{'': 1}}", "mine.yaml, entry 1: '' is no option; leave it out"),
        (f"{RUNS}    ranks: {DIGITS}", f"{NO_RANKS} '999"),
        (f"{RUNS}    launches: {DIGITS}", "mine.yaml, entry 1: 'launches' must be a whole number"),
        (
            f'{RUNS}    options: {{memory: "host\\0"}}',
            "mine.yaml, line 3: a NUL character cannot be in a value",
        ),
        (
            f'{RUNS}    environment: {{A: "\\0"}}',
            "mine.yaml, line 3: a NUL character cannot be in a value",
        ),
        ("[" * 100_000, "mine.yaml, line 1: lists and mappings are nested too deeply"),
        ("runs: &a [*a]", "mine.yaml, line 1: not YAML (found unconstructable recursive node)"),
        ("--- a\n--- b", "mine.yaml, line 2: not YAML"),
    ],
    ids=lambda text: text[:40],
)
def test_what_no_suite_says_is_refused(text: str, message: str) -> None:
    with pytest.raises(CommlensError) as error:
        suite.parse(text, "mine.yaml")
    assert str(error.value).startswith(message)
    assert len(str(error.value)) < 500


def test_a_file_that_is_no_suite_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(1 << 40)
    for name, message in {
        "fifo": "is a device or a pipe: name a YAML file",
        "zero": "is a device or a pipe: name a YAML file",
        "folder": "is a folder: name a YAML file",
        "loop": "cannot be read: Too many levels of symbolic links",
        "large": "is larger than 16 MiB",
    }.items():
        with pytest.raises(CommlensError) as error:
            suite.load(str(tmp_path / f"{name}.yaml"))
        assert str(error.value) == f"{tmp_path / name}.yaml {message}"


def test_an_ending_in_capitals_is_one() -> None:
    assert suite.is_suite("MINE.YAML") and suite.is_suite("mine.Yml")


def test_a_file_whose_name_is_none_for_a_folder_needs_a_name() -> None:
    with pytest.raises(CommlensError, match=r"the file's name '\.x' cannot be that of a folder"):
        suite.parse(RUNS, ".x.yaml")
    assert suite.parse(f"{RUNS}name: x", ".x.yaml").name == "x"


def test_ten_thousand_entries_are_checked_by_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    native = find_native()
    loaded = suite.parse("runs:\n" + RUNS.partition("\n")[2] * 10_000, "mine.yaml")
    started: list[object] = []
    run = subprocess.run

    def counted(command: list[str], **settings: Any) -> Any:
        started.append(command)
        return run(command, **settings)

    monkeypatch.setattr(subprocess, "run", counted)
    assert len(resolve(loaded.entries, native)) == 10_000
    assert len(started) <= 3, "what the build has, its benchmarks, and the check"


def test_a_mistake_of_the_command_line_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = suite.parse(RUNS + "  - benchmark: fft\n", "mine.yaml")
    said = JobSpec(options=Options({"grid": "8"}))
    with pytest.raises(CommlensError, match=r"^mine.yaml, entry 1: no option '--grid'"):
        resolve([entry.overridden_by(said) for entry in loaded.entries], find_native())


def test_the_shipped_suites_are_sound() -> None:
    assert "quick" in suite.shipped()
    for name in suite.shipped():
        loaded = suite.load(name)
        assert loaded.name == name
        assert loaded.description
        resolve(loaded.entries, find_native())


def test_a_missing_file_is_named() -> None:
    with pytest.raises(CommlensError, match=r"none.yaml cannot be read: No such file"):
        suite.load("none.yaml")
