"""What `ompi_info --all --level 9 --parsable` lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from commlens.tuning.library.rules import ListedParameter, Rules, of_number, others
from commlens.tuning.situation import Situation
from commlens.tuning.space import TuningSetting, Value

_COMPONENT = re.compile(r"^mca:(\w+):(\w+):version:", re.MULTILINE)
_PARAMETER = re.compile(r"^mca:(\w+):(\w+):param:(\w+):(.*)$", re.MULTILINE)
_DYNAMIC = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "true"}
_TYPES_OF_NUMBERS = ("int", "unsigned_int", "unsigned_long", "size_t", "unsigned_long_long")


@dataclass
class OpenMpiParameter(ListedParameter):
    """A parameter that ompi_info lists."""

    framework: str = ""
    component: str = ""
    choices: list[str] = field(default_factory=list)
    is_usable: bool = True

    @property
    def values(self) -> list[str]:
        """Values to try."""
        is_list = "," in self.default and bool(self.choices)  # of several of the choices
        if is_list:
            kept = self.default.split(",")
            return [",".join(one for one in kept if one != out) for out in kept if out != "send"]
        if self.name.endswith("_flags"):
            return []
        if self.choices:
            return [one for one in others(self.choices, self.default) if one != "ignore"]
        if self.syntax == "bool":
            return others(("false", "true"), self.default)
        return list(of_number(self.name, self.default)) if self.syntax in _TYPES_OF_NUMBERS else []


def components(listed: str) -> set[str]:
    """`btl smcuda`"""
    return {f"{framework} {name}" for framework, name in _COMPONENT.findall(listed)}


def _parameters(listed: str) -> list[OpenMpiParameter]:
    """What is deprecated, another name of something, or off in this build is left out."""
    found: dict[str, OpenMpiParameter] = {}
    for framework, component, name, rest in _PARAMETER.findall(listed):
        own = found.setdefault(
            name, OpenMpiParameter(name, framework=framework, component=component)
        )
        what, _, value = rest.partition(":")
        if what == "value":
            own.default = value
        elif what == "type":
            own.syntax = value
        elif what == "help":
            own.help = value
        elif what == "enumerator":
            own.choices.append(value.rpartition(":")[2])
        elif what == "synonym_of" or (what, value) in (("deprecated", "yes"), ("disabled", "true")):
            own.is_usable = False
    return [one for one in found.values() if one.is_usable]


def settings(listed: str, here: Situation, rules: Rules) -> Iterator[TuningSetting]:
    """In the order of the rules; switches and choices before numbers."""
    known = sorted(_parameters(listed), key=lambda one: not one.choices)
    skipped = re.compile(rules.openmpi_skipped.replace(" ", ""))
    for rule in rules.openmpi:
        if rule.on_gpu and not here.is_on_gpu:
            continue
        for one in known:
            is_meant = one.framework == rule.framework and one.component in rule.components
            if is_meant and not skipped.search(one.name) and _is_called(one, here, rules):
                variable = f"OMPI_MCA_{one.name}"
                also = _DYNAMIC if one.name.startswith("coll_tuned_") else {}
                values = [Value(text, set={**also, variable: text}) for text in one.values]
                source = f"ompi_info: {one.framework} {one.component}"
                if values:
                    yield one.setting(variable, values, rule.needs, source)


def _is_called(parameter: OpenMpiParameter, here: Situation, rules: Rules) -> bool:
    """Whether it is of no collective, or of one that the benchmark calls."""
    wanted = rules.collectives.get(here.benchmark, ())
    if parameter.framework != "coll" or not wanted:
        return parameter.framework != "coll"
    of = next((one for one in rules.operations if f"_{one}" in parameter.name), None)
    return of is None or of in wanted
