"""What doctor wrote (--out, --format json), read again. Like records, it may come from anywhere.

The structs are evaluated by Python 3.9 too, as in model/start.py.
"""

from collections import Counter
from typing import Optional

import msgspec

from commlens.base.json_line import decode
from commlens.base.text import plural
from commlens.findings.finding import Evidence, Finding, Quote, Severity

FILE = "doctor.json"  # what --out FOLDER writes there, beside the records of short runs
_MOST_QUOTES = 6


class _Line(msgspec.Struct, frozen=True):
    source: str
    line: str


class _Proof(msgspec.Struct, frozen=True):
    text: str = ""


class _Found(msgspec.Struct, frozen=True):
    code: str
    severity: Severity
    title: str
    sentence: str
    where: str
    evidence: list[_Line]
    fix: str
    proof: Optional[_Proof] = None

    @property
    def finding(self) -> Finding:
        quotes = [Quote(one.source, one.line) for one in self.evidence[:_MOST_QUOTES]]
        if self.proof and self.proof.text:
            quotes.append(Quote("tried", self.proof.text))
        evidence = Evidence(self.where, quotes=tuple(quotes))
        return Finding(
            self.code, self.severity, self.title, self.sentence, evidence, None, self.fix
        )


class _Check(msgspec.Struct, frozen=True):
    verdict: str


class _Machine(msgspec.Struct, frozen=True):
    host: str


class Document(msgspec.Struct, frozen=True):
    """What doctor wrote, as far as a report shows it."""

    checks: list[_Check]
    findings: list[_Found]
    machines: list[_Machine]

    @property
    def found(self) -> list[Finding]:
        """The findings, with the lines that show them."""
        return [one.finding for one in self.findings]

    @property
    def hosts(self) -> str:
        """`node01`, `node01 and 3 more`"""
        names = list(dict.fromkeys(one.host for one in self.machines)) or ["an unknown host"]
        return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"

    @property
    def summary(self) -> str:
        """`doctor on node01: 93 checks: 22 ok, 71 not applicable`"""
        verdicts = Counter(one.verdict for one in self.checks)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common(4))
        return f"doctor on {self.hosts}: {plural(len(self.checks), 'check')}: {counts}"


_DECODER = msgspec.json.Decoder(Document)


def parse(text: str) -> Document:
    """Parses a document; raises ValueError with what is wrong with it."""
    try:
        return decode(text, _DECODER)
    except ValueError as error:
        raise ValueError(f"not what commlens doctor writes ({error})") from None
