"""Files of records in which something is not as it should be, for tests that generate many.

A file is the lines of sample records of every kind. A mutation replaces, drops, doubles, nests or
repeats a value anywhere in one of its lines.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, Union

from hypothesis import strategies as st

from sample_applications import (
    make_exchange_record,
    make_overlap_record,
    make_solve_record,
    make_transform_records,
)
from sample_records import lines, make_profile, make_record, make_reroute

Path = tuple[Union[str, int], ...]

ESCAPES = "\x1b[31m\x1b]0;title\x07\r\x9b2J\u202e\ud800"
RAW = "~raw~"  # before text that stands in the file without quotes
NUMBERS: list[Any] = [
    -1, 0, 1, 2**31, 2**63, 2**70, 10**30, 10**400, -(2**64), -0.0, 0.5, -2.5, 1e-320, 1e29, 1e30,
    1e31, 1e308, -1e308, RAW + "NaN", RAW + "Infinity", RAW + "1e400", RAW + "9" * 5000,
]  # fmt: skip
TEXTS = [
    "", " ", ESCAPES, "$x_{1}$", "$\\frac{", "100% $", "_x", "\\", "x" * 3000, "x" * 90, "ä·日本",
    "a\nb\tc", "0-99999999999", "3-1,", "\u0301" * 20, "[bold]x[/bold]", "nan", "1e5", "\0",
]  # fmt: skip
OTHERS: list[Any] = [
    None, True, False, [], {}, [[]], {"": {}}, [1e308, -1], ["x"],
    RAW + "[" * 5000 + "]" * 5000, RAW + '{"a":' * 900 + "1" + "}" * 900,
]  # fmt: skip


def samples() -> list[list[dict[str, Any]]]:
    """Files of a few records each, as the values of their lines."""
    sweep = [make_record(bytes=size, transport=name) for size in (8, 64) for name in ("mpi", "ccl")]
    solves = [make_solve_record(edge, residuals=[1.0, 0.1, None]) for edge in (4, 5, 6)]
    overlap = make_overlap_record(steps=2, together_us=9e5)
    exchanges = [make_exchange_record(mode) for mode in ("pairwise", "neighbor")]
    scaled = [record for ranks in (2, 4) for record in make_transform_records(ranks=ranks)]
    files = [sweep, solves, [overlap], exchanges, scaled]
    others = [[make_profile()], [make_reroute()]]
    return [[json.loads(line) for line in lines(file)] for file in files] + others


def paths(value: Any, before: Path = ()) -> Iterator[Path]:
    """The places of all values within this one."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in children:
        yield (*before, key)
        if isinstance(child, (dict, list)):
            yield from paths(child, (*before, key))


def replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy with another value in this place."""
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return changed


def text_of(line: Any) -> str:
    """As JSON, with what stands there raw."""
    text = json.dumps(line)
    while (start := text.find(f'"{RAW}')) >= 0:
        end = text.index('"', start + 1)
        while text[end - 1] == "\\":
            end = text.index('"', end + 1)
        raw: str = json.loads(text[start : end + 1])[len(RAW) :]
        text = text[:start] + raw + text[end + 1 :]
    return text + "\n"


@st.composite
def files(draw: st.DrawFn) -> str:
    """The text of a file with one to three mutations."""
    rows = draw(st.sampled_from(_SAMPLES))
    if draw(st.booleans()):
        rows = _consistent(draw, rows)
    else:
        rows = copy.deepcopy(rows)
        for _ in range(draw(st.integers(1, 3))):
            number = draw(st.integers(0, len(rows) - 1))
            if isinstance(rows[number], dict) and rows[number]:
                rows[number] = _mutated(draw, rows[number])
    texts = [row if isinstance(row, str) else text_of(row) for row in rows]
    if draw(st.integers(0, 9)) == 0:
        texts.insert(draw(st.integers(0, len(texts))), draw(_LINES))
    return "".join(texts)


def _consistent(draw: st.DrawFn, rows: list[Any]) -> list[Any]:
    """The file with other names, other magnitudes or more records, which may all be right."""
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["rename", "rename", "scale", "scale", "more", "set"]))
        number = draw(st.integers(0, len(rows) - 1))
        if kind == "rename":
            values = (value_at(rows, path) for path in paths(rows))
            names = sorted({text for text in values if isinstance(text, str)} - _WORDS)
            old, new = draw(st.sampled_from(names)), draw(st.sampled_from(TEXTS))
            rows = [_renamed(line, old, new) for line in rows]
        elif kind == "scale":
            factor = draw(st.sampled_from([0.0, 1e-300, 1e-25, 1e-9, 1e9, 1e20, -1.0]))
            every = draw(st.booleans())
            rows = [
                _scaled(line, factor) if every or place == number else line
                for place, line in enumerate(rows)
            ]
        elif kind == "more":
            rows = rows + draw(st.sampled_from([1, 3, 30])) * rows[number:]
        else:
            path = draw(st.sampled_from(list(paths(rows[number]))))
            new = draw(_like(value_at(rows[number], path)))
            rows = [*rows[:number], replaced(rows[number], path, new), *rows[number + 1 :]]
    return rows


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {
            new if key == old else key: _renamed(child, old, new) for key, child in value.items()
        }
    if isinstance(value, list):
        return [_renamed(child, old, new) for child in value]
    return new if value == old else value


def _scaled(value: Any, factor: float) -> Any:
    """Its numbers with a fraction; of what is negative then, the least is the largest before."""
    if isinstance(value, dict):
        scaled = {key: _scaled(child, factor) for key, child in value.items()}
        if factor < 0 and "ci_low" in value:
            ends = ("min", "max"), ("max", "min"), ("ci_low", "ci_high"), ("ci_high", "ci_low")
            scaled.update({name: _scaled(value[other], factor) for name, other in ends})
        return {**scaled, "confidence": 0.95} if "confidence" in value else scaled
    if isinstance(value, list):
        return [_scaled(child, factor) for child in value]
    return value * factor if isinstance(value, float) else value


def _mutated(draw: st.DrawFn, line: dict[str, Any]) -> Any:
    path = draw(st.sampled_from(list(paths(line))))
    value = value_at(line, path)
    kind = draw(st.sampled_from(_KINDS))
    if kind == "drop":
        changed = copy.deepcopy(line)
        del value_at(changed, path[:-1])[path[-1]]
        return changed
    if kind == "double" and isinstance(path[-1], str):
        name = json.dumps(path[-1])
        text = f"{json.dumps(value)},{name}:{json.dumps(value)}"
        return replaced(line, path, RAW + text)
    if kind == "nest":
        return replaced(line, path, draw(st.sampled_from([[value], {"a": value}])))
    if kind == "repeat" and isinstance(value, list) and value:
        return replaced(line, path, value * draw(st.sampled_from([2, 40])))
    if kind == "swap":
        other = value_at(line, draw(st.sampled_from(list(paths(line)))))
        return replaced(line, path, other)
    if kind == "cut":
        text = text_of(line)
        return text[: draw(st.integers(1, len(text)))]
    if kind == "same kind":
        return replaced(line, path, draw(_like(value)))
    return replaced(line, path, draw(st.one_of(_SCALARS, st.sampled_from(OTHERS))))


_KINDS = ("replace", "same kind", "same kind", "same kind", "drop", "double", "nest", "repeat",
          "swap", "cut")  # fmt: skip
# Of the format itself: with another one, nothing is read.
_WORDS = {"record", "start", "ok", "passed", "lower", "higher", "size", "setting", "derived",
          "variant", "host", "device", "batch", "each", "finalized", "single"}  # fmt: skip
_SCALARS = st.one_of(
    st.sampled_from(NUMBERS),
    st.sampled_from(TEXTS),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(),
    st.text(max_size=20),
)
_LINES = st.sampled_from(["\n", "[]\n", "{}\n", "null\n", '{"schema": 1}\n', "\x1b[31m\n", "\0\n"])


def _like(value: Any) -> st.SearchStrategy[Any]:
    """Values that types alone do not refuse."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.one_of(st.sampled_from(NUMBERS[:9]), st.integers(0, 2**63 - 1))
    if isinstance(value, float):
        return st.one_of(st.sampled_from(NUMBERS), st.floats(0, 1e30), st.floats(-1e30, 1e30))
    if isinstance(value, str):
        return st.one_of(st.sampled_from(TEXTS), st.text(max_size=40))
    return st.sampled_from(OTHERS)


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


_SAMPLES = samples()
