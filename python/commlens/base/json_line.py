"""A line of a file of records, as a typed struct or as one sentence that says what is wrong."""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from commlens.base.text import printable

_Decoded = TypeVar("_Decoded")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"  # a pair of surrogates
    r"|u[\da-fA-F]{4}|.)"
)
_NO_NUMBER = re.compile(r"[:,\[] ?-?(NaN|Infinity)\b")
_LONGEST_MESSAGE = 160
_WORDS = {
    "Expected `str` matching regex": "expected a text of the form",
    "Expected": "expected",
    "`bool | int | float | str`": "a number, a text, true or false",
    "`str`": "a text",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "an object",
    "`null`": "null",
    "`float | null`": "a number or null",
}


class NotJsonError(ValueError):
    """The line is none of any kind."""


def decode(line: str, decoder: msgspec.json.Decoder[_Decoded]) -> _Decoded:
    """Raises NotJsonError; and ValueError with what is wrong with a line that is JSON.

    No text of what is returned holds control characters: they are replaced here, where all that is
    printed or drawn comes from.
    """
    text = _clean(line)
    try:
        decoded = decoder.decode(text)
    except msgspec.ValidationError as error:
        raise ValueError(_problem(error)) from None
    except msgspec.DecodeError as error:
        raise NotJsonError(_malformed(line, error)) from None
    except RecursionError:
        raise NotJsonError("nested too deeply") from None
    except ValueError:  # of Python, which limits the digits of a whole number
        raise NotJsonError("a number of more than 4000 digits") from None
    _check_keys(text)
    return decoded


def _malformed(line: str, error: msgspec.DecodeError) -> str:
    if not line.strip():
        return "an empty line"
    if number := _NO_NUMBER.search(line):
        return f"not JSON: {number[1]} is none of its numbers"
    message = str(error).replace("JSON is malformed: ", "")
    cut = "" if line.endswith("\n") else "; its line was cut short"
    return f"not JSON: {_shortened(message)}{cut}"


def _problem(error: msgspec.ValidationError) -> str:
    message, _, path = str(error).partition(" - at `$")
    for kind, words in _WORDS.items():
        message = message.replace(kind, words)
    where = path.strip("`").lstrip(".")
    return _shortened(f"{where}: {message}" if where else message)


def _shortened(message: str) -> str:
    if len(message) <= _LONGEST_MESSAGE:
        return message
    return message[: _LONGEST_MESSAGE - 3] + "..."


def _clean(line: str) -> str:
    """The same JSON with printable characters in the place of what steers a terminal."""
    text = printable(line.rstrip("\r\n"))
    return _ESCAPE.sub(_clean_escape, text) if "\\" in text else text


def _clean_escape(escape: re.Match[str]) -> str:
    text = escape.group()
    if text[1] in '"\\/':
        return text
    try:
        letter: str = json.loads(f'"{text}"')
    except ValueError:  # no escape of JSON, of which the decoder complains
        return text
    return text if letter.isprintable() else printable(letter)


def _check_keys(text: str) -> None:
    """Raises ValueError where a name stands twice in an object: decoders take the last.

    That there are as many names as in what was decoded, which has each once, takes a hundredth of
    the time of a look at each of them.
    """
    if '" ' not in text:
        again = msgspec.json.encode(msgspec.json.decode(text))
        if text.count('":') == again.count(b'":'):
            return
    json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"'{_shortened(name)}' stands twice in one object")
        members[name] = value
    return members
