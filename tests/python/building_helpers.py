"""Configuring and building the project itself, in a folder of a test's own."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
CMAKE = shutil.which("cmake") or ""
SLOW = bool(os.environ.get("COMMLENS_SLOW_TESTS"))

# Starts a command where nothing but the machine itself can be reached. Open MPI wants the loopback
# device, which a new network namespace has switched off; 0x8914 is SIOCSIFFLAGS, 1 IFF_UP.
_ON_LOOPBACK = """
import fcntl, os, socket, struct, sys
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 1))
os.execvp(sys.argv[1], sys.argv[1:])
"""
_NAMESPACE = ("unshare", "--user", "--map-root-user", "--net")


@cache
def has_namespaces() -> bool:
    if shutil.which(_NAMESPACE[0]) is None:
        return False
    return subprocess.run(without_network("true"), capture_output=True).returncode == 0


def without_network(*command: object) -> list[str]:
    return [*_NAMESPACE, sys.executable, "-c", _ON_LOOPBACK, *map(str, command)]


def path_without(program: str, prefixes: tuple[str, ...], folder: Path) -> str:
    """The PATH, less the programs whose names begin so; folders without `program` stay as they
    are."""
    path = []
    for number, place in enumerate(os.environ["PATH"].split(os.pathsep)):
        if shutil.which(program, path=place) is None:
            path.append(place)
            continue
        rest = folder / f"path-{number}"
        rest.mkdir()
        for entry in Path(place).iterdir():
            if not entry.name.startswith(prefixes):
                (rest / entry.name).symlink_to(entry)
        path.append(str(rest))
    assert shutil.which(program, path=os.pathsep.join(path)) is None
    return os.pathsep.join(path)


def tool(name: str) -> SimpleNamespace:
    """What a program of tools/ defines."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "tools" / f"{name}.py"), run_name=name))


def output_of(
    command: list[str], folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """What a command says that must end well, both streams."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}"
    return done.stdout
