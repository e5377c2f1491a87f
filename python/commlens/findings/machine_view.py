"""What checks look at: machines, and what short runs on them gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from commlens.findings.behaviour import Behaviour
from commlens.findings.view import View
from commlens.machine.machine import Machine
from commlens.model import Record, Start


@dataclass(frozen=True)
class DoctorView:
    machines: Sequence[Machine]  # one a node: that of this process first
    behaviour: Behaviour = field(default_factory=Behaviour)
    nodes: int = 1  # that were asked for

    @property
    def machine(self) -> Machine:
        return self.machines[0]

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that concern communication."""
        return self.machine.environment

    @property
    def records(self) -> Sequence[Record]:
        return self.behaviour.records

    @cached_property
    def launches(self) -> list[tuple[Start, tuple[Record, ...]]]:
        """Each with its records; the placement of ranks is in it."""
        return View(self.records).launches

    @property
    def of_each_machine(self) -> list[DoctorView]:
        return [DoctorView([one], self.behaviour) for one in self.machines]
