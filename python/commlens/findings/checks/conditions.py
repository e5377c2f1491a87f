"""Decides the entries of knowledge/checks that have conditions on values of a machine (`where`), on
variables of its environment (`variables`), on what the driver shows of each GPU (`gpus`), or on
what must be alike on all nodes (`differ`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commlens.findings.checks.nodes import compared
from commlens.findings.entry import Entry, filled, value_at
from commlens.findings.facts import RUNS, variable
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed
from commlens.findings.view import View, not_seen
from commlens.machine.gpus import Gpu
from commlens.machine.machine import Machine


def of_machine(entry: Entry, looked_at: Any) -> Seen:
    """Applies an entry to a machine, or to all of a view where they are compared."""
    return _differences(entry, looked_at) if entry.differ else _of_machine(entry, looked_at)


def _differences(entry: Entry, view: View) -> Seen:
    def facts(machine: Machine) -> dict[str, str]:
        values = {name: value_at(machine, path) for name, path in entry.differ.items()}
        return {
            name: entry.unknown if value in (None, "") else filled("{value}", {"value": value})
            for name, value in values.items()
        }

    return compared(view, facts)


def _of_machine(entry: Entry, machine: Machine) -> Seen:
    for path, what in entry.seen.items():
        if value_at(machine, path) is None:
            raise not_seen(what)
    tests = entry.where.items()
    if tests and all(test.passes(value_at(machine, path)) for path, test in tests):
        yield observed()
    for name, wanted in entry.variables.items():
        value, quote = variable(machine, name)
        if wanted.passes(value):
            line = quote.line if value else f"{name} is not set"
            setting = Setting({name: wanted.set_to}, shown_by=RUNS.get(entry.shown_by, ()))
            yield observed(Quote(quote.source, line), setting=setting, line=line, name=name)
    if entry.gpus:
        yield from _of_gpus(entry, machine)


def _of_gpus(entry: Entry, machine: Machine) -> Seen:
    gpus = known_gpus(machine, *(test.field for test in entry.gpus), every=False)
    told: set[int] = set()  # by the test before
    for test in entry.gpus:
        bad = [one for one in gpus if test.passes(getattr(one, test.field))]
        bad = [one for one in bad if one.index not in told]
        told |= {one.index for one in bad}
        together = "{such}" in test.says
        for some in [bad] * bool(bad) if together else [[one] for one in bad]:
            quotes = [gpu_quote(machine, one, filled(test.line, {"gpu": one})) for one in some]
            facts = {"gpu": some[0], "such": such_gpus(gpus, some)}
            yield observed(*quotes, text=filled(test.says, facts), gpu=some[0])


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
