#!/usr/bin/env python3
"""Writes docs/reference-findings.md, and the list in docs/doctor.md, from the rules of
python/commlens/knowledge/rules and checks.

tools/findings.py            writes the pages
tools/findings.py --check    exit status 1 if a page is not what the rules say
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "reference-findings.md"
DOCTOR = TOP / "docs" / "doctor.md"
LIST = ("<!-- checks -->\n", "<!-- end -->")
sys.path.insert(0, str(TOP / "python"))

from commlens.findings.rule import Rule, rules_on_machines, rules_on_records  # noqa: E402
from commlens.findings.rules.sizes import switches  # noqa: E402

HEAD = """\
# Reference: findings

Each finding by its code: when it is reported, and what to do. [findings.md](findings.md) explains
what a finding is. `tools/findings.py` writes this page from the rules.
"""
WIDTH = 100


def page() -> str:
    """The whole reference; a trouble that is found in records and on machines stands once."""
    text = [HEAD]
    codes = {rule.code for rule in rules_on_records()}
    on_machines = [rule for rule in rules_on_machines() if rule.code not in codes]
    for prefix, rules in (("", rules_on_records()), ("Doctor: ", on_machines)):
        for heading, group in groupby(rules, key=lambda rule: rule.section):
            text.append(f"## {prefix}{heading}\n")
            text += [line for rule in group for line in section(rule)]
    return "\n".join(map(_wrapped, text)).rstrip() + "\n"


def section(rule: Rule) -> Iterator[str]:
    """What the page has of one rule."""
    when = f"{rule.when[0].upper()}{rule.when[1:]}".rstrip(".")
    yield f"### {rule.code}\n"
    yield f"{rule.severity.capitalize()}: {rule.subject}.\n"
    yield f"**{'Looked at' if rule.is_of_machine else 'When'}.** {when}.\n"
    for kind, fix in rule.fixes.items():
        of = f", {kind}" if kind else ""
        yield f"**What to do{of}.** {_without_names(_by_library(fix, rule))}\n"


def _by_library(fix: str, rule: Rule) -> str:
    """With what it has for each family of MPI libraries."""
    for name, texts in rule.words.items():
        if isinstance(texts, dict):
            each = [f"{family or 'others'}: {text}" for family, text in texts.items() if text]
            fix = fix.replace(f"{{{name}}}", f"[{'; '.join(each)}]")
    return fix


def list_of_checks() -> str:
    """The table of doctor's page."""
    rows = [
        f"| {rule.section} | [{rule.code}]({PAGE.name}#{rule.code}) | {rule.severity} "
        f"| {rule.subject} |"
        for rule in rules_on_machines()
    ]
    head = ["| about | check | | what is wrong |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def doctor_page(current: str) -> str:
    """Doctor's page with its list as it must be."""
    before, start, rest = current.partition(LIST[0])
    _, end, after = rest.partition(LIST[1])
    return f"{before}{start}{list_of_checks()}{end}{after}"


def _without_names(fix: str) -> str:
    """A finding fills in what its records show."""
    variables = ", ".join(dict.fromkeys(f"`{switch.name}`" for switch in switches()))
    more = f" SWITCH is one of {variables}." if "{switch}" in fix else ""
    fix = fix.replace("{hint}", "")
    return re.sub(r"\{(?:\w+\.)*(\w+)(?::\w+)?\}", lambda match: match[1].upper(), fix) + more


def _wrapped(text: str) -> str:
    if text is HEAD or text.startswith("#"):
        return text
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def main() -> int:
    """Writes or compares the pages."""
    parser = argparse.ArgumentParser(description="Writes the reference of findings from the rules.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    status = 0
    written = DOCTOR.read_text(encoding="utf-8")
    for path, current in ((PAGE, page()), (DOCTOR, doctor_page(written))):
        if not options.check:
            path.write_text(current, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != current:
            print(f"{path.name} is not what the rules say; run tools/findings.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
