"""From the addresses from which MPI was called to functions, files and lines: what addr2line of binutils says."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FIXED = 2  # ET_EXEC: addresses in the file are those in memory
_SYMBOLS = 2  # SHT_SYMTAB: the table of all functions, which `strip` removes


def resolve(files: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The call sites of all ranks, those of the same place added up, the longest first."""
    offsets: dict[str, set[int]] = {}
    placed = []
    for entry in files:
        for site in entry["call_sites"]:
            module = site["module"] if site["module"].startswith("/") else entry["program"]
            # The return address is that of the next instruction, which may be in the next line.
            offset = site["address"] - (0 if _file(module).is_fixed else site["base"]) - 1
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


@dataclass(frozen=True)
class _ElfFile:
    is_fixed: bool = False
    has_symbols: bool = True


@cache
def _file(module: str) -> _ElfFile:
    """What its header and its table of sections say (64-bit, of this machine's byte order: it runs here)."""
    try:
        with Path(module).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            (kind,) = struct.unpack_from("H", data, 16)
            (sections,) = struct.unpack_from("Q", data, 40)
            size, count = struct.unpack_from("HH", data, 58)
            types = [struct.unpack_from("I", data, sections + index * size + 4)[0] for index in range(count)]
    except (OSError, ValueError, struct.error):
        return _ElfFile()
    return _ElfFile(kind == _FIXED, _SYMBOLS in types)


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
        # Of a stripped file addr2line names the exported function that happens to stand before the address.
        is_known = caller != "??" and (number > 0 or _file(module).has_symbols)
        name = caller if is_known else unknown[offset][0]
        found[offset] = (name, file if number else "", number)
    return found
