from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs import suite
from commlens.jobs.native import find_native
from commlens.jobs.spec import JobSpec, Options, resolve
from run_helpers import cases

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


def test_the_command_line_replaces_values_of_the_suite() -> None:
    entry = JobSpec("latency", Options({"memory": "host"}), 2, {"A": "1", "B": "2"}, ["-v"], 3)
    said = JobSpec("", Options({"memory": "device"}), 4, {"A": "3"}, ["-q"], 5)
    assert entry.overridden_by(said) == JobSpec(
        "latency", Options({"memory": "device"}), 4, {"A": "3", "B": "2"}, ("-v", "-q"), 5
    )
    assert entry.overridden_by(JobSpec()) == JobSpec(
        "latency", entry.options, 2, entry.environment, ("-v",), 3
    )


DIGITS = "9" * 5000
ENDLESS = [
    (f"{RUNS}name: {'x' * 300}", "mine.yaml: 'name' 'xxx"),
    (f"{RUNS}    ranks: {DIGITS}", "mine.yaml, entry 1: 'ranks' must be a whole number"),
    (f"{RUNS}    launches: {DIGITS}", "mine.yaml, entry 1: 'launches' must be a whole number"),
    ("[" * 100_000, "mine.yaml, line 1: lists and mappings are nested too deeply"),
]


@pytest.mark.parametrize(
    ("text", "message"), [*cases("mistakes in suites"), *ENDLESS], ids=lambda text: text[:40]
)
def test_a_mistake_is_named_with_its_fix(text: str, message: str) -> None:
    with pytest.raises(CommlensError) as error:
        suite.parse(text, "mine.yaml")
    assert str(error.value).startswith(message)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(("run", "message"), cases("unknown names in suites"))
def test_names_are_checked_before_anything_runs(run: str, message: str) -> None:
    wanted = suite.parse(f"runs: [{run}]", "mine.yaml")
    with pytest.raises(CommlensError, match=message.replace("?", "[?]")):
        resolve(wanted.entries, find_native())


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


def test_an_ending_in_capitals_is_accepted() -> None:
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
