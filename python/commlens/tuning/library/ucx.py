"""What `ucx_info -caf` lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from commlens.machine.ucx import known_transports
from commlens.tuning.library.rules import Rules, around, others
from commlens.tuning.situation import Situation
from commlens.tuning.space import TuningSetting, Value

_ENTRY = re.compile(r"^(UCX_\w+)=(.*)$")
_SYNTAX = re.compile(r"^# syntax:\s*(.*)$")
_CHOICES = re.compile(r"[\[<]([\w|-]+)[\]>]")
_KEYED = "key:value pairs"
_LONGEST = 200
_SHORT_LIST = 4  # of which each item is tried by itself


@dataclass(frozen=True)
class UcxParameter:
    """A parameter that ucx_info lists."""

    name: str
    default: str
    syntax: str
    help: str


def parameters(listed: str) -> list[UcxParameter]:
    """In the order of the list; without what is deprecated or another name of something."""
    found: list[UcxParameter] = []
    words: list[str] = []
    syntax, is_alias = "", False
    for line in listed.splitlines():
        if (entry := _ENTRY.match(line)) is not None:
            if not is_alias:
                found.append(UcxParameter(entry[1], entry[2], syntax, " ".join(words)[:_LONGEST]))
            words, syntax, is_alias = [], "", False
        elif (given := _SYNTAX.match(line)) is not None:
            syntax = given[1]
        elif line.startswith("# alias of:"):
            is_alias = True
        elif line.startswith("#"):
            if text := line[1:].strip():
                words.append(text)
        else:
            words, syntax, is_alias = [], "", False
    return found


def settings(listed: str, here: Situation, rules: Rules) -> Iterator[TuningSetting]:
    """In the order of the rules."""
    known = parameters(listed)
    skipped = re.compile(rules.ucx_skipped.replace(" ", ""))
    for rule in rules.ucx:
        if rule.on_gpu and not here.is_on_gpu:
            continue
        for parameter in known:
            is_meant = re.search(rule.names, parameter.name) and not skipped.search(parameter.name)
            if is_meant and (values := values_of(parameter, here.backend)):
                yield _setting(parameter, values)


def _setting(parameter: UcxParameter, values: list[str]) -> TuningSetting:
    return TuningSetting(
        parameter.name,
        "variable",
        tuple(Value(text or "none", set={parameter.name: text}) for text in values),
        parameter.help,
        needs={"OMPI_MCA_pml": "ucx"},
        may_break="not in the usual guides: check your application's results",
        source="ucx_info",
    )


def values_of(parameter: UcxParameter, backend: str) -> list[str]:
    """By the syntax that the library names; a value without a key holds for all keys."""
    syntax, default = parameter.syntax, parameter.default
    is_list = syntax.startswith("comma-separated")
    if syntax.endswith("]") and is_list and "host|" in syntax:
        device = known_transports().gpus.get(backend)
        return others([one for one in ("", "host", device) if one is not None], default)
    if _KEYED in syntax:
        syntax, is_list = syntax.partition("value is: ")[2], False
        default = "auto"
    if is_list:
        single = _CHOICES.search(syntax)
        names = single[1].split("|") if single else []
        return others(names, default) if len(names) <= _SHORT_LIST else []
    if (choices := _CHOICES.fullmatch(syntax)) is not None:
        return others(choices[1].split("|"), default)
    for kind, factor, beside in (
        ("memory units", 8, ["1", "64K", "inf"]),
        ("unsigned long", 4, ["1", "64"]),
        ("unsigned integer", 4, []),
        ("bandwidth", 10, ["100MBs", "100000MBs"]),
        ("time value", 10, ["0.01us", "20us"]),
        ("floating point", 10, []),
    ):
        if syntax.startswith(kind):
            return others(around(default, factor) or beside, default)
    return []
