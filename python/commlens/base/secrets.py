"""What sounds like a secret, in variables and command lines.

The native program leaves such variables out of its records, by the same rule and the same words
(src/measure/environment_variables.hpp); whatever was written otherwise is masked when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASK = "***"
SECRET_WORDS = (
    "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "AUTH", "PRIVATE",
    "APIKEY", "COOKIE",
)  # fmt: skip
SECRET_NAMES = ("KEY", "KEYS", "PASS", "PWD", "PW", "CRED", "CREDS")  # as whole words
BEGINNINGS_OF_KEYS = (
    "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "eyJ",
    "sk-", "hf_",
)  # fmt: skip
SHORTEST_KEY = 20
SHORTEST_SECRET = 32

_WORDS = "|".join(SECRET_WORDS)
_NAMES = "|".join(SECRET_NAMES)
_IN_NAME = re.compile(rf"{_WORDS}|(?<![a-z0-9])(?:{_NAMES})(?![a-z0-9])", re.ASCII | re.IGNORECASE)
_KEY = re.compile(
    r"(?!/)(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=]" f"{{{SHORTEST_SECRET},}}"
)
_IN_VALUE = re.compile(
    rf":[^@]*@|(?i:{_WORDS})[=:]|-----BEGIN"
    rf"|\A(?=.{{{SHORTEST_KEY}}})(?:{'|'.join(map(re.escape, BEGINNINGS_OF_KEYS))})",
    re.DOTALL,
)
_IS_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def is_secret(name: str, value: str) -> bool:
    """Whether the variable or option is likely to hold a password or a key."""
    return bool(_IN_NAME.search(name) or _KEY.fullmatch(value) or _IN_VALUE.search(value))


def mask_variables(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: MASK if is_secret(name, value) else value for name, value in variables.items()}


def mask_words(words: Iterable[str]) -> list[str]:
    """A command line: `--password=***`, `--token ***`, `-x NAME=***`, and URLs with passwords."""
    masked: list[str] = []
    before = ""
    for word in words:
        masked.append(_mask_word(word, before))
        before = word
    return masked


def _mask_word(word: str, before: str) -> str:
    name, equals, value = word.partition("=")
    if equals and is_secret(name, value):
        return f"{name}={MASK}"
    names_next = before.startswith("-") or _IS_VARIABLE.fullmatch(before)
    if names_next and "=" not in before and _IN_NAME.search(before) and not word.startswith("-"):
        return MASK
    return MASK if is_secret("", word) else word
