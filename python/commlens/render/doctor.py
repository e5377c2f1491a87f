"""What doctor found, as lines for people and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from commlens.base.text import plural, printable
from commlens.compare.proof import Proof
from commlens.findings.examination import Examination
from commlens.findings.finding import WIDEST, Finding
from commlens.findings.rule import Outcome
from commlens.machine.machine import Machine

_STYLES = {"ok": "green", "advice": "cyan", "problem": "bold red", "not applicable": "dim"}
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
        for machine in machines:
            self._console.print(Text(printable(_described(machine)), style="dim"), soft_wrap=True)

    def add(self, outcome: Outcome) -> None:
        """Prints the line of a rule."""
        rule, verdict = outcome.rule, outcome.verdict
        if rule.section != self._section:
            self._console.print(Text(rule.section, style="bold"))
            self._section = rule.section
        text = Text(f"  {verdict:<{_COLUMN}}  ", style=_STYLES[verdict])
        text.append(printable(rule.when.rstrip(".")), style="")
        if verdict == "not applicable":
            text.append(printable(f": {outcome.reason}"), style="dim")
        self._console.print(text, soft_wrap=True)


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
    """The worst first, and how many checks there were."""
    for finding in examination.findings:
        console.print()
        level = _LEVELS[finding.severity]
        first, *others = _wrapped(f"{level}: {finding.sentence} [{finding.code}]", "  ")
        head = Text(level, style=_STYLES[level])
        console.print(head.append(first[len(level) :], style="not bold default"), soft_wrap=True)
        for line in (*others, *_below(finding, proofs.get(id(finding)))):
            console.print(Text(line), soft_wrap=True)
    console.print()
    console.print(Text(_summary(examination)), soft_wrap=True)


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
    counts = [
        f"{verdicts.count(name)} {name}"
        for name in ("problem", "advice", "ok", "not applicable")
        if verdicts.count(name)
    ]
    return f"{plural(len(verdicts), 'check')}: {', '.join(counts)}"


def as_json(examination: Examination, proofs: dict[int, Proof]) -> str:
    document = {
        "checks": [_check(own) for own in examination.outcomes],
        "findings": [_finding(one, proofs.get(id(one))) for one in examination.findings],
        "machines": examination.view.machines,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


def _check(outcome: Outcome) -> dict[str, Any]:
    return {
        "code": outcome.rule.code,
        "about": outcome.rule.section,
        "looks_at": outcome.rule.when,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
    }


def _finding(finding: Finding, proof: Proof | None) -> dict[str, Any]:
    setting = finding.setting
    return {
        "code": finding.code,
        "level": _LEVELS[finding.severity],
        "severity": finding.severity,
        "title": finding.subject,
        "sentence": finding.sentence,
        "where": finding.evidence.where,
        "evidence": [{"source": one.source, "line": one.line} for one in finding.evidence.quotes],
        "fix": finding.fix,
        "setting": None
        if setting is None
        else {
            "variables": dict(setting.variables),
            "launcher_arguments": list(setting.launcher_arguments),
            "shown_by": list(setting.shown_by),
        },
        "proof": None if proof is None else proof.plain,
    }
