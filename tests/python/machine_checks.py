"""Checks of doctor on recorded machines: what a check says of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from commlens.findings.behaviour import Behaviour
from commlens.findings.check import Outcome, all_checks
from commlens.findings.machine_view import DoctorView
from commlens.machine import cpus, kernel, links, nics
from commlens.machine.machine import Machine, look_at_gpus
from commlens.machine.system import RecordedSystem
from machine_helpers import recorded
from record_helpers import parsed

Given = Callable[[Path], DoctorView]


class Cases(NamedTuple):
    """By name: views of which a check says something, and others of which it says nothing."""

    speaks: Mapping[str, Given]
    silent: Mapping[str, Given]
    not_applicable: Mapping[str, Given]


def of(cases: Mapping[str, Cases], kind: str) -> Iterator[tuple[str, str, Given]]:
    for code, own in cases.items():
        for name, given in getattr(own, kind).items():
            yield code, name, given


def names(given: Sequence[tuple[str, str, Given]]) -> list[str]:
    return [f"{code}: {name}" for code, name, _ in given]


def machine(folder: Path, name: str, host: str = "node01", **changes: Any) -> Machine:
    """`changes`: those of `recorded`; `ucx` is a view that takes the place of an empty one."""
    ucx = changes.pop("ucx", None)
    system = recorded(folder, name, **changes)
    own = msgspec.structs.replace(
        _seen_in_files(system.folder),
        host=host,
        gpus=look_at_gpus(system),
        links=links.look(system),
    )
    return own if ucx is None else msgspec.structs.replace(own, ucx=ucx)


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

    def make(folder: Path) -> DoctorView:
        behaviour = Behaviour(records=parsed(*records), why_none="")
        return DoctorView([machine(folder, name, **changes)], behaviour)

    return make


def outcome(code: str, view: DoctorView) -> Outcome:
    return next(one for one in all_checks() if one.code == code).outcome(view)


def own_codes(*modules: str) -> set[str]:
    return {
        one.code
        for one in all_checks()
        if one.module.rpartition(".")[2] in modules and one.module.startswith("commlens.findings")
    }


def assert_a_finding(found: Outcome) -> None:
    """It names where, quotes a line, and says what to do."""
    assert found.verdict in ("problem", "advice"), found.reason
    for one in found.findings:
        assert one.evidence.where and one.evidence.quotes
        assert all(quote.source and quote.line for quote in one.evidence.quotes)
        assert one.sentence.endswith(".") and "None" not in one.sentence
        assert one.fix.endswith(".") and "{" not in one.fix
