"""Machines that are not here: their files and the outputs of commands, in captured/machine.

They are made up after the formats of these files and programs, as their documentation and what
people publish of them show these; no host is a real one.

A file of a machine has a section for each file and each command (`==> $ lspci <==`), one for the
many files of one line (`path:text`), and one for symbolic links.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType

from commlens.machine.system import TIME_LIMIT_S, Output, System
from commlens.model.results import Interference

_FOLDER = Path(__file__).resolve().parent / "captured" / "machine"
_HEAD = re.compile(r"^==> (.+) <==\n", re.MULTILINE)


class RecordedSystem(System):
    """Files below `folder`, and the outputs of commands, as a machine once had them.

    A command that is not in `outputs`, by the command as typed, is not installed.
    """

    def __init__(
        self,
        folder: Path,
        outputs: Mapping[str, Output | str] = MappingProxyType({}),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(environment)
        self.folder, self.outputs = folder, outputs

    def read(self, path: str) -> str | None:
        return super().read(f"{self.folder}{path}")

    def names(self, path: str) -> list[str]:
        return super().names(f"{self.folder}{path}")

    def link(self, path: str) -> str | None:
        return super().link(f"{self.folder}{path}")

    def find(self, program: str) -> str | None:
        here = any(command.split()[0] == program for command in self.outputs)
        return f"/usr/bin/{program}" if here else None

    def load(self) -> Interference | None:
        return None  # it is of a moment

    def run(self, *command: str, time_limit_s: float = TIME_LIMIT_S) -> Output:
        typed = " ".join(command)
        output = self.outputs.get(typed)
        if output is None:
            return Output(typed, missing="not installed")
        return output if isinstance(output, Output) else Output(typed, output)


def recorded(
    folder: Path,
    name: str,
    files: Mapping[str, str] | None = None,
    outputs: Mapping[str, Output | str] | None = None,
    environment: Mapping[str, str] | None = None,
    replaced: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    absent: Sequence[str] = (),
) -> RecordedSystem:
    """The machine `name`.

    `files` and `outputs` are added or take the place of its own, after what is `absent` was
    removed, below `folder`; `replaced` are words of its outputs, by others; it is `without` some
    commands.
    """
    written: dict[str, Output | str] = dict(_outputs(name))
    for old, new in (replaced or {}).items():
        commands = [command for command, text in written.items() if old in str(text)]
        assert commands, f"no output of {name} has {old!r}"
        written.update({command: str(written[command]).replace(old, new) for command in commands})
    kept = {command: text for command, text in written.items() if command.split()[0] not in without}
    root = _changed(folder, name, files or {}, absent) if files or absent else _unchanged(name)
    return RecordedSystem(root, {**kept, **(outputs or {})}, environment or {})


def _changed(folder: Path, name: str, files: Mapping[str, str], absent: Sequence[str]) -> Path:
    root = unpacked(folder, name)
    for path in absent:
        _remove(root / path.lstrip("/"))
    for path, text in files.items():
        _place(root, path).write_text(text)
    return root


@cache
def _unchanged(name: str) -> Path:
    """Once for all tests."""
    folder = tempfile.mkdtemp(prefix="commlens-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return unpacked(Path(folder), name)


def unpacked(folder: Path, name: str) -> Path:
    """The files of a machine, below `folder`."""
    root = folder / name
    for head, text in _sections(name):
        if head.startswith("$ "):
            continue
        if head == "links":
            for line in text.splitlines():
                path, _, target = line.partition(" -> ")
                _place(root, path).symlink_to(target)
        elif head == "files of one line":
            for line in text.splitlines():
                path, value = _split(line)
                _place(root, path).write_text(f"{value}\n")
        else:
            _place(root, head).write_text(text)
    return root


def _outputs(name: str) -> Iterator[tuple[str, str]]:
    return ((head[2:], text) for head, text in _sections(name) if head.startswith("$ "))


@cache
def _sections(name: str) -> Sequence[tuple[str, str]]:
    pieces = _HEAD.split((_FOLDER / f"{name}.txt").read_text(encoding="utf-8"))[1:]
    return [
        (head, text.rstrip("\n") + "\n" * bool(text.strip()))
        for head, text in zip(pieces[::2], pieces[1::2])
    ]


def _split(line: str) -> tuple[str, str]:
    """Path and text. A path below /sys has colons, too: its last name has none."""
    match = re.fullmatch(r"(/(?:\S*/)?[^/:\s]+):(.*)", line)
    assert match, line
    return match.group(1), match.group(2)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _place(root: Path, path: str) -> Path:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink() or place.exists():
        place.unlink()
    return place
