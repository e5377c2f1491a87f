"""What `ucx_info -caf` lists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commlens.machine.ucx import known_transports
from commlens.tuning.library.rules import ListedParameter, Rules, around, others
from commlens.tuning.situation import Situation
from commlens.tuning.space import TuningSetting, Value

_ENTRY = re.compile(r"^(UCX_\w+)=(.*)$")
_COMMENT = re.compile(r"^# *(syntax: *|alias of:)?(.*)$")
_CHOICES = re.compile(r"[\[<]([\w|-]+)[\]>]")
_KEYED = "key:value pairs"
_SHORT_LIST = 4  # of which each item is tried by itself
_NEEDS = {"OMPI_MCA_pml": "ucx"}


def _parameters(listed: str) -> list[ListedParameter]:
    """In the order of the list; without what is deprecated or another name of something."""
    found: list[ListedParameter] = []
    comments: list[tuple[str, str]] = []  # those above an entry: what each is of, and its text
    for line in listed.splitlines():
        if (comment := _COMMENT.match(line)) is not None:
            comments.append(((comment[1] or "").strip(), comment[2].strip()))
            continue
        entry, given = _ENTRY.match(line), dict(comments)
        if entry and "alias of:" not in given:
            words = " ".join(text for kind, text in comments if not kind and text)
            found.append(ListedParameter(entry[1], entry[2], given.get("syntax:", ""), words))
        comments = []
    return found


def settings(listed: str, here: Situation, rules: Rules) -> Iterator[TuningSetting]:
    """In the order of the rules."""
    known = _parameters(listed)
    skipped = re.compile(rules.ucx_skipped.replace(" ", ""))
    for rule in rules.ucx:
        if rule.on_gpu and not here.is_on_gpu:
            continue
        for one in known:
            if re.search(rule.names, one.name) and not skipped.search(one.name):
                texts = _values(one, here.backend)
                values = [Value(text or "none", set={one.name: text}) for text in texts]
                if values:
                    yield one.setting(one.name, values, _NEEDS, "ucx_info")


def _values(parameter: ListedParameter, backend: str) -> list[str]:
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
