"""What the operating system shows: files, commands and the environment, or recordings of them.

Whatever looks at a machine asks a System, so that tests can show it the files and outputs of
machines that are not here. Nothing here raises: what cannot be seen is None, with its reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

TIME_LIMIT_S = 10.0  # of a command that looks at something
_LARGEST = 8 * 2**20  # bytes that are read of a file or an output


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
        return not self.missing and self.status == 0


class System(Protocol):
    @property
    def environment(self) -> Mapping[str, str]: ...

    def read(self, path: str) -> str | None:
        """The text of a file, with an absolute path; None where it cannot be read."""

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted; empty where it is none."""

    def link(self, path: str) -> str | None:
        """Where a symbolic link leads; None where it is none."""

    def find(self, program: str) -> str | None:
        """The path of a program on PATH."""

    def run(self, *command: str, time_limit_s: float = TIME_LIMIT_S) -> Output: ...


@dataclass(frozen=True)
class ThisSystem:
    """The machine that this process runs on."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def read(self, path: str) -> str | None:
        try:
            with Path(path).open("rb") as file:
                return file.read(_LARGEST).decode(errors="replace")
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        try:
            return os.readlink(path)
        except OSError:
            return None

    def find(self, program: str) -> str | None:
        return shutil.which(program, path=self.environment.get("PATH"))

    def run(self, *command: str, time_limit_s: float = TIME_LIMIT_S) -> Output:
        typed = " ".join(command)
        program = self.find(command[0])
        if program is None:
            return Output(typed, missing="not installed")
        try:
            # Messages in English: they are parsed.
            done = subprocess.run(
                [program, *command[1:]],
                env={**self.environment, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=time_limit_s,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return Output(typed, missing=f"took longer than {time_limit_s:g} s")
        except OSError as error:
            return Output(typed, missing=f"cannot be started: {error.strerror}")
        return Output(typed, _text(done.stdout), _text(done.stderr), done.returncode)


def _text(written: bytes) -> str:
    return written[:_LARGEST].decode(errors="replace")


@dataclass(frozen=True)
class RecordedSystem:
    """Files below `folder`, and the outputs of commands, as a machine once had them.

    A command that is not in `outputs` is not installed.
    """

    folder: Path
    outputs: Mapping[str, Output | str] = field(default_factory=dict)  # by the command as typed
    environment: Mapping[str, str] = field(default_factory=dict)

    def _at(self, path: str) -> Path:
        return self.folder / path.lstrip("/")

    def read(self, path: str) -> str | None:
        return ThisSystem({}).read(str(self._at(path)))

    def names(self, path: str) -> list[str]:
        return ThisSystem({}).names(str(self._at(path)))

    def link(self, path: str) -> str | None:
        return ThisSystem({}).link(str(self._at(path)))

    def find(self, program: str) -> str | None:
        here = any(command.split()[0] == program for command in self.outputs)
        return f"/usr/bin/{program}" if here else None

    def run(self, *command: str, time_limit_s: float = TIME_LIMIT_S) -> Output:
        typed = " ".join(command)
        found = self.outputs.get(typed)
        if found is None:
            return Output(typed, missing="not installed")
        return found if isinstance(found, Output) else Output(typed, found)
