"""Decides the entries of knowledge/checks that have conditions on values of a machine (`where`), on
variables of its environment (`variables`), on what the driver shows of each GPU (`gpus`), or on
what must be alike on all nodes (`differ`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from commlens.findings.entry import Entry, filled, value_at
from commlens.findings.facts import RUNS, variable
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable, View, grouped, not_seen
from commlens.machine.gpus import Gpu
from commlens.machine.machine import Machine

ONE_NODE = "one node was looked at"


def of_machine(entry: Entry, looked_at: Any) -> Seen:
    """Applies an entry to a machine, or to all of a view where they are compared."""

    def shown(machine: Machine, path: str) -> str:
        is_known = value_at(machine, path.partition(":")[0]) not in (None, "")
        return filled(f"{{{path}}}", structs.asdict(machine)) if is_known else entry.unknown

    def facts(machine: Machine) -> dict[str, str]:
        return {name: shown(machine, path) for name, path in entry.differ.items()}

    return compared(looked_at, facts) if entry.differ else _of_machine(entry, looked_at)


def compared(view: View, facts: Callable[[Machine], Mapping[str, str]]) -> Seen:
    """Compares the facts of all machines, by their names."""
    by_host = {machine.host: facts(machine) for machine in view.machines}
    if len(view.machines) < 2:
        raise NotApplicable(ONE_NODE)
    for name in dict.fromkeys(name for entries in by_host.values() for name in entries):
        values = {host: entries.get(name, "none") for host, entries in by_host.items()}
        by_value = grouped(values, values.__getitem__)
        if len(by_value) > 1:
            # The fewest first: that is the odd one.
            ordered = sorted(by_value.items(), key=lambda item: len(item[1]))
            lines = [(", ".join(hosts[:3]), f"{name}: {value or 'empty'}")
                     for value, hosts in ordered]  # fmt: skip
            odd = lines[0][0]
            quotes = (Quote(*line) for line in lines)
            yield observed(*quotes, where=odd, name=name, count=len(view.machines), odd=odd)


def _of_machine(entry: Entry, machine: Machine) -> Seen:
    for path, reason in entry.seen.items():
        if value_at(machine, path) is None:
            raise not_seen(reason)
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
    reported: set[int] = set()  # by the test before
    for test in entry.gpus:
        bad = [gpu for gpu in gpus if test.passes(getattr(gpu, test.field))]
        bad = [gpu for gpu in bad if gpu.index not in reported]
        reported |= {gpu.index for gpu in bad}
        together = "{such}" in test.says
        for some in [bad] * bool(bad) if together else [[gpu] for gpu in bad]:
            quotes = [gpu_quote(machine, gpu, filled(test.line, {"gpu": gpu})) for gpu in some]
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
