"""What the operating system shows: files, commands and the environment, or recordings of them.

Whatever looks at a machine asks a System, so that tests can show it the files and outputs of
machines that are not here (RecordedSystem in tests/python). Nothing here raises: what cannot be
seen is None, with its reason.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from msgspec import Struct

from commlens.base.text import printable
from commlens.machine.load import measure_load
from commlens.model.results import Interference

TIME_LIMIT_S = 10.0  # of a command that looks at something
_LARGEST = 8 * 2**20  # bytes that are read of a file or an output
_CHUNK = 2**16
_CGROUP = "/sys/fs/cgroup"
_LONGEST_LINE = 200  # characters of a command's own message
_POLL_S = 0.5  # between looks at what a command has written so far
_TIME_TO_DIE_S = 1.0  # of a command that was killed


class Seen(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """A part of a machine as it was seen; what could not be seen is None."""


class PartView(Seen, frozen=True, kw_only=True):
    """All of one kind, and why some of it could not be seen."""

    unseen: dict[str, str] = {}


@dataclass(frozen=True)
class Output:
    """What a command wrote, or why there is nothing."""

    command: str  # as one would type it
    text: str = ""  # standard output
    error: str = ""  # standard error
    status: int = 0
    missing: str = ""  # why it did not run to its end: "not installed", "took longer than 10 s"

    @property
    def ok(self) -> bool:
        """Whether the command ran to its end, with status 0."""
        return not self.missing and self.status == 0

    @property
    def why_not(self) -> str:
        """`nvidia-smi -L: not installed`; empty where it ran well."""
        if self.ok:
            return ""
        lines = (self.error or self.text).strip().splitlines()
        said = f": {printable(lines[0])[:_LONGEST_LINE]}" if lines else ""
        return f"{self.command}: {self.missing or f'exit status {self.status}{said}'}"


class System:
    """The machine that this process runs on; tests have recordings of others."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """`environment`: by default that of this process."""
        self.environment = dict(os.environ) if environment is None else environment

    def read(self, path: str) -> str | None:
        """The text of a file with an absolute path, or its beginning where it is large; None where
        it cannot be read."""
        try:
            if not Path(path).is_file():
                return None  # a pipe or a device: reading it could wait for ever
            with Path(path).open("rb", buffering=0) as file:
                return b"".join(_chunks(file)).decode(errors="replace")
        except (OSError, ValueError):
            return None

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted; empty where it is none. Odd names are left out."""
        try:
            names = (entry.name for entry in Path(path).iterdir())
            return sorted(name for name in names if name.isprintable())
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        """Where a symbolic link leads; None where it is none."""
        try:
            return printable(str(Path(path).readlink()))
        except OSError:
            return None

    def find(self, program: str) -> str | None:
        """The path of a program on PATH."""
        return shutil.which(program, path=self.environment.get("PATH"))

    def load(self) -> Interference | None:
        """What uses the cores now, which takes half a second; None where it cannot be read."""
        return measure_load()

    def run(self, *command: str, time_limit_s: float = TIME_LIMIT_S) -> Output:
        """What a command writes, in English; it is ended when its time is over."""
        typed = " ".join(command)
        program = self.find(command[0])
        if program is None:
            return Output(typed, missing="not installed")
        try:
            return _run([program, *command[1:]], self.environment, typed, time_limit_s)
        except OSError as error:
            return Output(typed, missing=f"cannot be started: {error.strerror}")


def line_of(system: System, path: str) -> str | None:
    """The text of a file with one line, for a terminal; None where there is none."""
    return line(system.read(path)) or None


def line(text: str | None) -> str:
    """A text of one line, for a terminal, and not longer than anybody reads."""
    return printable((text or "").strip())[:_LONGEST_LINE]


def group_in(text: str | None, pattern: str) -> str | None:
    """What the group of a pattern, in which ^ and $ are the ends of a line, matches in a text."""
    match = re.search(pattern, text or "", re.MULTILINE)
    return match[1] if match else None


def control_groups(system: System, controller: str) -> Iterator[str]:
    """The folders of this process's control group and of those around it, which limit it, too.

    In a container the path may be that outside of it; then its own group is at the top.
    """
    for entry in (system.read("/proc/self/cgroup") or "").splitlines():
        _, names, path = (*entry.split(":", 2), "", "")[:3]
        if names and controller not in names.split(","):
            continue
        root = f"{_CGROUP}/{names}" if names else _CGROUP
        if names and not system.names(root):
            root = f"{_CGROUP}/{controller}"
        pieces = [piece for piece in path.split("/") if piece and piece != ".."]
        for top in (root,) if names else (root, f"{root}/unified"):
            for count in range(len(pieces), -1, -1):
                yield "/".join((top, *pieces[:count]))


def _run(
    command: Sequence[str], environment: Mapping[str, str], typed: str, time_limit_s: float
) -> Output:
    # Files, not pipes: a child that is left over cannot keep us waiting for the end of a file,
    # and what was written before the time was over is kept.
    with TemporaryFile() as out, TemporaryFile() as error:
        process = subprocess.Popen(
            command,
            env={**environment, "LC_ALL": "C"},  # messages in English: they are parsed
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=error,
            start_new_session=True,
        )
        missing = _wait(process, (out, error), time_limit_s)
        return Output(typed, _text(out), _text(error), process.returncode or 0, missing)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    """Small ones: below /proc/sys the kernel refuses to read many megabytes at once."""
    for _ in range(_LARGEST // _CHUNK):
        data = file.read(_CHUNK)
        if not data:
            return
        yield data


def _wait(process: subprocess.Popen[bytes], files: tuple[IO[bytes], ...], limit_s: float) -> str:
    """Why it was ended, if it was; nothing of it is left on this machine."""
    deadline = time.monotonic() + limit_s
    missing = ""
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                missing = f"took longer than {limit_s:g} s"
                break
            if any(os.fstat(file.fileno()).st_size > _LARGEST for file in files):
                missing = f"wrote more than {_LARGEST // 2**20} MiB"
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        # A process that hangs in the driver ends when the driver lets it, or never.
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TIME_TO_DIE_S)
    return missing


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_LARGEST).decode(errors="replace")
