"""The function, file and line of each address from which MPI was called, by addr2line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from commlens.profile.elf import read_elf
from commlens.profile.rank_files import RankCallSite, RankFile, seconds
from commlens.profile.record import CallSite


class Location(NamedTuple):
    caller: str
    file: str
    line: int  # 0: unknown


@dataclass(frozen=True)
class _Address:
    module: str
    offset: int  # in the file
    site: RankCallSite


def resolve(files: Sequence[RankFile]) -> list[CallSite]:
    """The call sites of all ranks, those of one place added up, the longest first."""
    addresses = [_address(site, file.program) for file in files for site in file.call_sites]
    offsets: dict[str, set[int]] = {}
    for address in addresses:
        offsets.setdefault(address.module, set()).add(address.offset)
    locations = {module: _look_up(module, sorted(own)) for module, own in offsets.items()}
    merged: dict[tuple[str, Location], list[RankCallSite]] = {}
    for address in addresses:
        location = locations[address.module][address.offset]
        merged.setdefault((address.site.function, location), []).append(address.site)
    sites = [
        CallSite(
            function=function,
            caller=location.caller,
            file=location.file,
            line=location.line,
            calls=sum(site.calls for site in own),
            time_s=sum(seconds(site.time_ns) for site in own),
            bytes=sum(site.bytes for site in own),
        )
        for (function, location), own in merged.items()
    ]
    return sorted(sites, key=lambda site: -site.time_s)


def _address(site: RankCallSite, program: str) -> _Address:
    module = site.module if site.module.startswith("/") else program
    elf = read_elf(Path(module))
    base = 0 if elf and elf.has_fixed_addresses else site.base
    # The return address is that of the next instruction, which can belong to the next line.
    return _Address(module, site.address - base - 1, site)


def _look_up(module: str, offsets: Sequence[int]) -> dict[int, Location]:
    """Where addr2line cannot tell, the caller is the module and the address."""
    unknown = {
        offset: Location(f"{Path(module).name}+{offset + 1:#x}", "", 0) for offset in offsets
    }
    program = shutil.which("addr2line")
    if program is None:
        return unknown
    answer = subprocess.run(
        [program, "-f", "-C", "-e", module],
        input="".join(f"{offset:#x}\n" for offset in offsets),
        capture_output=True,
        text=True,
    )
    lines = answer.stdout.splitlines()
    if answer.returncode != 0 or len(lines) != 2 * len(offsets):
        return unknown
    elf = read_elf(Path(module))
    has_symbols = elf is None or elf.has_symbols
    found = {}
    for offset, caller, place in zip(offsets, lines[::2], lines[1::2]):
        file, _, number = place.partition(" ")[0].rpartition(":")
        line = int(number) if number.isdigit() else 0
        # In a stripped file addr2line names the exported function before the address.
        is_known = caller != "??" and (line > 0 or has_symbols)
        name = caller if is_known else unknown[offset].caller
        found[offset] = Location(name, file if line else "", line)
    return found
