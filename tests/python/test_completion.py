"""What a shell offers at the cursor."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from conftest import Commlens


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
    if shutil.which(shell):
        check = [shell, "--no-execute" if shell == "fish" else "-n"]
        subprocess.run(check, input=run.stdout, text=True, check=True)


def test_another_shell_is_refused(commlens: Commlens) -> None:
    run = commlens("completion", "tcsh")
    assert (run.returncode, run.stderr) == (2, "commlens: SHELL tcsh: write bash, zsh or fish\n")


def test_bash_completes_with_the_script(commlens: Commlens) -> None:
    script = commlens("completion", "bash").stdout
    asked = "COMP_WORDS=(commlens his); COMP_CWORD=1; _commlens_completion commlens his commlens"
    words = ["bash", "--norc", "-c", f'{script}\n{asked}; echo "${{COMPREPLY[*]}}"']
    bash = shutil.which("commlens") and subprocess.run(words, capture_output=True, text=True)
    if not bash:
        pytest.skip("commlens is not installed on the PATH")
    assert bash.stdout == "history\n", bash.stderr
