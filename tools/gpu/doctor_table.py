#!/usr/bin/env python3
"""Summarizes what tools/gpu/doctor.sh has written: was each trouble found, and does its fix help?

tools/gpu/doctor_table.py OUT    writes OUT/summary.json and OUT/summary.md

Exit status 0 if every trouble was found and the machine without any is sound.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ORDER = ("sound", "ucx-tls", "memtype-cache", "no-cuda", "nccl-p2p", "one-core", "one-gpu")
COLUMNS = ("setup", "what", "found", "fix", "before", "after", "gain", "verdict", "right")


def read(path: Path) -> Any:
    """None where it is not there, or cut off."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def rows(out: Path) -> Iterator[dict[str, Any]]:
    folders = [out / name for name in ORDER if (out / name / "expected").exists()]
    return map(row, folders)


def row(folder: Path) -> dict[str, Any]:
    expected = (folder / "expected").read_text().split()
    findings = (read(folder / "doctor.json") or {"findings": []})["findings"]
    problems = [finding for finding in findings if finding["level"] == "problem"]
    cause = next((finding for finding in findings if finding["code"] in expected), None)
    shown = [finding for finding in findings if finding in problems or finding is cause]
    status = (folder / "status").read_text().strip()
    fix = measured(folder, cause)
    return {
        "setup": folder.name,
        "what": (folder / "what").read_text().strip(),
        "expected": expected,
        "found": [finding["code"] for finding in shown],
        "advice": [finding["code"] for finding in findings if finding["level"] == "advice"],
        "fix": cause["fix"] if cause else "",
        "setting": cause["setting"] if cause else None,
        "status": status,
        **fix,
        "right": cause is not None if expected else not problems and status == "0",
    }


def measured(folder: Path, finding: Any) -> dict[str, Any]:
    """Before and after: doctor's own proof, or the comparison of two programs."""
    compared = read(folder / "compare.json")
    cases = compared["cases"] if compared else []
    if cases:
        case = cases[0]
        ratio, verdict = case["ratio"], case["verdict"]
        return {
            "case": case["case"],
            "unit": case["unit"],
            "before": case["baseline_median"],
            "after": case["other_median"],
            "gain": 1 / ratio if ratio else None,
            "gain_low": 1 / case["ratio_high"] if case["ratio_high"] else None,
            "gain_high": 1 / case["ratio_low"] if case["ratio_low"] else None,
            "verdict": {"faster": "better", "slower": "worse"}.get(verdict, verdict),
        }
    names = ("case", "unit", "before", "after", "why_no_before", "why_no_after", "gain",
             "gain_low", "gain_high", "verdict")  # fmt: skip
    proof = (finding or {}).get("proof") or {}
    return {name: proof.get(name) for name in names}


def text(value: Any, entry: dict[str, Any], why: str) -> str:
    if value is not None:
        return f"{value:.4g} {entry['unit'] or ''}".strip()
    return "fails" if entry.get(why) else "-"


def cells(entry: dict[str, Any]) -> list[str]:
    gain = f"{entry['gain']:.3g}x" if entry["gain"] else "-"
    if entry["gain"] and entry["gain_low"] and entry["gain_high"]:
        gain += f" ({entry['gain_low']:.3g} to {entry['gain_high']:.3g})"
    return [
        entry["setup"],
        entry["what"],
        ", ".join(entry["found"]) or "no problem",
        entry["fix"].replace("|", "/") or "-",
        text(entry["before"], entry, "why_no_before"),
        text(entry["after"], entry, "why_no_after"),
        gain,
        entry["verdict"] or "-",
        "yes" if entry["right"] else "NO",
    ]


def main(out: Path) -> int:
    entries = list(rows(out))
    (out / "summary.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, entries)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    (out / "summary.md").write_text(table + "\n", encoding="utf-8")
    print(table)
    return 0 if entries and all(entry["right"] for entry in entries) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
