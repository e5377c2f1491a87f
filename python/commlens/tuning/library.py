"""The settings that the installed libraries list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commlens.tuning.situation import Situation
from commlens.tuning.space import Setting

_COMPONENT = re.compile(r"^mca:(\w+):(\w+):version:", re.MULTILINE)


def components(listed: str) -> set[str]:
    """`btl smcuda`, from the answer of ompi_info."""
    return {f"{framework} {name}" for framework, name in _COMPONENT.findall(listed)}


def settings(
    listed: str, listed_ucx: str, here: Situation, known: Sequence[Setting]
) -> list[Setting]:
    return []
