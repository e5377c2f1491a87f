"""What users name is read only where it is a file, is written only where nothing is lost, and is
shown without secrets: by every command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commlens.jobs.suite import shipped
from conftest import Commlens, command_line
from record_helpers import write
from sample_records import make_record
from site_helpers import site_file

SECRET = "hunter2"
READERS = [
    ("run", "latency", "--settings", "X"),
    ("run", "X.yaml"),
    ("tune", "latency", "--space", "X", "--dry-run"),
    ("tune", "--resume", "X/search.json"),
    ("tune", "--resume", "X/search.journal"),
    ("job", "./X.yaml", "--", "run", "latency"),
    ("submit", "--attach", "X/job.json"),
    ("show", "X"),
    ("show", "X/a.jsonl"),
    ("compare", "X", "X"),
    ("plot", "X", "--out", "new.png"),
    ("report", "X.json", "--out", "new.html"),
    ("report", "X.html", "--out", "new.html"),
    ("doctor", "X", "--no-runs"),
    ("history", "add", "X"),
    ("history", "export", "--csv", "new.csv", "--store", "X"),
    ("history", "show", "--store", "X"),
    ("history", "merge", "X"),
    ("history", "prune", "--keep", "1", "--store", "X"),
]


def fifo(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def unreadable(path: Path) -> None:
    path.symlink_to("/proc/self/mem")


@pytest.fixture
def limit() -> Iterator[None]:
    """A test that waits for ever fails."""
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("waits for ever"))
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("make", [fifo, endless, huge, unreadable])
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_what_has_no_end_or_cannot_be_read_is_refused(
    words: tuple[str, ...], make: Callable[[Path], None], commlens: Commlens
) -> None:
    named = [word for word in words if "X" in word]
    if named[0].startswith("X/"):  # a file within a folder that is named
        Path("X").mkdir()
        if "journal" in named[0]:
            made = commlens("tune", "latency", "--budget", "1s", "--out", "t")
            assert made.returncode in (0, 1, 4)
            (search,) = Path("t").iterdir()
            (search / "search.journal").unlink()
            Path("X").rmdir()
            search.rename("X")
    make(Path(named[0]))
    run = commlens(*("X" if word.startswith("X/") else word for word in words))
    assert run.returncode in (1, 2) and run.stderr.startswith("commlens: ")
    assert "X" in run.stderr and "Traceback" not in run.stderr and not Path("new.png").exists()


OUTPUTS = [
    ("run", "latency", "--record"),
    ("run", "latency", "--timeline"),
    ("plot", "records.jsonl", "--out"),
    ("report", "records.jsonl", "--out"),
    ("report", "records.jsonl", "--format", "markdown", "--out"),
    ("compare", "records.jsonl", "other.jsonl", "--plot"),
]


@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
@pytest.mark.parametrize("victim", ["notes", "records", "page", "picture", "link"])
def test_an_output_replaces_nothing_else(
    words: tuple[str, ...], victim: str, commlens: Commlens
) -> None:
    for name in ("records.jsonl", "other.jsonl"):
        write(Path(name), *(make_record(bytes=size) for size in (8, 64)))
    texts = {"notes": "my notes\n", "picture": "<svg>mine</svg>", "page": "<!doctype html><p>mine"}
    out = Path("out.svg" if words[-1] == "--plot" or words[0] == "plot" else "out")
    if victim == "link":
        out.symlink_to("records.jsonl")
    else:
        out.write_text(texts.get(victim) or Path("records.jsonl").read_text())
    before = out.read_bytes()
    run = commlens(*words, out)
    if words[-1] == "--record" and victim in ("records", "link"):  # they are added
        assert run.returncode == 0 and out.read_bytes().startswith(before)
        return
    assert run.returncode == 2 and "out" in run.stderr and "name another file" in run.stderr
    assert out.read_bytes() == before and not Path("results").exists()


def test_what_commlens_wrote_is_replaced_but_no_input(commlens: Commlens) -> None:
    write(Path("records.jsonl"), *(make_record(bytes=size) for size in (8, 64)))
    for name in ("a.svg", "a.png", "a.pdf"):
        for _ in range(2):
            assert commlens("plot", "records.jsonl", "--out", name).returncode == 0
    for words in (("a.html",), ("a.md", "--format", "markdown")):
        for _ in range(2):
            assert commlens("report", "records.jsonl", "--out", *words).returncode == 0
    for words in (("a.png",), ("a.md",), ("new.html", "--format", "markdown")):
        other = commlens("report", "records.jsonl", "--out", *words)
        assert other.returncode == 2 and "a report is HTML, or Markdown" in other.stderr
        assert other.stderr.count("\n") == 1 and not Path("new.html").exists()
    assert "this command reads it" in commlens("report", "a.html", "--out", "a.html").stderr
    both = commlens("run", "latency", "--record", "t.json", "--timeline", "./t.json")
    assert both.returncode == 2 and "it is the file of --record" in both.stderr


SUITE = f"""
runs:
- benchmark: latency
  environment: {{MY_TOKEN: {SECRET}1, URL: "https://h/?sig={SECRET}2", HDR: Bearer {SECRET}3}}
  launcher_args: -x MY_PASSWORD={SECRET}4
"""
SPACE = f"""
title: t
settings:
- {{name: UCX_TOKEN, meaning: m, values: [{SECRET}5]}}
- {{name: UCX_URL, meaning: m, values: ["https://me:{SECRET}6@host"]}}
"""
WRITERS = [
    ("run", "mine.yaml", "--dry-run"),
    ("run", "mine.yaml"),
    ("run", "latency", "--env", f"UCX_TOKEN={SECRET}", "--env", f"UCX_TOKEN={SECRET}"),
    ("tune", "latency", "--space", "space.yaml", "--dry-run"),
    ("tune", "latency", "--space", "space.yaml", "--budget", "20s", "--launches", "2"),
    ("compare", "--run", "latency", "--a", f"UCX_TOKEN={SECRET}7", "--b", f"UCX_TOKEN={SECRET}8"),
]


@pytest.mark.parametrize("words", WRITERS, ids=lambda words: " ".join(words)[:40])
def test_no_writer_has_a_secret(words: tuple[str, ...], commlens: Commlens) -> None:
    Path("mine.yaml").write_text(SUITE)
    Path("space.yaml").write_text(SPACE)
    run = commlens(*words)
    assert "***" in run.stdout + run.stderr or "is set twice" in run.stderr
    assert SECRET not in run.stdout + run.stderr
    # A search keeps what it needs to go on and to be used, for its user alone.
    to_be_used = {"search.json", "search.journal", "best.env", "launch.txt", "ucx.conf"}
    for path in Path.cwd().rglob("results/**/*"):
        if path.is_file() and path.name not in to_be_used:
            assert SECRET.encode() not in path.read_bytes(), path


ODD_SITES = [
    ({"title": "a\nrm -rf x"}, "single line"),
    ({"source": "a\x1b[31m"}, "single line"),
    ({"queue": "a\n#SBATCH --x"}, "single line"),
    ({"site": "../../x"}, "cannot be the name of a folder"),
    ({"directives": ["--x={nodes[0]}"]}, "in braces there can be"),
    ({"directives": ["--x={nodes.real}"]}, "in braces there can be"),
    ({"launcher_arguments": ["{nodes:>99999999}"]}, "in braces there can be"),
]


@pytest.mark.parametrize(("changes", "message"), ODD_SITES, ids=lambda value: str(value)[:30])
def test_a_site_puts_nothing_into_a_script(
    changes: dict[str, object], message: str, commlens: Commlens
) -> None:
    run = commlens(
        "job",
        site_file("slurm", **{name: json.dumps(text) for name, text in changes.items()}),
        "--",
        "run",
        "latency",
    )
    assert run.returncode == 2 and message in run.stderr and run.stdout == ""


def test_a_script_has_each_word_in_its_line(commlens: Commlens) -> None:
    words = (site_file("slurm"), "--", "run", "latency", "--env", "A=b\ntouch evil\t\x1b[31m'\\")
    script = commlens("job", *words).stdout
    planned = commlens("submit", site_file("slurm"), "--dry-run", *words[1:]).stdout
    assert planned.endswith(script) and script.replace("\n", "").isprintable()
    assert not [line for line in script.splitlines() if line.startswith("touch")]
    (quoted,) = {word for word in script.split(" ") if word.startswith("$'A=b")}
    line = next(line for line in script.splitlines() if not line.startswith("#") and quoted in line)
    value = line[line.index("$'A") : line.rindex("'") + 1]
    done = subprocess.run(["bash", "-c", f"printf %s {value}"], capture_output=True, check=True)
    assert done.stdout == b"A=b\ntouch evil\t\x1b[31m'\\"


@pytest.mark.parametrize("words", [
    ("run", "latncy"), ("run", "latency", "--byts", "8"), ("run", "latency", "--ranks", "0"),
    ("run", "none.yaml"), ("run",), ("run", "latency", "--launcher", "nosuch"),
])  # fmt: skip
def test_a_job_is_checked_as_it_would_be_run(words: tuple[str, ...], commlens: Commlens) -> None:
    run = commlens("job", "generic-slurm", "--", *words)
    assert run.returncode == 2 and run.stdout == "" and run.stderr.startswith("commlens: ")


@pytest.mark.parametrize("first", [0.2, 0.5, 0.8])
def test_an_interrupt_of_imports_is_no_traceback(first: float) -> None:
    """While Python itself begins, it is not ours to prevent."""
    code = "import commlens.__main__ as c, sys; print('here', flush=True); c.main()"
    words = [sys.executable, "-c", code, *command_line("list")[3:]]
    began = time.monotonic()
    subprocess.run(words, capture_output=True, check=True)
    whole = time.monotonic() - began
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "here\n"
    time.sleep(first * whole)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert "Traceback" not in error and process.returncode in (0, 130, -signal.SIGINT)


def test_an_interrupt_that_python_would_ignore_ends_the_command() -> None:
    code = """
import commlens.__main__, commlens.cli
class Interrupted:
    def __del__(self):
        raise KeyboardInterrupt
def main():
    Interrupted()
    print("went on")
commlens.cli.main = main
commlens.__main__.main()"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize(("name", "message"), [
    (sys.executable, "is linked to no MPI library"), ("text", "is no program"), ("empty", "is no"),
    ("none", "there is no such program"),
])  # fmt: skip
def test_doctor_refuses_what_uses_no_mpi(name: str, message: str, commlens: Commlens) -> None:
    Path("text").write_text("hello")
    Path("empty").touch()
    run = commlens("doctor", name, "--no-runs")
    assert run.returncode == 2 and message in run.stderr and run.stdout == ""


@pytest.mark.parametrize("name", [name for name in shipped() if name.startswith("gpu-")])
def test_a_suite_for_gpus_ends_at_once_without_any(name: str, commlens: Commlens) -> None:
    run = commlens("run", name)
    assert run.returncode == 2 and f"{name} needs GPUs" in run.stderr and run.stdout == ""
    assert not Path("results").exists() and commlens("run", name, "--dry-run").returncode == 0
