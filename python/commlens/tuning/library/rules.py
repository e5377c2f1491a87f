"""Which of the parameters that libraries list may matter (rules.yaml), and values to try of them:
the other choices, or some orders of magnitude away from the default."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from commlens.tuning.space import TuningSetting, Value

MOST_CHOICES = 7
_LONGEST = 200
_UNLIMITED = 2**31 - 1
_QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[A-Za-z/]*)")
_SWITCH = re.compile(r"(^|_)(use|enable|disable|support|force|reuse)(_|$)")
_SIZE = re.compile(r"limit|size|thresh|length|cutoff|frag|msg|segment|memcpy|offset")


class OpenMpiRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of some components of a framework."""

    framework: str
    components: tuple[str, ...]
    needs: Mapping[str, str] = {}
    on_gpu: bool = False  # for GPU memory alone


class UcxRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of UCX."""

    names: str  # a pattern
    on_gpu: bool = False


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of libraries/rules.yaml."""

    collectives: Mapping[str, tuple[str, ...]]  # of MPI, by benchmark
    operations: tuple[str, ...]  # all that parameters may be of
    openmpi_skipped: str
    openmpi: tuple[OpenMpiRule, ...]
    ucx_skipped: str
    ucx: tuple[UcxRule, ...]


@dataclass
class ListedParameter:
    """A parameter as a library lists it."""

    name: str
    default: str = ""
    syntax: str = ""  # or its type
    help: str = ""

    def setting(
        self, variable: str, values: Iterable[Value], needs: Mapping[str, str], source: str
    ) -> TuningSetting:
        """The setting that varies it."""
        return TuningSetting(
            variable,
            tuple(values),
            self.help[:_LONGEST],
            needs=needs,
            may_break="not in the usual guides: check your application's results",
            source=source,
        )


def others(choices: Iterable[str], default: str) -> list[str]:
    """The choices beside the default."""
    return [one for one in choices if one.lower() != default.lower()][:MOST_CHOICES]


def around(quantity: str, factor: float) -> list[str]:
    """`64K` with 8: `8K` and `512K`; empty where it is no quantity."""
    found = _QUANTITY.fullmatch(quantity)
    if found is None or float(found["number"]) == 0:
        return []
    number, unit = float(found["number"]), found["unit"]
    values = [number / factor, number * factor]
    texts = [f"{one:g}" if "." in found["number"] else f"{max(1, round(one))}" for one in values]
    return [f"{text}{unit}" for text in dict.fromkeys(texts) if text != found["number"]]


def of_number(name: str, default: str) -> Sequence[str]:
    """For a number without a unit, by what its name is of."""
    try:
        number = int(default)
    except ValueError:
        return []
    if name.endswith("_priority"):
        return [text for text in ("100", "0") if int(text) != number]
    if number in (0, 1) and _SWITCH.search(name):
        return [str(1 - number)]
    if _SIZE.search(name):
        if number <= 0 or number >= _UNLIMITED:
            return ["4096", "262144"]
        return around(default, 8)
    return around(default, 4) if 1 < number < _UNLIMITED else []
