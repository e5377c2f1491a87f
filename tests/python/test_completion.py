"""What a shell offers at the cursor."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from conftest import Commlens
from run_helpers import executable, wait_for


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("commlens his", ["history"]),
        ("commlens history ex", ["export"]),
        ("commlens run lat", ["latency"]),
        ("commlens run qui", ["quick"]),
        ("commlens run latency allred", ["allreduce"]),
        ("commlens tune lat", ["latency"]),
        ("commlens job front", ["frontier"]),
        ("commlens run latency --launcher sr", ["srun"]),
        ("commlens history show --format j", ["json"]),
        ("commlens show x --findings ", ["worst", "all"]),
        ("commlens profile --reference cp", ["cp2k-fft"]),
        ("commlens completion f", ["fish"]),
        ("commlens run latency --ran", ["--ranks", "--ranks-per-node"]),
        ("commlens run nothing --tra", []),
        ("commlens run --ranks 2 --ranks 2 lat", []),  # a mistake is told when it is called
    ],
)
def test_names_options_and_values(line: str, offered: list[str], commlens: Commlens) -> None:
    number = str(len(line.split()) - (not line.endswith(" ")))
    environment = {"COMP_WORDS": line, "COMP_CWORD": number, "_COMMLENS_COMPLETE": "bash_complete"}
    run = commlens(**environment)
    assert run.stderr == ""
    assert run.stdout.split() == [f"plain,{word}" for word in offered]


def test_options_of_a_benchmark_and_their_values(commlens: Commlens) -> None:
    from commlens.cli.completion import _in_help

    help_of_benchmark = [
        "Options:",
        "  -h,--help                   Print this help message and exit",
        "  --dtype VALUE [f64]         type of an element (i8, f32, f64)",
        "  --memory VALUE [device if there is a GPU, else host]",
        "                              memory kind of the buffers: host, pinned, device",
        "  --bytes VALUE [none]        size or sizes of the array: 80M, 8:1G (times 2), 8:1G:x8",
        "  --no-parts                  do not measure parts",
    ]
    assert dict(_in_help(help_of_benchmark)) == {
        "--dtype": ["i8", "f32", "f64"],
        "--memory": ["host", "pinned", "device"],
        "--bytes": (),
        "--no-parts": (),
    }
    line = "commlens run latency --transport mpi,st"
    environment = {"COMP_WORDS": line, "COMP_CWORD": "4", "_COMMLENS_COMPLETE": "bash_complete"}
    assert commlens(**environment).stdout == "plain,mpi,staged\n"


@pytest.mark.parametrize("line", ["commlens show res", "commlens run latency --settings be"])
def test_files_are_left_to_the_shell(line: str, commlens: Commlens) -> None:
    words = line.split()
    environment = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    run = commlens(**environment, _COMMLENS_COMPLETE="bash_complete")
    assert run.stdout == f"file,{words[-1]}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str, commlens: Commlens) -> None:
    run = commlens("completion", shell)
    assert run.returncode == 0 and f"_COMMLENS_COMPLETE={shell}_complete" in run.stdout


def test_another_shell_is_refused(commlens: Commlens) -> None:
    run = commlens("completion", "tcsh")
    assert (run.returncode, run.stderr) == (2, "commlens: SHELL tcsh: write bash, zsh or fish\n")


# ---- in the shells themselves ----

COMPLETED = {
    "commlens his": "commlens history",
    "commlens job front": "commlens job frontier",
    "commlens history show --format j": "commlens history show --format json",
    "commlens run latency allred": "commlens run latency allreduce",
}
needs_zsh, needs_fish = (
    pytest.mark.skipif(not shutil.which(shell), reason=f"no {shell}: apt-get install {shell}")
    for shell in ("zsh", "fish")
)


@pytest.fixture
def script(
    request: pytest.FixtureRequest, tmp_path: Path, commlens: Commlens, monkeypatch: MonkeyPatch
) -> Path:
    """What `commlens completion` prints for a shell, which finds the command on its PATH."""
    (tmp_path / "bin").mkdir()
    executable(tmp_path / "bin", "commlens", f'exec {sys.executable} -m commlens "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    made = tmp_path / "script"
    made.write_text(commlens("completion", request.param).stdout)
    return made


@pytest.mark.parametrize("script", ["bash"], indirect=True)
def test_bash_completes(script: Path) -> None:
    for line, completed in COMPLETED.items():
        words = line.split()
        asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _commlens_completion"
        told = f'source {script}; {asked} commlens; echo "${{COMPREPLY[*]}}"'
        bash = subprocess.run(["bash", "--norc", "-c", told], capture_output=True, text=True)
        assert [*words[:-1], bash.stdout.strip()] == completed.split(), bash.stderr


@needs_fish
@pytest.mark.parametrize("script", ["fish"], indirect=True)
def test_fish_completes(script: Path) -> None:
    asked = "\n".join(f'echo "$(complete -C "{line}")"' for line in COMPLETED)
    words = ["fish", "--no-config", "-c", f"source {script}\n{asked}"]
    fish = subprocess.run(words, capture_output=True, text=True)
    offered = [completed.split()[-1] for completed in COMPLETED.values()]
    # Each with its description.
    assert [line.split("\t")[0] for line in fish.stdout.splitlines()] == offered, fish.stderr


@needs_zsh
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
def test_zsh_completes_when_tab_is_pressed(script: Path) -> None:
    # Tab, and a key that appends the line to a file instead of running it.
    keys = """show() { print -r -- "$BUFFER" >>lines; BUFFER=; }; zle -N show; bindkey '^X' show"""
    terminal, of_shell = pty.openpty()
    words = ["zsh", "-f", "-i"]
    with subprocess.Popen(
        words, stdin=of_shell, stdout=of_shell, stderr=of_shell, start_new_session=True
    ) as zsh:
        try:
            begin = f"autoload -Uz compinit; compinit -u -D; source {script}; {keys}; : >lines\n"
            os.write(terminal, begin.encode())
            wait_for(Path("lines").exists)
            for number, line in enumerate(COMPLETED, 1):
                os.write(terminal, f"{line}\t\x18".encode())
                wait_for(partial(_has_lines, number))
        finally:
            zsh.kill()
            os.close(terminal)
            os.close(of_shell)
    lines = Path("lines").read_text().splitlines()
    assert [line.strip() for line in lines] == [*COMPLETED.values()]


def _has_lines(number: int) -> bool:
    return Path("lines").read_text().count("\n") >= number
