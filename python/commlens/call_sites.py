"""From the addresses from which MPI was called to functions, files and lines: what addr2line of binutils says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_TYPE_OFFSET = 16  # e_type in the header of an ELF file
_FIXED = 2  # ET_EXEC: addresses in the file are those in memory


def resolve(files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The call sites of all ranks, those of the same place added up, the longest first."""
    offsets: dict[str, set[int]] = {}
    placed = []
    for entry in files:
        for site in entry["call_sites"]:
            module = site["module"] if site["module"].startswith("/") else entry["program"]
            # The return address is that of the next instruction, which may be in the next line.
            offset = site["address"] - (0 if _is_fixed(module) else site["base"]) - 1
            offsets.setdefault(module, set()).add(offset)
            placed.append((module, offset, site))
    names = {module: _look_up(module, sorted(wanted)) for module, wanted in offsets.items()}
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for module, offset, site in placed:
        caller, file, line = names[module][offset]
        key = (site["function"], caller, file, line)
        empty = {
            "function": key[0],
            "caller": caller,
            "file": file,
            "line": line,
            "calls": 0,
            "time_s": 0.0,
            "bytes": 0,
        }
        sum_ = merged.setdefault(key, empty)
        sum_["calls"] += site["calls"]
        sum_["time_s"] += site["time_ns"] / 1e9
        sum_["bytes"] += site["bytes"]
    return sorted(merged.values(), key=lambda site: -float(site["time_s"]))


def _is_fixed(module: str) -> bool:
    try:
        with Path(module).open("rb") as file:
            header = file.read(_TYPE_OFFSET + 2)
    except OSError:
        return False
    return int.from_bytes(header[_TYPE_OFFSET:], "little") == _FIXED


def _look_up(module: str, offsets: Sequence[int]) -> dict[int, tuple[str, str, int]]:
    """Function, file and line (0: not known) of each; where addr2line cannot tell, the module and the address."""
    unknown = {offset: (f"{Path(module).name}+{offset + 1:#x}", "", 0) for offset in offsets}
    program = shutil.which("addr2line")
    if program is None:
        return unknown
    words = "".join(f"{offset:#x}\n" for offset in offsets)
    answer = subprocess.run([program, "-f", "-C", "-e", module], input=words, capture_output=True, text=True)
    lines = answer.stdout.splitlines()
    if answer.returncode != 0 or len(lines) != 2 * len(offsets):
        return unknown
    found = {}
    for offset, caller, place in zip(offsets, lines[::2], lines[1::2], strict=True):
        file, _, line = place.partition(" ")[0].rpartition(":")
        number = int(line) if line.isdigit() else 0
        name = unknown[offset][0] if caller == "??" else caller
        found[offset] = (name, file if number else "", number)
    return found
