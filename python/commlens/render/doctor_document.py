"""What doctor wrote (--out, --format json), read again. Like records, it may come from anywhere.

The structs are evaluated by Python 3.9 too, as in model/start.py.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import msgspec

from commlens.base.errors import CommlensError, reason
from commlens.base.json_line import decode
from commlens.base.text import plural
from commlens.findings.finding import Evidence, Finding, Quote, Severity
from commlens.model import embedded

FILE = "doctor.json"  # what --out FOLDER writes there, beside the records of short runs
_MOST_QUOTES = 6
_MOST_BYTES = 2**24


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
    found = Examined()
    for path in paths:
        own = list(_texts(path))
        for name, text in own:
            try:
                found.documents.append(decode(text, _DECODER))
                found.texts.append((name, text))
            except ValueError as error:
                file = path if path.is_file() else path / name
                found.problems.append(f"{file}: not what commlens doctor writes ({error})")
        is_without = path.suffix == ".json" or (path.is_dir() and not any(path.glob("*.jsonl")))
        if not (own and is_without):
            with_records.append(path)
    return with_records, found


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    file = path / FILE if path.is_dir() else path
    if path.suffix == ".json" or (path.is_dir() and file.is_file()):
        yield file.name, _read(file)
    elif path.is_file() and embedded.is_page(path):
        with suppress(ValueError):  # of a page that is damaged: who reads its records says so
            for name, lines in embedded.unpacked(path, embedded.DOCTOR):
                yield name, "".join(lines)


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise CommlensError(f"{file} is too large for what doctor writes")
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise CommlensError(f"{file} cannot be read: {reason(error)}") from None
