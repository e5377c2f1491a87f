"""What a command line says in confidence is masked before it is stored, shown or drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "***"

_NAME = (
    r"(passw(or)?d|passphrase|secret|token|credential|auth|private|api-?_?key|access-?_?key|_key)"
)
_IS_SECRET = re.compile(_NAME, re.IGNORECASE)
_ASSIGNMENT = re.compile(r"(?P<name>-{0,2}[\w.-]+)=(?P<value>.+)", re.DOTALL)
_IN_URL = re.compile(r"(?P<scheme>[a-z][\w+.-]*://)[^/@\s]+@", re.IGNORECASE)
_KEY = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9+=_-]{32,}")  # as keys and hashes are


def masked(words: Sequence[str]) -> list[str]:
    """The words of a command line: values of options and variables whose names speak of secrets,
    user and password in URLs, and what looks like a key become `***`.

    Bytes that are not UTF-8 are replaced.
    """
    found = []
    follows_secret = False
    for word in words:
        if follows_secret and not word.startswith("-"):
            found.append(MASK)
            follows_secret = False
            continue
        follows_secret = word.startswith("-") and "=" not in word and bool(_IS_SECRET.search(word))
        found.append(_masked(word).encode("utf-8", "replace").decode())
    return found


def _masked(word: str) -> str:
    assignment = _ASSIGNMENT.fullmatch(word)
    if assignment and (
        _IS_SECRET.search(assignment["name"]) or _KEY.fullmatch(assignment["value"])
    ):
        return f"{assignment['name']}={MASK}"
    if _KEY.fullmatch(word):
        return MASK
    return _IN_URL.sub(rf"\g<scheme>{MASK}@", word)
