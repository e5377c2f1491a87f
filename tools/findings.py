#!/usr/bin/env python3
"""Writes docs/findings.md from the rules in python/commlens/diagnose/rules.

tools/findings.py            writes the page
tools/findings.py --check    exit status 1 if the page is not what the rules say
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
sys.path.insert(0, str(TOP / "python"))

from commlens.diagnose.rule import Rule, all_rules  # noqa: E402
from commlens.diagnose.settings import switches  # noqa: E402

HEAD = """\
# What does a finding mean, and what do I do about it?

This page explains the findings that `commlens show`, `commlens run`, `commlens profile` and reports
print, by their codes. It is generated from the rules by `tools/findings.py`.

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
- In Python: `commlens.diagnose.findings(records, profiles)`.

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
    for kind, cure in rule.cures.items():
        of = f", {kind}" if kind else ""
        yield f"**What to do{of}.** {_without_names(cure)}\n"


def _without_names(cure: str) -> str:
    """A finding fills in what its records say."""
    variables = ", ".join(f"`{name}`" for name in switches())
    cure = cure.replace("{setting}", f"The finding names the variable: one of {variables}.")
    cure = cure.replace("{hint}", "")
    return re.sub(r"\{(\w+)\}", lambda match: match[1].upper(), cure)


def page() -> str:
    text = [HEAD]
    for _, group in groupby(all_rules(), key=lambda rule: rule.subject):
        rules = list(group)
        text.append(f"## {title_of(rules)}\n")
        for rule in rules:
            text += section(rule)
    return "\n".join(map(_wrapped, text)).rstrip() + "\n"


def _wrapped(text: str) -> str:
    if text is HEAD or text.startswith("#"):
        return text
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes docs/findings.md from the rules.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    current = page()
    if not options.check:
        PAGE.write_text(current, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != current:
        print(f"{PAGE.name} is not what the rules say; run tools/findings.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
