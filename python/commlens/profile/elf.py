"""What an ELF file says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile


@dataclass(frozen=True)
class ElfFile:
    is_dynamic: bool  # a dynamic loader starts it
    has_fixed_addresses: bool  # addresses in the file are those in memory


@cache
def read_elf(path: Path) -> ElfFile | None:
    """None for a file that is not ELF or cannot be read."""
    try:
        with path.open("rb") as file:
            elf = ELFFile(file)
            return ElfFile(
                is_dynamic=any(own.header.p_type == "PT_INTERP" for own in elf.iter_segments()),
                has_fixed_addresses=elf.header.e_type == "ET_EXEC",
            )
    except (OSError, ELFError):
        return None
