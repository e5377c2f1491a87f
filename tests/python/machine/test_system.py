"""Files, commands and the environment of this machine, and recordings of another's."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import psutil
import pytest

from commlens.machine.system import Output, System
from machine_helpers import RecordedSystem


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System({"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})


def install(folder: Path, name: str, *lines: str) -> None:
    program = folder / name
    program.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def has_ended(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_the_output_of_a_command(system: System, tmp_path: Path) -> None:
    install(tmp_path, "look", 'echo "$1 $LC_ALL"', "echo careful >&2", "exit 3")
    output = system.run("look", "here")
    assert output == Output("look here", "here C\n", "careful\n", 3)
    assert output.why_not == "look here: exit status 3: careful"


def test_a_command_that_is_not_there(system: System) -> None:
    assert system.run("no-such-program", "-q").why_not == "no-such-program -q: not installed"


def test_a_file_that_cannot_be_executed(system: System, tmp_path: Path) -> None:
    install(tmp_path, "broken")
    (tmp_path / "broken").write_bytes(b"\x7fELFnot")
    assert "cannot be started" in system.run("broken").why_not


def test_without_room_for_temporary_files(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("commlens.machine.system.TemporaryFile", full)
    assert system.run("true").why_not == "true: cannot be started: No space left on device"


def test_a_command_that_takes_too_long_is_ended_with_its_children(
    system: System, tmp_path: Path
) -> None:
    install(
        tmp_path,
        "hang",
        "trap '' TERM",
        f"(trap '' TERM; echo $$ >{tmp_path}/ready; exec sleep 1234) &",
        f"echo $! >{tmp_path}/child",
        "echo begun",
        "wait",
    )
    output = system.run("hang", time_limit_s=3)
    assert output.why_not == "hang: took longer than 3 s"
    assert output.text == "begun\n" and not output.ok
    assert has_ended(int((tmp_path / "child").read_text()))


def test_a_child_that_outlives_a_command_holds_up_nothing(system: System, tmp_path: Path) -> None:
    install(tmp_path, "leave", "sleep 1234 &", f"echo $! >{tmp_path}/child", "echo done")
    assert system.run("leave").text == "done\n"
    assert has_ended(int((tmp_path / "child").read_text()))


def test_a_command_that_writes_without_end_is_ended(system: System, tmp_path: Path) -> None:
    install(tmp_path, "flood", "yes")
    output = system.run("flood")
    assert "wrote more than 8 MiB" in output.why_not
    assert len(output.text) <= 8 * 2**20


def test_files_that_cannot_be_read_are_none(system: System, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_bytes(b"caf\xc3\xa9 \xff")
    assert system.read(str(tmp_path / "pipe")) is None
    assert system.read(str(tmp_path)) is None
    assert system.read(str(tmp_path / "absent")) is None
    assert system.read("/with\0zero") is None
    assert system.read(str(tmp_path / "text")) == "caf\u00e9 \N{REPLACEMENT CHARACTER}"


def test_files_of_the_kernel() -> None:
    assert System().read("/proc/sys/kernel/osrelease") == f"{os.uname().release}\n"


def test_a_file_without_end(system: System, tmp_path: Path) -> None:
    with (tmp_path / "long").open("wb") as file:
        file.truncate(20 * 2**20)
    assert len(system.read(str(tmp_path / "long")) or "") == 8 * 2**20


def test_odd_names(system: System, tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()
    (tmp_path / "\033[2J").touch()
    (tmp_path / "link").symlink_to("\033[2J")
    assert system.names(str(tmp_path)) == ["link", "plain"]
    assert system.link(str(tmp_path / "link")) == "?[2J"


def test_a_message_cannot_steer_a_terminal(system: System, tmp_path: Path) -> None:
    install(tmp_path, "rude", r"printf '\033[2Jgone\n' >&2", "exit 1")
    assert "\033" not in system.run("rude").why_not


def test_a_recording(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "modules").write_text("nvidia 1 0\n")
    (tmp_path / "link").symlink_to("../elsewhere")
    system = RecordedSystem(tmp_path, {"lspci -vvv": "text", "ibstat": Output("ibstat", status=1)})
    assert system.read("/proc/modules") == "nvidia 1 0\n"
    assert system.names("/proc") == ["modules"] and system.names("/absent") == []
    assert system.link("/link") == "../elsewhere" and system.link("/proc") is None
    assert system.find("lspci") and not system.find("nvidia-smi")
    assert system.run("lspci", "-vvv") == Output("lspci -vvv", "text")
    assert system.run("ibstat").status == 1
    assert system.run("lspci").missing == "not installed"
