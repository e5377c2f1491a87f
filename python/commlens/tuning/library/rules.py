"""Which of the parameters that libraries list may matter: rules.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import msgspec

from commlens import knowledge


class OpenMpiRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of some components of a framework."""

    framework: str
    components: tuple[str, ...]
    needs: Mapping[str, str] = {}
    on_gpu: bool = False  # for GPU memory alone


class UcxRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: str  # a pattern
    on_gpu: bool = False


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    collectives: Mapping[str, tuple[str, ...]]  # of MPI, by benchmark
    openmpi_skipped: str
    openmpi: tuple[OpenMpiRule, ...]
    ucx_skipped: str
    ucx: tuple[UcxRule, ...]


@cache
def load_rules() -> Rules:
    rules = knowledge.load("libraries/rules", Rules)
    for pattern in (rules.openmpi_skipped, rules.ucx_skipped, *(one.names for one in rules.ucx)):
        re.compile(pattern)
    return rules
