"""The function, file and line of each address from which MPI was called, by addr2line."""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from commlens.jobs.preload.program import read_elf
from commlens.model.profile import Caller, CallSite
from commlens.profile.rank_files import RankCallSite, RankFile

_STARTS_PROGRAM = re.compile(r"_start$|__libc_start")  # the callers of main
_SYMBOL = re.compile(r"(?P<start>[0-9a-f]+) (?P<size>[0-9a-f]+) [tTwWiuvV] ")


def resolve(files: Sequence[RankFile]) -> list[CallSite]:
    """The call sites of all ranks, those of one place added up, the longest first."""
    sites = [(file, site) for file in files for site in file.call_sites]
    offsets: dict[str, set[int]] = {}
    for file, site in sites:
        for module, offset in _addresses(site, file.program):
            offsets.setdefault(module, set()).add(offset)
    places = {module: _look_up(module, sorted(in_module)) for module, in_module in offsets.items()}
    merged: dict[tuple[str, tuple[Caller, ...]], list[tuple[RankFile, RankCallSite]]] = {}
    for file, site in sites:
        callers = tuple(places[module][offset] for module, offset in _addresses(site, file.program))
        merged.setdefault((site.function, callers), []).append((file, site))
    resolved = [
        CallSite(
            function=function,
            caller=callers[0].caller,
            file=callers[0].file,
            line=callers[0].line,
            calls=sum(site.calls for _, site in pairs),
            time_s=sum(file.seconds(site.time_ns, function) for file, site in pairs),
            bytes=sum(site.bytes for _, site in pairs),
            waiting_s=sum(file.seconds(site.waiting_ns) for file, site in pairs),
            callers=[caller for caller in callers[1:] if not _STARTS_PROGRAM.match(caller.caller)],
        )
        for (function, callers), pairs in merged.items()
    ]
    return sorted(resolved, key=lambda site: -site.time_s)


def _addresses(site: RankCallSite, program: str) -> list[tuple[str, int]]:
    """Of each frame the file of the code and the offset in it."""
    addresses = []
    for frame in site.frames:
        module = frame.module if frame.module.startswith("/") else program
        elf = read_elf(Path(module))
        base = 0 if elf and elf.has_fixed_addresses else frame.base
        # The return address is that of the next instruction, which can belong to the next line.
        addresses.append((module, frame.address - base - 1))
    return addresses


@cache
def _functions(module: str) -> list[tuple[int, int]]:
    """The addresses that belong to a function with a symbol, be it exported or in the table that
    `strip` removes: where each begins and ends."""
    functions = set()
    for table in ([], ["--dynamic"]):
        words = ["nm", "--print-size", "--defined-only", *table, module]
        for line in _answer(words).splitlines():
            if match := _SYMBOL.match(line):
                start = int(match["start"], 16)
                functions.add((start, start + int(match["size"], 16)))
    return sorted(functions)


def _is_in_function(module: str, address: int) -> bool:
    functions = _functions(module)
    index = bisect_right(functions, (address, 1 << 64)) - 1
    return index >= 0 and address < functions[index][1]


def _answer(words: Sequence[str], text: str = "") -> str:
    """What a program of the binutils prints; nothing if it fails."""
    if shutil.which(words[0]) is None:
        return ""
    answer = subprocess.run(words, input=text, capture_output=True, text=True, errors="replace")
    return answer.stdout if answer.returncode == 0 else ""


def _look_up(module: str, offsets: Sequence[int]) -> dict[int, Caller]:
    """Where addr2line does not know it, the caller is the module and the address."""
    unknown = {offset: Caller(f"{Path(module).name}+{offset + 1:#x}", "", 0) for offset in offsets}
    addresses = "".join(f"{offset:#x}\n" for offset in offsets)
    lines = _answer(["addr2line", "-f", "-e", module], addresses).splitlines()
    if shutil.which("nm") is None or len(lines) != 2 * len(offsets):
        return unknown
    # Without parameters: those of C++ can be longer than a line.
    demangled = _answer(["c++filt", "-p"], "".join(f"{name}\n" for name in lines[::2])).splitlines()
    callers = demangled if len(demangled) == len(offsets) else lines[::2]
    by_offset = {}
    for offset, caller, place in zip(offsets, callers, lines[1::2]):
        file, _, number = place.partition(" ")[0].rpartition(":")
        line = int(number) if number.isdigit() else 0
        # In a stripped file addr2line names the last exported function before the address, which
        # can have ended long before it.
        is_known = caller != "??" and (line > 0 or _is_in_function(module, offset))
        name = caller if is_known else unknown[offset].caller
        by_offset[offset] = Caller(name, file if line else "", line)
    return by_offset
