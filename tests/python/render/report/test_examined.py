"""What doctor wrote, in a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commlens.model import embedded
from conftest import Commlens
from hostile import ESCAPES
from record_helpers import write
from report_helpers import Page, assert_harmless, sweep

MARKUP = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


def document(**changes: Any) -> dict[str, Any]:
    """As `commlens doctor --format json` has it."""
    finding = {
        "code": "ucx-tls-tcp-only",
        "level": "problem",
        "severity": "warning",
        "title": "UCX_TLS allows TCP alone",
        "sentence": "UCX_TLS=tcp,self leaves TCP alone.",
        "where": "node01",
        "evidence": [{"source": "environment", "line": "UCX_TLS=tcp,self"}],
        "fix": "`unset UCX_TLS`.",
        "setting": None,
        "proof": {"text": "latency: 93.29 us -> 0.3772 us (247x): better."},
        **changes,
    }
    checks = [{"code": "a", "verdict": "problem"}, {"code": "b", "verdict": "ok"}]
    return {"checks": checks, "findings": [finding], "machines": [{"host": "node01"}]}


def folder(path: Path, *records: dict[str, Any], **changes: Any) -> Path:
    path.mkdir()
    (path / "doctor.json").write_text(json.dumps(document(**changes), indent=1))
    if records:
        write(path / "doctor.jsonl", *records)
    return path


def test_a_folder_of_doctor_is_reported_with_its_findings(
    commlens: Commlens, tmp_path: Path
) -> None:
    done = commlens("report", folder(tmp_path / "kept", *sweep()))
    assert done.returncode == 0, done.stderr
    page = Path("report.html").read_text()
    text = Page(page).text
    for words in (
        "UCX_TLS=tcp,self leaves TCP alone.",
        "environment: UCX_TLS=tcp,self",
        "tried: latency: 93.29 us -> 0.3772 us (247x): better.",
        "doctor on node01: 2 checks: 1 problem, 1 ok",
        "slower than NCCL",  # of the records
    ):
        assert words in text, words
    assert_harmless(page)


def test_a_page_has_it_in_it(commlens: Commlens, tmp_path: Path) -> None:
    commlens("report", folder(tmp_path / "kept", *sweep()), "--out", "first.html")
    ((name, _),) = embedded.unpacked(Path("first.html"), embedded.DOCTOR)
    assert name == "doctor.json"
    commlens("report", "first.html", "--out", "second.html")
    assert Path("first.html").read_text() == Path("second.html").read_text()
    assert commlens("show", "first.html").returncode == 0, "records are read as before"


def test_it_needs_no_records(commlens: Commlens, tmp_path: Path) -> None:
    kept = folder(tmp_path / "kept")
    for path in (kept, kept / "doctor.json"):
        done = commlens("report", path, "--format", "markdown")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("# node01")
        assert "UCX\\_TLS=tcp,self leaves TCP alone" in done.stdout


def test_findings_of_records_are_said_once(commlens: Commlens, tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", *sweep())
    commlens("report", tmp_path / "records.jsonl", "--format", "markdown", "--out", "own.md")
    sentence = next(
        line[2:].replace("\\", "")
        for line in Path("own.md").read_text().splitlines()
        if line.startswith("- MPI takes")
    )
    kept = folder(tmp_path / "kept", *sweep(), code="mpi-slower-than-ccl", sentence=sentence)
    done = commlens("report", kept, "--format", "markdown")
    assert done.stdout.count(sentence.split(" (")[0]) == 1


@pytest.mark.parametrize("text", [MARKUP, ESCAPES.encode("utf-8", "replace").decode(), "x" * 5000])
def test_no_text_of_it_is_markup(text: str, commlens: Commlens, tmp_path: Path) -> None:
    texts = dict.fromkeys(("code", "title", "sentence", "where", "fix"), text)
    quotes = [{"source": text, "line": text}] * 1000
    kept = folder(tmp_path / "kept", evidence=quotes, proof={"text": text}, **texts)
    assert commlens("report", kept).returncode == 0
    page = Path("report.html").read_text()
    assert_harmless(page)
    assert "<script>alert(1)" not in page and len(page) < 200_000


@pytest.mark.parametrize("text", ["", "{cut", "[]", '{"checks": []}', "[" * 100_000, "\0"])
def test_other_documents_are_named(text: str, commlens: Commlens, tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", *sweep())
    (tmp_path / "doctor.json").write_text(text)
    done = commlens("report", tmp_path)
    assert done.returncode == 1
    assert "doctor.json: not what commlens doctor writes" in done.stderr
    assert "slower than NCCL" in Path("report.html").read_text()
    assert commlens("report", tmp_path / "none.json").returncode != 0
