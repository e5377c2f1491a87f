"""The settings that the installed libraries list: what may matter for the memory and the benchmark
(libraries/rules.yaml has what may), with values to try: the other choices, or some orders of
magnitude away from the default."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from commlens import knowledge
from commlens.machine.messaging import known_transports
from commlens.machine.system import System
from commlens.tuning.space import Situation, TuningSetting, Value, parse

_ANSWER_TIME_S = 60  # of ompi_info on a slow file system
_COMPONENT = re.compile(r"^mca:(\w+):(\w+):version:", re.MULTILINE)
_PARAMETER = re.compile(r"^mca:(\w+):(\w+):param:(\w+):(.*)$", re.MULTILINE)
_DYNAMIC = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "true"}
_TYPES_OF_NUMBERS = ("int", "unsigned_int", "unsigned_long", "size_t", "unsigned_long_long")

_UCX_ENTRY = re.compile(r"^(UCX_\w+)=(.*)$")
_UCX_COMMENT = re.compile(r"^# *(syntax: *|alias of:)?(.*)$")
_UCX_CHOICES = re.compile(r"[\[<]([\w|-]+)[\]>]")
_UCX_KEYED = "key:value pairs"
_UCX_NEEDS = {"OMPI_MCA_pml": "ucx"}
_SHORT_LIST = 4  # of which each item is tried by itself

_MOST_CHOICES = 7
_LONGEST = 200
_UNLIMITED = 2**31 - 1
_FEWEST_OF_SIZE = 512  # numbers from here on are sizes
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
    framework: str = ""  # this and the rest: of Open MPI
    component: str = ""
    choices: list[str] = field(default_factory=list)
    is_usable: bool = True

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


def of_mpi(launcher: str, family: str) -> str:
    """What the Open MPI of this launcher lists; empty for another MPI library."""
    listing = ("--all", "--level", "9", "--parsable")
    return _answer(launcher, "ompi_info", *listing) if family == "openmpi" else ""


def of_ucx(launcher: str, option: str) -> str:
    """What `ucx_info` prints with this option; empty without UCX."""
    return _answer(launcher, "ucx_info", option)


@cache
def _answer(launcher: str, name: str, *words: str) -> str:
    """Of a tool of the MPI library to which the launcher belongs, else of one on the PATH."""
    sibling = Path(launcher).parent / name
    tool = str(sibling) if os.access(sibling, os.X_OK) else shutil.which(name)
    return System().run(tool, *words, time_limit_s=_ANSWER_TIME_S).text if tool else ""


def components(listed: str) -> set[str]:
    """Of Open MPI: `btl smcuda`"""
    return {f"{framework} {name}" for framework, name in _COMPONENT.findall(listed)}


def settings(
    listed: str, listed_ucx: str, here: Situation, known: Sequence[TuningSetting]
) -> list[TuningSetting]:
    """From the answers of ompi_info and ucx_info, and from NCCL's documentation; without what is
    known already."""
    rules = knowledge.load("libraries/rules", Rules)
    uses_mpi = bool({"mpi", "staged"} & set(here.transports))
    candidates = [
        *(_of_ucx(listed_ucx, here, rules) if uses_mpi else ()),
        *(_of_openmpi(listed, here, rules) if uses_mpi else ()),
        *parse(knowledge.text("libraries/nccl"), "libraries/nccl.yaml"),
    ]
    names = {setting.name for setting in known}
    return sorted((setting for setting in candidates if setting.name not in names), key=_rank)


def _rank(setting: TuningSetting) -> int:
    """Switches and choices come first, then sizes, then other numbers."""
    texts = [value.name for value in setting.values]
    if texts in (["0"], ["1"]) or not any(text[:1].isdecimal() for text in texts):
        return 0
    is_size = any(not text.isdecimal() or int(text) >= _FEWEST_OF_SIZE for text in texts)
    return 1 if is_size else 2


def _of_openmpi(listed: str, here: Situation, rules: Rules) -> Iterator[TuningSetting]:
    """In the order of the rules; switches and choices before numbers."""
    known = sorted(_openmpi_parameters(listed), key=lambda parameter: not parameter.choices)
    skipped = re.compile(rules.openmpi_skipped.replace(" ", ""))
    for rule in rules.openmpi:
        if rule.on_gpu and not here.is_on_gpu:
            continue
        for parameter in known:
            name, component = parameter.name, parameter.component
            is_meant = parameter.framework == rule.framework and component in rule.components
            if is_meant and not skipped.search(name) and _is_called(parameter, here, rules):
                variable = f"OMPI_MCA_{name}"
                also = _DYNAMIC if name.startswith("coll_tuned_") else {}
                texts = _openmpi_values(parameter)
                values = [Value(text, set={**also, variable: text}) for text in texts]
                source = f"ompi_info: {parameter.framework} {component}"
                if values:
                    yield parameter.setting(variable, values, rule.needs, source)


def _openmpi_parameters(listed: str) -> list[ListedParameter]:
    """What is deprecated, another name of something, or off in this build is left out."""
    parameters: dict[str, ListedParameter] = {}
    for framework, component, name, rest in _PARAMETER.findall(listed):
        parameter = parameters.setdefault(
            name, ListedParameter(name, framework=framework, component=component)
        )
        key, _, value = rest.partition(":")
        if key == "value":
            parameter.default = value
        elif key == "type":
            parameter.syntax = value
        elif key == "help":
            parameter.help = value
        elif key == "enumerator":
            parameter.choices.append(value.rpartition(":")[2])
        elif key == "synonym_of" or (key, value) in (("deprecated", "yes"), ("disabled", "true")):
            parameter.is_usable = False
    return [parameter for parameter in parameters.values() if parameter.is_usable]


def _is_called(parameter: ListedParameter, here: Situation, rules: Rules) -> bool:
    """Whether it is of no collective, or of one that the benchmark calls."""
    own_name = here.benchmark.replace("-", "_")
    wanted = rules.collectives.get(
        here.benchmark, (own_name,) if own_name in rules.operations else ()
    )
    if parameter.framework != "coll" or not wanted:
        return parameter.framework != "coll"
    of = next((call for call in rules.operations if f"_{call}" in parameter.name), None)
    return of is None or of in wanted


def _openmpi_values(parameter: ListedParameter) -> Sequence[str]:
    name, default, choices = parameter.name, parameter.default, parameter.choices
    if "," in default and choices:  # a list of several of them
        kept = default.split(",")
        return [",".join(flag for flag in kept if flag != out) for out in kept if out != "send"]
    if name.endswith("_flags"):
        return []
    if choices:
        return [choice for choice in _others(choices, default) if choice != "ignore"]
    if parameter.syntax == "bool":
        return _others(("false", "true"), default)
    return of_number(name, default) if parameter.syntax in _TYPES_OF_NUMBERS else []


def _of_ucx(listed: str, here: Situation, rules: Rules) -> Iterator[TuningSetting]:
    """In the order of the rules."""
    known = _ucx_parameters(listed)
    skipped = re.compile(rules.ucx_skipped.replace(" ", ""))
    for rule in rules.ucx:
        if rule.on_gpu and not here.is_on_gpu:
            continue
        for parameter in known:
            if re.search(rule.names, parameter.name) and not skipped.search(parameter.name):
                texts = _ucx_values(parameter, here.backend)
                values = [Value(text or "none", set={parameter.name: text}) for text in texts]
                if values:
                    yield parameter.setting(parameter.name, values, _UCX_NEEDS, "ucx_info")


def _ucx_parameters(listed: str) -> list[ListedParameter]:
    """In the order of the list; without what is deprecated or another name of something."""
    parameters: list[ListedParameter] = []
    comments: list[tuple[str, str]] = []  # those above an entry: what each is of, and its text
    for line in listed.splitlines():
        if (comment := _UCX_COMMENT.match(line)) is not None:
            comments.append(((comment[1] or "").strip(), comment[2].strip()))
            continue
        entry, given = _UCX_ENTRY.match(line), dict(comments)
        if entry and "alias of:" not in given:
            words = " ".join(text for kind, text in comments if not kind and text)
            parameters.append(ListedParameter(entry[1], entry[2], given.get("syntax:", ""), words))
        comments = []
    return parameters


def _ucx_values(parameter: ListedParameter, backend: str) -> list[str]:
    """By the syntax that the library names; a value without a key holds for all keys."""
    syntax, default = parameter.syntax, parameter.default
    is_list = syntax.startswith("comma-separated")
    if syntax.endswith("]") and is_list and "host|" in syntax:
        device = known_transports().gpus.get(backend)
        return _others([memory for memory in ("", "host", device) if memory is not None], default)
    if _UCX_KEYED in syntax:
        syntax, is_list = syntax.partition("value is: ")[2], False
        default = "auto"
    if is_list:
        single = _UCX_CHOICES.search(syntax)
        names = single[1].split("|") if single else []
        return _others(names, default) if len(names) <= _SHORT_LIST else []
    if (choices := _UCX_CHOICES.fullmatch(syntax)) is not None:
        return _others(choices[1].split("|"), default)
    for kind, factor, beside in (
        ("memory units", 8, ["1", "64K", "inf"]),
        ("unsigned long", 4, ["1", "64"]),
        ("unsigned integer", 4, []),
        ("bandwidth", 10, ["100MBs", "100000MBs"]),
        ("time value", 10, ["0.01us", "20us"]),
        ("floating point", 10, []),
    ):
        if syntax.startswith(kind):
            return _others(around(default, factor) or beside, default)
    return []


def _others(choices: Iterable[str], default: str) -> list[str]:
    """The choices beside the default."""
    return [choice for choice in choices if choice.lower() != default.lower()][:_MOST_CHOICES]


def around(quantity: str, factor: float) -> list[str]:
    """`64K` with 8: `8K` and `512K`; empty where it is no quantity."""
    match = _QUANTITY.fullmatch(quantity)
    if match is None or float(match["number"]) == 0:
        return []
    digits, number, unit = match["number"], float(match["number"]), match["unit"]
    values = [number / factor, number * factor]
    texts = [f"{value:g}" if "." in digits else f"{max(1, round(value))}" for value in values]
    return [f"{text}{unit}" for text in dict.fromkeys(texts) if text != digits]


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
