"""The findings of doctor: as lines for people, and as JSON, which reports read.

The structs are evaluated by Python 3.9 too, as in model/start.py.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Optional

import msgspec
from rich.console import Console

from commlens.base.inputs import read_text
from commlens.base.json_line import decode
from commlens.base.text import plural, printable
from commlens.findings.finding import MOST, WIDEST, Evidence, Finding, Quote, Severity, hint
from commlens.model import embedded
from commlens.model.reading import record_files
from commlens.render.show import STYLES, leveled
from commlens.render.table import Line, Lines
from commlens.render.terminal import print_things

if TYPE_CHECKING:
    from commlens.compare.verdicts import Proof
    from commlens.findings.examination import Examination
    from commlens.findings.rule import RuleOutcome
    from commlens.machine.machine import Machine

FILE = "doctor.json"  # what --out FOLDER writes there, beside the records of short runs
_MOST_QUOTES = 6
_STYLES = {**STYLES, "ok": "green", "not applicable": "dim"}
_COLUMN = max(map(len, _STYLES))
_LEVELS = {"error": "problem", "warning": "problem", "note": "advice"}
_LONGEST_QUOTE = 300
_NOT_APPLICABLE = "not applicable"
_MOST_REASONS = 3


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
        """Prints the line of a rule, unless it is not applicable here."""
        rule, verdict = outcome.rule, outcome.verdict
        if verdict == _NOT_APPLICABLE:
            return
        lines: list[Line] = [[(rule.section, "bold")]] if rule.section != self._section else []
        self._section = rule.section
        head = (f"  {verdict:<{_COLUMN}}  ", _STYLES[verdict])
        lines.append([head, (rule.when.rstrip("."), "")])
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


def print_findings(
    examination: Examination, proofs: dict[int, Proof], console: Console, *, every: bool
) -> None:
    """Prints the findings, the worst first and not too many unless `every`, and how many checks
    there were."""
    skipped = [outcome.reason for outcome in examination.outcomes if outcome.reason]
    lines: list[Line] = [[(_why_skipped(skipped), "dim")]] if skipped else []
    shown = examination.findings if every else examination.findings[:MOST]
    for finding in shown:
        level = _LEVELS[finding.severity]
        head = _wrapped(f"{level}: {finding.sentence} [{finding.code}]", "  ")
        lines += [[], *leveled(level, [*head, *_below(finding, proofs.get(id(finding)))])]
    if rest := hint(len(examination.findings) - len(shown), "doctor"):
        lines += [[], [(rest, "dim")]]
    summary = _summary([outcome.verdict for outcome in examination.outcomes])
    print_things(console, [Lines([*lines, [], [(summary, "")]])])


def _why_skipped(reasons: Sequence[str]) -> str:
    """`not applicable: 71 checks (40: there is no GPU; 12: MPI does not use UCX here; ...)`"""
    counts = Counter(reasons)
    # The last outcome is that of the short runs: why there were none is always said.
    common = [reasons[-1], *(reason for reason, _ in counts.most_common(_MOST_REASONS))]
    named = "; ".join(f"{counts[reason]}: {reason}" for reason in dict.fromkeys(common))
    others = "; ..." if len(counts) > len(set(common)) else ""
    return f"{_NOT_APPLICABLE}: {plural(len(reasons), 'check')} ({named}{others})"


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


def _summary(verdicts: Sequence[str]) -> str:
    """`37 checks: 1 problem, 2 advice, 20 ok, 14 not applicable`"""
    order = ("problem", "advice", "ok", "not applicable")
    counts = [f"{verdicts.count(name)} {name}" for name in order if name in verdicts]
    return f"{plural(len(verdicts), 'check')}: {', '.join(counts)}"


def as_json(examination: Examination, proofs: dict[int, Proof]) -> str:
    """The document that `--format json` prints and `--out` writes; `examined` reads it."""
    findings = [_finding(finding, proofs.get(id(finding))) for finding in examination.findings]
    document = {
        "checks": [
            {
                "code": outcome.rule.code,
                "about": outcome.rule.section,
                "looks_at": outcome.rule.when,
                "verdict": outcome.verdict,
                "reason": outcome.reason,
            }
            for outcome in examination.outcomes
        ],
        "findings": findings,
        "machines": examination.view.machines,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode()


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


class _Proof(msgspec.Struct, frozen=True):
    text: str = ""


class _Finding(msgspec.Struct, frozen=True):
    code: str
    severity: Severity
    title: str
    sentence: str
    where: str
    evidence: list[Quote]
    fix: str
    proof: Optional[_Proof] = None  # noqa: UP045

    @property
    def finding(self) -> Finding:
        quotes = self.evidence[:_MOST_QUOTES]
        if self.proof and self.proof.text:
            quotes.append(Quote("tried", self.proof.text))
        evidence = Evidence(self.where, quotes=tuple(quotes))
        head = (self.code, self.severity, self.title, self.sentence)
        return Finding(*head, evidence, None, self.fix)


class _Check(msgspec.Struct, frozen=True):
    verdict: Literal["problem", "advice", "ok", "not applicable"]


class _Machine(msgspec.Struct, frozen=True):
    host: str


class Document(msgspec.Struct, frozen=True):
    """What doctor wrote, as far as a report shows it."""

    checks: list[_Check]
    findings: list[_Finding]
    machines: list[_Machine]

    @property
    def hosts(self) -> str:
        """`node01`, `node01 and 3 more`"""
        hosts = dict.fromkeys(machine.host for machine in self.machines)
        names = list(hosts) or ["an unknown host"]
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    @property
    def summary(self) -> str:
        """`doctor on node01: 93 checks: 22 ok, 71 not applicable`"""
        return f"doctor on {self.hosts}: {_summary([check.verdict for check in self.checks])}"


_DECODER = msgspec.json.Decoder(Document)


@dataclass(frozen=True)
class Examined:
    """`texts` are the files by their names."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def examined(paths: Iterable[Path]) -> tuple[list[Path], Examined]:
    """The paths that have records, and what doctor wrote: in files *.json, beside the records of a
    folder, and in reports."""
    with_records: list[Path] = []
    result = Examined()
    for path in paths:
        texts = list(_texts(path))
        for name, text in texts:
            try:
                result.documents.append(decode(text, _DECODER))
                result.texts.append((name, text))
            except ValueError as error:
                file = path if path.is_file() else path / name
                result.problems.append(f"{file}: not what commlens doctor writes ({error})")
        is_without = path.suffix == ".json" or (path.is_dir() and not record_files(path))
        if not (texts and is_without):
            with_records.append(path)
    return with_records, result


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    file = path / FILE if path.is_dir() else path
    if path.suffix == ".json" or (path.is_dir() and file.is_file()):
        yield file.name, read_text(file, kind="what doctor wrote", is_lenient=True)
    elif path.is_file() and embedded.is_page(path):
        with suppress(ValueError):  # of a page that is damaged: who reads its records says so
            for name, lines in embedded.unpacked(path, embedded.DOCTOR):
                yield name, "".join(lines)
