"""What rules over records and checks of the machine have in common: a code, a severity, a fix, and
that they are found by being in a folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Generic, TypeVar

from commlens.findings.finding import Cost, Evidence, Finding, Setting, Severity


@dataclass(frozen=True)
class Observation:
    """What a rule or a check found, in the words of this place; the rest of a finding is its
    own."""

    what: str  # the sentence without its full stop, as the cost follows it
    evidence: Evidence
    cost: Cost | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # for the {names} in the fix
    kind: str = ""  # which of the fixes, if there are several
    setting: Setting | None = None  # the fix, if it is one that can be tried

    @property
    def sentence(self) -> str:
        return f"{self.what}." if self.cost is None else f"{self.what}: {self.cost}."


@dataclass(frozen=True)
class Registered:
    code: str
    severity: Severity
    title: str
    speaks: str  # when, with its thresholds: a sentence of docs/findings.md
    fixes: Mapping[str, str]  # by kind, mostly one; with {names} that an observation fills in
    module: str  # where it stands

    @property
    def subject(self) -> str:
        """A heading of docs/findings.md."""
        return self.module.rpartition(".")[2]

    def findings_of(self, observations: Iterable[Observation]) -> Iterator[Finding]:
        """What is the same in several launches is one finding with the records of all."""
        found: dict[str, list[Observation]] = {}
        for one in observations:
            found.setdefault(one.sentence, []).append(one)
        for sentence, own in found.items():
            first = own[0]
            records = tuple(record for one in own for record in one.evidence.records)
            evidence = replace(first.evidence, records=records)
            fix = self.fixes[first.kind].format_map(first.words)
            yield Finding(
                self.code,
                self.severity,
                self.title,
                sentence,
                evidence,
                first.cost,
                fix,
                first.setting,
            )


One = TypeVar("One", bound=Registered)


class Registry(Generic[One]):
    """Those in the files of a folder, which are found by being there."""

    def __init__(self, noun: str, folder: str) -> None:
        self._noun, self._folder = noun, folder
        self._own: dict[str, One] = {}

    def add(self, one: One) -> None:
        if one.code in self._own:
            raise ValueError(f"two {self._noun}s have the code '{one.code}'")
        self._own[one.code] = one

    def all(self) -> list[One]:
        """In the order of files, and in each as they stand there."""
        for found in pkgutil.iter_modules(import_module(self._folder).__path__):
            import_module(f"{self._folder}.{found.name}")
        return sorted(self._own.values(), key=lambda one: one.module)
