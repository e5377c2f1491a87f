"""Findings as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from commlens.base.text import plural, printable
from commlens.findings.finding import Finding

WIDEST = 100
_NARROWEST = 40
_MOST_CODES = 6  # that the short list shows


def finding_lines(finding: Finding, head: str, width: int = WIDEST, more: int = 0) -> list[str]:
    """`warning: Ranks share cores ... . Start no more ... [ranks-share-cores]`, wrapped.

    `more`: how many of the same code are not shown.
    """
    also = f" (and {more} more)" if more else ""
    return textwrap.wrap(
        printable(f"{head}: {finding} [{finding.code}]{also}"),
        max(_NARROWEST, min(width, WIDEST)),
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def shortened(findings: Iterable[Finding]) -> Iterator[tuple[Finding, int]]:
    """The worst finding of each code with how many more there are of it, as few as one reads."""
    by_code: dict[str, list[Finding]] = {}
    for one in findings:
        by_code.setdefault(one.code, []).append(one)
    for own in list(by_code.values())[:_MOST_CODES]:
        yield own[0], len(own) - 1


def hint(findings: Sequence[Finding]) -> str:
    """How to see those that the short list leaves out; empty where it has all."""
    hidden = len(findings) - len(list(shortened(findings)))
    return f"{plural(hidden, 'more finding')}: commlens show --findings" if hidden else ""
