"""What is likely to be a secret, in variables and command lines.

The native program leaves such variables out of its records, by the same rule and the same lists
(secrets.yaml); whatever was written otherwise is masked when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from commlens.knowledge import load

MASK = "***"


class Secrets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of secrets.yaml, which explains each list."""

    secret_words: tuple[str, ...]
    secret_names: tuple[str, ...]
    beginnings_of_keys: tuple[str, ...]
    shortest_key: int
    shortest_secret: int


_SECRETS = load("secrets", Secrets)
_WORDS = "|".join(_SECRETS.secret_words)
_NAMES = "|".join(_SECRETS.secret_names)
_KEYS = "|".join(map(re.escape, _SECRETS.beginnings_of_keys))
_IN_NAME = re.compile(rf"{_WORDS}|(?<![a-z0-9])(?:{_NAMES})(?![a-z0-9])", re.ASCII | re.IGNORECASE)
_IS_KEY = re.compile(
    r"(?!/)(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=]"
    f"{{{_SECRETS.shortest_secret},}}"
)
_IN_VALUE = re.compile(
    rf":[^@]*@|(?i:{_WORDS})[=: ]|-----BEGIN|(?<![A-Za-z0-9])"
    rf"(?:(?i:{_NAMES})=|(?=.{{{_SECRETS.shortest_key}}})(?:{_KEYS}))",
    re.DOTALL,
)
_IS_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def is_secret(name: str, value: str) -> bool:
    """Whether the variable or option is likely to hold a password or a key."""
    return bool(_IN_NAME.search(name) or _IS_KEY.fullmatch(value) or _IN_VALUE.search(value))


def mask_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """The same variables with `***` in the place of values that are likely to be secrets."""
    return {name: MASK if is_secret(name, value) else value for name, value in variables.items()}


def mask_words(words: Iterable[str]) -> list[str]:
    """A command line: `--password=***`, `--token ***`, `-x NAME=***`, and URLs with passwords."""
    listed = list(words)
    return [_mask_word(word, before) for word, before in zip(listed, ["", *listed])]


def _mask_word(word: str, before: str) -> str:
    name, equals, value = word.partition("=")
    if equals and is_secret(name, value):
        return f"{name}={MASK}"
    names_next = before.startswith("-") or _IS_VARIABLE.fullmatch(before)
    if names_next and "=" not in before and _IN_NAME.search(before) and not word.startswith("-"):
        return MASK
    return MASK if is_secret("", word) else word
