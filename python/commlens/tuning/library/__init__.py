"""The settings that the installed libraries list: what may matter for the memory and the benchmark,
with values to try. rules.yaml has what may."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from commlens import knowledge
from commlens.machine.system import System
from commlens.tuning.library import openmpi, ucx
from commlens.tuning.library.openmpi import components
from commlens.tuning.library.rules import Rules
from commlens.tuning.situation import Situation
from commlens.tuning.space import TuningSetting, parse

_ANSWER_TIME_S = 60  # of ompi_info on a slow file system
_QUANTITY = re.compile(r"\d")
_SIZE = 512  # numbers from here on are sizes

__all__ = ["components", "of_mpi", "of_ucx", "settings"]


def of_mpi(launcher: str, family: str) -> str:
    """What the Open MPI of this launcher lists; empty for another MPI library."""
    listing = ("--all", "--level", "9", "--parsable")
    return _answer(_tool(launcher, "ompi_info"), *listing) if family == "openmpi" else ""


def of_ucx(launcher: str, what: str) -> str:
    """What `ucx_info` prints with this option; empty without UCX."""
    return _answer(_tool(launcher, "ucx_info"), what)


def _tool(launcher: str, name: str) -> str | None:
    """A tool of the MPI library to which the launcher belongs, else one on the PATH."""
    own = Path(launcher).parent / name
    return str(own) if os.access(own, os.X_OK) else shutil.which(name)


@cache
def _answer(tool: str | None, *words: str) -> str:
    return System().run(tool, *words, time_limit_s=_ANSWER_TIME_S).text if tool else ""


def settings(
    listed: str, listed_ucx: str, here: Situation, known: Sequence[TuningSetting]
) -> list[TuningSetting]:
    """From the answers of ompi_info and ucx_info, and from NCCL's documentation; without what is
    known already."""
    rules = knowledge.load("libraries/rules", Rules)
    uses_mpi = bool({"mpi", "staged"} & set(here.transports))
    found = [
        *(ucx.settings(listed_ucx, here, rules) if uses_mpi else ()),
        *(openmpi.settings(listed, here, rules) if uses_mpi else ()),
        *parse(knowledge.text("libraries/nccl"), "libraries/nccl.yaml"),
    ]
    names = {setting.name for setting in known}
    return sorted((one for one in found if one.name not in names), key=_rank)


def _rank(setting: TuningSetting) -> int:
    """Switches and choices come first, then sizes, then other numbers."""
    texts = [value.name for value in setting.values]
    if texts in (["0"], ["1"]) or not any(_QUANTITY.match(text) for text in texts):
        return 0
    is_size = any(not text.isdecimal() or int(text) >= _SIZE for text in texts)
    return 1 if is_size else 2
