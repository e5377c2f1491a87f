"""tools/gpu/doctor.sh and its table: what they say of what doctor has written. No GPU is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from commlens.findings.rule import rules_on_machines, rules_on_records

TOOLS = Path(__file__).resolve().parents[3] / "tools" / "gpu"
NAMES = ("case", "unit", "before", "after", "why_no_before", "why_no_after", "gain", "gain_low",
         "gain_high", "verdict")  # fmt: skip


def finding(code: str, level: str = "problem", **proof: object) -> dict[str, Any]:
    values = {**dict.fromkeys(NAMES), **proof} if proof else None
    return {"code": code, "level": level, "fix": f"Fix {code}.", "setting": None, "proof": values}


def written(out: Path, name: str, expected: str, *findings: dict[str, Any], status: int) -> Path:
    folder = out / name
    folder.mkdir(parents=True)
    texts = {"expected": expected, "what": f"about {name}", "status": str(status)}
    for file, text in texts.items():
        (folder / file).write_text(f"{text}\n")
    (folder / "doctor.json").write_text(json.dumps({"findings": list(findings)}))
    return folder


def table(out: Path) -> tuple[int, list[dict[str, Any]], str]:
    command = [sys.executable, str(TOOLS / "doctor_table.py"), str(out)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.returncode, json.loads((out / "summary.json").read_text()), run.stdout


def test_troubles_are_reported_with_their_fixes(tmp_path: Path) -> None:
    written(tmp_path, "sound", "", finding("x", "advice"), status=0)
    proofs: dict[tuple[str, str], dict[str, Any]] = {
        ("nccl-p2p", "nccl-p2p-disabled"): {
            "unit": "us", "before": 186.0, "after": 14.6, "gain": 12.7, "verdict": "better"
        },
        ("ucx-tls", "ucx-tls-without-gpu"): {
            "unit": "us", "after": 15.0, "why_no_before": "SIGSEGV", "verdict": "fixed"
        },
        ("one-core", "ranks-share-cores"): {},
    }  # fmt: skip
    for (name, code), proof in proofs.items():
        folder = written(tmp_path, name, code, finding(code, **proof), status=1)
    case = {
        "case": "latency", "unit": "us", "baseline_median": 4000.0, "other_median": 0.4,
        "ratio": 0.0001, "ratio_low": 0.00005, "ratio_high": 0.0002, "verdict": "faster",
    }  # fmt: skip
    (folder / "compare.json").write_text(json.dumps({"cases": [case]}))
    status, rows, text = table(tmp_path)
    assert status == 0 and all(row["right"] for row in rows)
    assert [row["setup"] for row in rows] == ["sound", "ucx-tls", "nccl-p2p", "one-core"]
    assert rows[3]["gain"] == 10_000 and rows[3]["verdict"] == "better"
    assert "| fails | 15 us | - | fixed | yes |" in text
    assert "| 186 us | 14.6 us | 12.7x | better | yes |" in text


def test_a_trouble_that_is_missed_and_a_problem_that_is_none(tmp_path: Path) -> None:
    written(tmp_path, "sound", "", finding("shared-memory-small"), status=1)
    written(tmp_path, "nccl-p2p", "nccl-p2p-disabled", status=0)
    (tmp_path / "nccl-p2p/doctor.json").write_text("{cut")
    status, rows, _ = table(tmp_path)
    assert status == 1 and not any(row["right"] for row in rows)


def test_the_script_expects_codes_that_there_are(tmp_path: Path) -> None:
    """With a Python that only says that it was called."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && echo 0\nexit 0\n')
    python.chmod(0o755)
    out = tmp_path / "out"
    environment = {**os.environ, "PYTHON": str(python), "COMMLENS_BENCH": "/bin/true"}
    run = subprocess.run([str(TOOLS / "doctor.sh"), str(out)], env=environment, check=False,
                         capture_output=True, text=True)  # fmt: skip
    assert run.returncode == 0, run.stderr
    known = {rule.code for rule in (*rules_on_records(), *rules_on_machines())}
    expected = {path.parent.name: path.read_text().split() for path in out.glob("*/expected")}
    assert len(expected) == 7 and expected.pop("sound") == []
    assert all(len(codes) == 1 and set(codes) <= known for codes in expected.values())
