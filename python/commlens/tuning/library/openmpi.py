"""What `ompi_info --all --level 9 --parsable` lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from commlens.tuning.library.rules import OpenMpiRule, Rules, of_number, others
from commlens.tuning.situation import Situation
from commlens.tuning.space import TuningSetting, Value

_COMPONENT = re.compile(r"^mca:(\w+):(\w+):version:", re.MULTILINE)
_PARAMETER = re.compile(r"^mca:(\w+):(\w+):param:(\w+):(.*)$", re.MULTILINE)
_COLLECTIVES = (
    "neighbor_alltoallv", "neighbor_alltoall", "alltoallv", "alltoall", "allgatherv", "allgather",
    "iallgather", "iallreduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "ireduce",
    "reduce", "ibcast", "bcast", "iexscan", "exscan", "iscan", "scan", "gather", "scatter",
    "barrier",
)  # fmt: skip
_DYNAMIC = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "true"}
_TYPES_OF_NUMBERS = ("int", "unsigned_int", "unsigned_long", "size_t", "unsigned_long_long")
_LONGEST = 200


@dataclass
class OpenMpiParameter:
    """A parameter that ompi_info lists."""

    framework: str
    component: str
    name: str
    default: str = ""
    type: str = ""
    help: str = ""
    choices: list[str] = field(default_factory=list)
    is_usable: bool = True

    @property
    def is_list(self) -> bool:
        """Of several of the choices."""
        return "," in self.default and bool(self.choices)


def components(listed: str) -> set[str]:
    """`btl smcuda`"""
    return {f"{framework} {name}" for framework, name in _COMPONENT.findall(listed)}


def parameters(listed: str) -> dict[str, OpenMpiParameter]:
    """By name. What is deprecated, another name of something, or off in this build is left out."""
    found: dict[str, OpenMpiParameter] = {}
    for framework, component, name, rest in _PARAMETER.findall(listed):
        own = found.setdefault(name, OpenMpiParameter(framework, component, name))
        what, _, value = rest.partition(":")
        if what == "value":
            own.default = value
        elif what == "type":
            own.type = value
        elif what == "help":
            own.help = value[:_LONGEST]
        elif what == "enumerator":
            own.choices.append(value.rpartition(":")[2])
        elif what == "synonym_of" or (what, value) in (("deprecated", "yes"), ("disabled", "true")):
            own.is_usable = False
    return {name: one for name, one in found.items() if one.is_usable}


def settings(listed: str, here: Situation, rules: Rules) -> Iterator[TuningSetting]:
    """In the order of the rules; switches and choices before numbers."""
    known = parameters(listed)
    skipped = re.compile(rules.openmpi_skipped.replace(" ", ""))
    wanted = rules.collectives.get(here.benchmark, ())
    for rule in rules.openmpi:
        if rule.on_gpu and not here.is_on_gpu:
            continue
        own = [
            one
            for one in known.values()
            if one.framework == rule.framework
            and one.component in rule.components
            and not skipped.search(one.name)
            and _is_called(one, wanted)
        ]
        for parameter in sorted(own, key=lambda one: not one.choices):
            yield from _setting(parameter, rule)


def _is_called(parameter: OpenMpiParameter, wanted: tuple[str, ...]) -> bool:
    """Whether it is of no collective, or of one that the benchmark calls."""
    if parameter.framework != "coll":
        return True
    if not wanted:
        return False
    of = next((one for one in _COLLECTIVES if f"_{one}" in parameter.name), None)
    return of is None or of in wanted


def _setting(parameter: OpenMpiParameter, rule: OpenMpiRule) -> Iterator[TuningSetting]:
    variable = f"OMPI_MCA_{parameter.name}"
    texts = _values(parameter)
    also = _DYNAMIC if parameter.name.startswith("coll_tuned_") else {}
    values = tuple(Value(text, set={**also, variable: text}) for text in texts)
    if values:
        yield TuningSetting(
            variable,
            "variable",
            values,
            parameter.help,
            needs=rule.needs,
            may_break="not in the usual guides: check your application's results",
            source=f"ompi_info: {parameter.framework} {parameter.component}",
        )


def _values(parameter: OpenMpiParameter) -> list[str]:
    if parameter.name.endswith("_flags") and not parameter.is_list:
        return []
    if parameter.is_list:
        kept = parameter.default.split(",")
        return [",".join(other for other in kept if other != one) for one in kept if one != "send"]
    if parameter.choices:
        return [one for one in others(parameter.choices, parameter.default) if one != "ignore"]
    if parameter.type == "bool":
        return others(("false", "true"), parameter.default)
    if parameter.type in _TYPES_OF_NUMBERS:
        return list(of_number(parameter.name, parameter.default))
    return []
