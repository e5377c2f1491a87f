"""Views of recorded machines, and what a rule finds in them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from commlens.findings.behaviour import Behaviour
from commlens.findings.rule import RuleOutcome, rules_on_machines
from commlens.findings.view import View
from commlens.machine import cpus, kernel, links, nics
from commlens.machine.machine import Machine, look_at_gpus
from machine_helpers import RecordedSystem, recorded
from record_helpers import parsed
from sound_machine import Given

_CHANGED = TemporaryDirectory(prefix="commlens-tests-")  # files of machines that were changed


def machine(name: str, host: str = "node01", **changes: Any) -> Machine:
    """`changes`: those of `recorded`; `ucx` is a view that takes the place of an empty one."""
    ucx = changes.pop("ucx", None)
    folder = Path(_CHANGED.name) / str(len(list(Path(_CHANGED.name).iterdir())))
    folder.mkdir()
    system = recorded(folder, name, **changes)
    seen = msgspec.structs.replace(
        _seen_in_files(system.folder),
        host=host,
        gpus=look_at_gpus(system),
        links=links.look(system),
    )
    return seen if ucx is None else msgspec.structs.replace(seen, ucx=ucx)


@cache
def _seen_in_files(folder: Path) -> Machine:
    """What needs no command: many tests have the same files."""
    system = RecordedSystem(folder)
    return Machine(
        host="", nics=nics.look(system), cpus=cpus.look(system), kernel=kernel.look(system)
    )


def on(name: str, **changes: Any) -> Given:
    """One machine, on which nothing was started; `records` are those of short runs."""
    records = changes.pop("records", [])

    def make() -> View:
        behaviour = Behaviour(records=parsed(*records), why_none="")
        return View(machines=[machine(name, **changes)], behaviour=behaviour)

    return make


def outcome(code: str, view: View) -> RuleOutcome:
    """Of the rule with this code."""
    return next(rule for rule in rules_on_machines() if rule.code == code).outcome(view)
