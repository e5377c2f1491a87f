"""Rules on machines that are data: the entries of knowledge/checks.

An entry looks at values of a machine (`where`), variables of its environment (`variables`), what
the driver shows of each GPU (`gpus`), or what must be alike on all nodes (`differ`).
CONTRIBUTING.md has an example.
"""

# The structs are evaluated by Python 3.9 too: no `from __future__ import annotations`, no `X | Y`.
from collections.abc import Iterator, Sequence
from string import Formatter
from typing import Any, Optional, Union

import msgspec
from msgspec import structs

from commlens import knowledge
from commlens.base.text import format_bytes, plural
from commlens.findings.checks.nodes import compared
from commlens.findings.facts import RUNS, is_no, is_yes, variable
from commlens.findings.finding import Quote, Setting, Severity
from commlens.findings.rule import Observation, Rule, observed, register
from commlens.findings.view import View, not_seen
from commlens.machine.gpus import Gpu
from commlens.machine.machine import Machine

_FOLDER = "checks"


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
                not equal or text.lower() in [one.lower() for one in equal],
                self.other_than is None or text not in ("", self.other_than),
                self.below is None or value < self.below,
                self.above is None or value > self.above,
                self.has is None or self.has in value,
                not any(one in value for one in lacking),
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
    """A rule; texts in braces are paths from the machine: `{limits.stack.soft:bytes}`."""

    code: str
    severity: Severity
    subject: str
    needs: list[str] = []  # facts
    when: str  # with {below:bytes} for the threshold of `where`
    fix: str
    says: str = ""
    seen: dict[str, str] = {}  # paths that must be known, and what cannot be seen otherwise
    where: dict[str, Test] = {}
    shown: list[tuple[str, str]] = []  # source and line
    words: dict[str, str] = {}  # of the fix
    variables: dict[str, Variable] = {}
    gpus: list[GpuTest] = []
    shown_by: str = ""  # of facts.RUNS
    differ: dict[str, str] = {}  # names and paths of what must be alike on all nodes
    unknown: str = "none"  # what stands for a fact that is not known

    @property
    def rule_needs(self) -> tuple[str, ...]:
        """All that the rule needs."""
        driver = ("GPU of the driver",) if self.gpus else ()
        return ("machines" if self.differ else "machine", *driver, *self.needs)

    def look(self, view: View) -> Iterator[Observation]:
        """Applies the entry."""
        if self.differ:
            yield from compared(view, self._facts, self.says)
            return
        machine = view.machine
        for path, what in self.seen.items():
            if value_at(machine, path) is None:
                raise not_seen(what)
        if self.where and all(
            test.passes(value_at(machine, path)) for path, test in self.where.items()
        ):
            quotes = [Quote(_text(a, machine), _text(b, machine)) for a, b in self.shown]
            words = {name: _text(text, machine) for name, text in self.words.items()}
            yield observed(_text(self.says, machine), *quotes, words=words)
        yield from self._of_variables(machine)
        yield from self._of_gpus(machine)

    def _facts(self, machine: Machine) -> dict[str, str]:
        values = {name: value_at(machine, path) for name, path in self.differ.items()}
        return {
            name: self.unknown if value in (None, "") else _text("{value}", machine, value=value)
            for name, value in values.items()
        }

    def _of_variables(self, machine: Machine) -> Iterator[Observation]:
        for name, test in self.variables.items():
            value, quote = variable(machine, name)
            if not test.passes(value):
                continue
            line = quote.line if value else f"{name} is not set"
            yield observed(
                _text(self.says, machine, line=line, value=value),
                Quote(quote.source, line),
                words={"name": name},
                setting=Setting({name: test.set_to}, shown_by=RUNS.get(self.shown_by, ())),
            )

    def _of_gpus(self, machine: Machine) -> Iterator[Observation]:
        if not self.gpus:
            return
        gpus = known_gpus(machine, *(test.field for test in self.gpus), every=False)
        told: set[int] = set()  # by the test before
        for test in self.gpus:
            bad = [one for one in gpus if test.passes(getattr(one, test.field))]
            bad = [one for one in bad if one.index not in told]
            told |= {one.index for one in bad}
            together = "{such}" in test.says
            for some in [bad] * bool(bad) if together else [[one] for one in bad]:
                yield observed(
                    _text(test.says, machine, gpu=some[0], such=such_gpus(gpus, some)),
                    *(gpu_quote(machine, one, _text(test.line, machine, gpu=one)) for one in some),
                    words={name: _text(text, machine, gpu=some[0])
                           for name, text in self.words.items()},
                )  # fmt: skip


def known_gpus(machine: Machine, *fields: str, every: bool = True) -> list[Gpu]:
    """The GPUs of which all of `fields`, or not `every` but any, are known.

    Raises NotApplicable where there is none.
    """
    enough = all if every else any
    gpus = [
        gpu
        for gpu in machine.gpus.gpus
        if enough(getattr(gpu, name) is not None for name in fields)
    ]
    if not gpus:
        raise not_seen(f"{machine.gpus.source} does not show it of these GPUs")
    return gpus


def gpu_quote(machine: Machine, gpu: Gpu, line: str) -> Quote:
    """A line of what the driver shows of a GPU."""
    return Quote(machine.gpus.source, f"{gpu.pci or gpu.index}: {line}")


def such_gpus(gpus: Sequence[Gpu], bad: Sequence[Gpu]) -> str:
    """`GPU 0`, `GPUs 0, 1 and 2`, `all 8 GPUs`"""
    if len(bad) == len(gpus) > 1:
        return f"all {len(gpus)} GPUs"
    *most, last = [str(gpu.index) for gpu in bad]
    return f"GPUs {', '.join(most)} and {last}" if most else f"GPU {last}"


def value_at(machine: Machine, path: str) -> Any:
    """What stands at a path such as `limits.stack.soft`; None where part of it is unknown."""
    value: Any = machine
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


class _Words(Formatter):
    """Fills in `{path}`, also of a list, which has a `{path:count}`; `{path:bytes}` for a size; and
    `{path:GPU}` for so many GPUs."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "bytes":
            return format_bytes(value)
        if format_spec == "count":
            return str(len(value))
        if isinstance(value, (list, tuple)):
            return plural(len(value), format_spec) if format_spec else ", ".join(value) or "none"
        return plural(value, format_spec) if format_spec else str(value)


def _text(text: str, machine: Machine, **more: Any) -> str:
    return _Words().vformat(text, (), {**structs.asdict(machine), **more})


class CheckSection(msgspec.Struct, forbid_unknown_fields=True):
    """The layout of a file of knowledge/checks."""

    section: str
    rules: list[Entry]


def rule_of(entry: Entry, section: str) -> Rule:
    """The rule that applies an entry."""
    below = next((test.below for test in entry.where.values() if test.below is not None), None)
    when = _Words().vformat(entry.when, (), {"below": below})
    return Rule(
        entry.code, entry.severity, entry.subject, entry.rule_needs, when, {"": entry.fix}, section,
        entry.look,
    )  # fmt: skip


for _name in knowledge.names(_FOLDER):
    _section = knowledge.load(f"{_FOLDER}/{_name}", CheckSection)
    for _entry in _section.rules:
        register(rule_of(_entry, _section.section))
