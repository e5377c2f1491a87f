"""The entries of knowledge/rules and knowledge/checks: what a rule declares, and its texts.

Texts have {names} in braces: facts of an observation, or paths from the machine, such as
`{limits.stack.soft:bytes}`.
"""

# The structs are evaluated by Python 3.9 too: no `from __future__ import annotations`, no `X | Y`.
import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, Optional, Union

import msgspec

from commlens.base.text import format_bytes, format_number, format_percent, format_time, plural
from commlens.findings.finding import Severity

_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "bytes": format_bytes,
    "count": lambda listed: str(len(listed)),
    "number": format_number,
    "percent": format_percent,
    "time": format_time,
}
_OF_PYTHON = re.compile(r"[.,\d]*[dfg%]")
_YES = ("1", "y", "yes", "on", "true", "t")
_NO = ("0", "n", "no", "off", "false", "f")
Texts = Union[str, dict[str, str]]  # or by kind; the kind "" stands for all others


def is_yes(value: str) -> bool:
    """Whether a library takes a value of a variable for yes."""
    return value.strip().lower() in _YES


def is_no(value: str) -> bool:
    """Whether a library takes a value of a variable for no."""
    return value.strip().lower() in _NO


class Test(msgspec.Struct, forbid_unknown_fields=True):
    """Of a value: it must pass all that are given, and what is not known passes none."""

    equals: Union[str, list[str], None] = None  # or one of a list, whatever the case
    other_than: Optional[str] = None
    below: Optional[int] = None
    above: Optional[int] = None
    has: Optional[str] = None  # of a list or a text
    lacks: Union[str, list[str], None] = None
    is_set: Optional[bool] = None
    is_yes: Optional[bool] = None  # of a variable, as libraries read it
    is_on: Optional[bool] = None  # of a variable: set to anything but no

    def passes(self, value: Any) -> bool:
        """Whether the value is one to report."""
        if value is None:
            return self.is_set is False
        text = str(value)
        lacking = [self.lacks] if isinstance(self.lacks, str) else self.lacks or []
        equal = [self.equals] if isinstance(self.equals, str) else self.equals or []
        on = bool(text) and not is_no(text)
        return all(
            (
                not equal or text.lower() in [word.lower() for word in equal],
                self.other_than is None or text not in ("", self.other_than),
                self.below is None or value < self.below,
                self.above is None or value > self.above,
                self.has is None or self.has in value,
                not any(word in value for word in lacking),
                self.is_set is None or self.is_set == bool(value),
                self.is_yes is None or self.is_yes == is_yes(text),
                self.is_on is None or self.is_on == on,
            )
        )


class Variable(Test, forbid_unknown_fields=True):
    """A variable of the environment, or of NCCL's files, and what to set instead."""

    set_to: Optional[str] = None  # None: it is removed


class GpuTest(Test, forbid_unknown_fields=True, kw_only=True):
    """What the driver shows of a GPU; where `says` has {such}, of all of them together."""

    field: str
    line: str  # that shows it
    says: str


class Entry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a rule declares. It is decided by a function, or by conditions on values."""

    code: str  # stable, as people search for it
    severity: Severity
    subject: str  # what is wrong in a few words
    needs: tuple[str, ...] = ()  # of rule.Need, by default `machine`; and facts
    when: str  # when it reports something; of a machine, what it looks at; with {limits}
    says: Texts = "{text}"  # the sentence without its full stop, as the cost follows it
    shown: list[tuple[str, str]] = []  # source and line
    fix: Texts  # mostly one
    # Names for the texts, mostly of the fix; also by family of the MPI library that ran, where the
    # library must know it. The family "" stands for all others.
    words: dict[str, Texts] = {}
    sets: dict[str, str] = {}  # the fix as variables to try; `unset` removes one
    shown_by: str = ""  # of facts.RUNS: what shows that it helps
    # A function of findings/rules or findings/checks, by default named as the code, with arguments:
    # thresholds and texts.
    look: str = ""
    limits: dict[str, Union[int, float]] = {}
    texts: dict[str, str] = {}
    # Conditions on a machine, in place of a function.
    seen: dict[str, str] = {}  # paths that must be known, and what cannot be seen otherwise
    where: dict[str, Test] = {}  # paths, all of them
    variables: dict[str, Variable] = {}
    gpus: list[GpuTest] = []
    differ: dict[str, str] = {}  # names, and paths as in texts of what all nodes must have alike
    unknown: str = "none"  # what stands for a fact that is not known

    @property
    def fixes(self) -> dict[str, str]:
        """By kind, mostly one."""
        return {"": self.fix} if isinstance(self.fix, str) else self.fix


class RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    """The layout of a file of knowledge/rules or knowledge/checks."""

    section: str  # a heading of the reference, and of doctor's output
    rules: list[Entry]


def text_of_kind(texts: Texts, kind: str) -> str:
    """The one of this kind, or that of all."""
    return texts if isinstance(texts, str) else texts[kind if kind in texts else ""]


class _Words(Formatter):
    """Fills in `{path}`, also of a list; `{path:bytes}` and others of _FORMATS; `{path:.1f}`; and
    `{path:GPU}` for so many GPUs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec in _FORMATS:
            return _FORMATS[format_spec](value)
        if _OF_PYTHON.fullmatch(format_spec):
            return format(value, format_spec)
        is_list = isinstance(value, (list, tuple))
        if format_spec:
            return plural(len(value) if is_list else value, format_spec)
        return (", ".join(value) or "none") if is_list else str(value)


def filled(text: str, facts: Mapping[str, Any]) -> str:
    """The text with its {names} replaced."""
    return _Words().vformat(text, (), facts)


def value_at(machine: Any, path: str) -> Any:
    """What stands at a path such as `limits.stack.soft`; None where part of it is unknown."""
    value: Any = machine
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value
