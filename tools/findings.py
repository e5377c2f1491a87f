#!/usr/bin/env python3
"""Writes docs/findings.md, and the list in docs/doctor.md, from the rules in
python/commlens/findings/rules and the checks in python/commlens/findings/checks.

tools/findings.py            writes the pages
tools/findings.py --check    exit status 1 if a page is not what rules and checks say
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
PAGE = TOP / "docs" / "findings.md"
DOCTOR = TOP / "docs" / "doctor.md"
LIST = ("<!-- checks -->\n", "<!-- end -->")
sys.path.insert(0, str(TOP / "python"))

from commlens.findings.check import Check, all_checks  # noqa: E402
from commlens.findings.rule import Rule, all_rules  # noqa: E402
from commlens.findings.settings import switches  # noqa: E402

HEAD = """\
# What does a finding mean, and what do I do about it?

This page explains the findings that `commlens show`, `commlens run`, `commlens profile`, reports
and `commlens doctor` print, by their codes. `tools/findings.py` generates it from the rules over
records and profiles, and from the checks of [doctor](doctor.md).

```
warning: MPI takes 21 times as long as NCCL (latency, 2 ranks, device, 512 B; slower at 23 of 23
  sizes): 95% of the time (274.0 us per operation). Call NCCL for this operation where the
  application can. ... [mpi-slower-than-ccl]
```

A finding says what was found and where, of the worst case, what it costs, and what to do. The cost
is what would be won at most: of the time of one operation, or, in a profiled program, of the whole
run without MPI's start and end, per rank. The word in brackets is the code, which does not change
from version to version.

- `error`: results cannot be trusted. `warning`: time is lost, or figures are not what they seem.
  `note`: what a reader of the figures should know.
- The worst come first: errors, then by the share of the time that they cost.
- `commlens show` prints the worst finding of each code, `--findings` every one.
- In Python: `commlens.findings.findings(records, profiles)`.

No finding says that one thing is slower than another where the samples do not support it
([measuring.md](measuring.md)). Starts in which ranks share cores, or GPUs whose memory is measured,
say that and nothing else about speed. What needs a whole sweep needs three sizes in a row, because
machines were seen to be slower for the time of two.

What records cannot tell today, so that there is no finding of it: which pair of ranks is slow (a
sample is the longest over the ranks: it would need samples by rank).
"""
WIDTH = 100


def title_of(rules: list[Rule]) -> str:
    """The docstring of their module."""
    return (sys.modules[rules[0].module].__doc__ or "").strip()


def section(rule: Rule) -> Iterator[str]:
    yield f"### {rule.code}\n"
    yield f"{rule.severity.capitalize()}: {rule.title}.\n"
    yield f"**When.** {rule.speaks[0].upper()}{rule.speaks[1:]}\n"
    for kind, fix in rule.fixes.items():
        of = f", {kind}" if kind else ""
        yield f"**What to do{of}.** {_without_names(fix)}\n"


def section_of_check(check: Check) -> Iterator[str]:
    yield f"### {check.code}\n"
    yield f"{level_of(check)}: {check.title}.\n"
    yield f"**Looked at.** {check.speaks[0].upper()}{check.speaks[1:]}.\n"
    for kind, fix in check.fixes.items():
        of = f", {kind}" if kind else ""
        yield f"**What to do{of}.** {_without_names(fix)}\n"


def level_of(check: Check) -> str:
    return "Advice" if check.severity == "note" else "Problem"


def list_of_checks() -> str:
    rows = [
        f"| {check.about} | [{check.code}](findings.md#{check.code}) | {level_of(check).lower()} "
        f"| {check.title} |"
        for check in all_checks()
    ]
    head = ["| about | check | | what is wrong |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def doctor_page(current: str) -> str:
    before, start, rest = current.partition(LIST[0])
    _, end, after = rest.partition(LIST[1])
    return f"{before}{start}{list_of_checks()}{end}{after}"


def _without_names(fix: str) -> str:
    """A finding fills in what its records say."""
    variables = ", ".join(f"`{name}`" for name in switches())
    fix = fix.replace("{setting}", f"The finding names the variable: one of {variables}.")
    fix = fix.replace("{hint}", "")
    return re.sub(r"\{(\w+)\}", lambda match: match[1].upper(), fix)


def page() -> str:
    text = [HEAD]
    of_rules = {rule.code for rule in all_rules()}
    for _, group in groupby(all_rules(), key=lambda rule: rule.subject):
        rules = list(group)
        text.append(f"## {title_of(rules)}\n")
        for rule in rules:
            text += section(rule)
    for about, checks in groupby(all_checks(), key=lambda check: check.about):
        text.append(f"## Checks: {about}\n")
        for check in checks:
            # The same trouble, seen without a run, is explained once.
            if check.code not in of_rules:
                text += section_of_check(check)
    return "\n".join(map(_wrapped, text)).rstrip() + "\n"


def _wrapped(text: str) -> str:
    if text is HEAD or text.startswith("#"):
        return text
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes docs/findings.md from the rules.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    status = 0
    written = DOCTOR.read_text(encoding="utf-8")
    for path, current in ((PAGE, page()), (DOCTOR, doctor_page(written))):
        if not options.check:
            path.write_text(current, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != current:
            print(f"{path.name} is not what rules and checks say; run tools/findings.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
