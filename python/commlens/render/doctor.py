"""The findings of doctor, as lines for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from commlens.base.text import plural, printable
from commlens.compare.verdicts import Proof
from commlens.findings.examination import Examination
from commlens.findings.finding import WIDEST, Finding
from commlens.findings.rule import RuleOutcome
from commlens.machine.machine import Machine
from commlens.render.data import json_text
from commlens.render.findings import STYLES, leveled
from commlens.render.table import Line, Lines
from commlens.render.terminal import print_things

_STYLES = {**STYLES, "ok": "green", "not applicable": "dim"}
_COLUMN = max(map(len, _STYLES))
_LEVELS = {"error": "problem", "warning": "problem", "note": "advice"}
_LONGEST_QUOTE = 300


class Progress:
    """The machines, and a line for each rule when it was applied, below its section."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._section = ""

    def begin(self, machines: Sequence[Machine]) -> None:
        """Prints what the machines are."""
        lines = [[(_described(machine), "dim")] for machine in machines]
        print_things(self._console, [Lines(lines)])

    def add(self, outcome: RuleOutcome) -> None:
        """Prints the line of a rule."""
        rule, verdict = outcome.rule, outcome.verdict
        lines: list[Line] = [[(rule.section, "bold")]] if rule.section != self._section else []
        self._section = rule.section
        reason = f": {outcome.reason}" if verdict == "not applicable" else ""
        head = (f"  {verdict:<{_COLUMN}}  ", _STYLES[verdict])
        lines.append([head, (rule.when.rstrip("."), ""), (reason, "dim")])
        print_things(self._console, [Lines(lines)])


def _described(machine: Machine) -> str:
    """`node01: Open MPI v5.0.7 (/opt/lib/libmpi.so.40), UCX 1.18.0, NCCL 2.28.3, 2 GPUs`"""
    library, devices = machine.mpi.library, machine.devices
    parts = [
        f"{library.name} ({library.path})" if library else "no MPI library",
        machine.ucx.name if machine.ucx.library else "",
        f"NCCL {machine.nccl.version}" if machine.nccl.version else "",
        plural(devices.gpus, "GPU") if devices.gpus else "no GPU",
        plural(len(devices.rdma), "RDMA adapter") if devices.rdma else "",
    ]
    return f"{machine.host}: {', '.join(filter(None, parts))}"


def print_findings(examination: Examination, proofs: dict[int, Proof], console: Console) -> None:
    """Prints the findings, the worst first, and how many checks there were."""
    lines: list[Line] = []
    for finding in examination.findings:
        level = _LEVELS[finding.severity]
        head = _wrapped(f"{level}: {finding.sentence} [{finding.code}]", "  ")
        lines += [[], *leveled(level, [*head, *_below(finding, proofs.get(id(finding)))])]
    print_things(console, [Lines([*lines, [], [(_summary(examination), "")]])])


def _below(finding: Finding, proof: Proof | None) -> Iterator[str]:
    for quote in finding.evidence.quotes:
        yield f"    {printable(str(quote))[:_LONGEST_QUOTE]}"
    yield from _wrapped(f"  fix: {finding.fix}", "    ")
    if proof is not None:
        yield from _wrapped(f"  tried: {proof}", "    ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        printable(text), WIDEST, subsequent_indent=indent, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def _summary(examination: Examination) -> str:
    """`37 checks: 1 problem, 2 advice, 20 ok, 14 not applicable`"""
    verdicts = [own.verdict for own in examination.outcomes]
    order = ("problem", "advice", "ok", "not applicable")
    counts = [f"{verdicts.count(name)} {name}" for name in order if name in verdicts]
    return f"{plural(len(verdicts), 'check')}: {', '.join(counts)}"


def as_json(examination: Examination, proofs: dict[int, Proof]) -> str:
    """The document that `--format json` prints and `--out` writes; doctor_document.py reads it."""
    document = {
        "checks": [
            {
                "code": one.rule.code,
                "about": one.rule.section,
                "looks_at": one.rule.when,
                "verdict": one.verdict,
                "reason": one.reason,
            }
            for one in examination.outcomes
        ],
        "findings": [_finding(one, proofs.get(id(one))) for one in examination.findings],
        "machines": examination.view.machines,
    }
    return json_text(document)


def _finding(finding: Finding, proof: Proof | None) -> dict[str, Any]:
    return {
        "code": finding.code,
        "level": _LEVELS[finding.severity],
        "severity": finding.severity,
        "title": finding.subject,
        "sentence": finding.sentence,
        "where": finding.evidence.where,
        "evidence": finding.evidence.quotes,
        "fix": finding.fix,
        "setting": finding.setting,
        "proof": proof and proof.plain,
    }
