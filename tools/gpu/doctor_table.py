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
    document = read(folder / "doctor.json") or {"findings": []}
    problems = [one for one in document["findings"] if one["level"] == "problem"]
    own = next((one for one in document["findings"] if one["code"] in expected), None)
    codes = [one["code"] for one in document["findings"] if one in problems or one is own]
    status = (folder / "status").read_text().strip()
    fix = measured(folder, own)
    return {
        "setup": folder.name,
        "what": (folder / "what").read_text().strip(),
        "expected": expected,
        "found": codes,
        "advice": [one["code"] for one in document["findings"] if one["level"] == "advice"],
        "fix": own["fix"] if own else "",
        "setting": own["setting"] if own else None,
        "status": status,
        **fix,
        "right": own is not None if expected else not problems and status == "0",
    }


def measured(folder: Path, finding: Any) -> dict[str, Any]:
    """Before and after: doctor's own proof, or the comparison of two programs."""
    compared = read(folder / "compare.json")
    cases = compared["cases"] if compared else []
    if cases:
        one = cases[0]
        ratio = one["ratio"]
        return {
            "case": one["case"],
            "unit": one["unit"],
            "before": one["baseline_median"],
            "after": one["other_median"],
            "gain": 1 / ratio if ratio else None,
            "gain_low": 1 / one["ratio_high"] if one["ratio_high"] else None,
            "gain_high": 1 / one["ratio_low"] if one["ratio_low"] else None,
            "verdict": {"faster": "better", "slower": "worse"}.get(one["verdict"], one["verdict"]),
        }
    names = ("case", "unit", "before", "after", "why_no_before", "why_no_after", "gain",
             "gain_low", "gain_high", "verdict")  # fmt: skip
    proof = (finding or {}).get("proof") or {}
    return {name: proof.get(name) for name in names}


def text(value: Any, one: dict[str, Any], why: str) -> str:
    if value is not None:
        return f"{value:.4g} {one['unit'] or ''}".strip()
    return "fails" if one.get(why) else "-"


def cells(one: dict[str, Any]) -> list[str]:
    gain = f"{one['gain']:.3g}x" if one["gain"] else "-"
    if one["gain"] and one["gain_low"] and one["gain_high"]:
        gain += f" ({one['gain_low']:.3g} to {one['gain_high']:.3g})"
    return [
        one["setup"],
        one["what"],
        ", ".join(one["found"]) or "no problem",
        one["fix"].replace("|", "/") or "-",
        text(one["before"], one, "why_no_before"),
        text(one["after"], one, "why_no_after"),
        gain,
        one["verdict"] or "-",
        "yes" if one["right"] else "NO",
    ]


def main(out: Path) -> int:
    found = list(rows(out))
    (out / "summary.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, found)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    (out / "summary.md").write_text(table + "\n", encoding="utf-8")
    print(table)
    return 0 if found and all(one["right"] for one in found) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
