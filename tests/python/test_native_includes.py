"""Each C++ file includes the headers of the standard library whose names it uses, itself or in the
header of its name: compilers differ in what their headers include besides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from run_helpers import table

TOP = Path(__file__).resolve().parents[2]
NAMES: dict[str, str] = table(Path(__file__).with_name("standard_headers.yaml"))
HEADER = {name: header for header, names in NAMES.items() for name in names.split()}
# begin(), end() and size() come with every container.
CONTAINERS = {
    "array", "deque", "initializer_list", "map", "set", "span", "string", "string_view", "vector",
}  # fmt: skip
STREAMS = {"fstream", "iostream", "sstream"}
_NOT_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)


def included(text: str) -> set[str]:
    return set(re.findall(r"^#include <([a-z_]+)>", text, re.MULTILINE))


def missing(text: str, header: str = "") -> set[str]:
    """The standard headers that neither the text nor the header of its name includes."""
    code = _NOT_CODE.sub("", text)
    used = {name for name in re.findall(r"\bstd::(\w+)", code) if name in HEADER}
    has = included(text) | included(header)
    if has & CONTAINERS:
        used -= {"begin", "end", "size"}
    if has & STREAMS:
        used -= {"ostream", "endl"}
    return {HEADER[name] for name in used} - has


def test_standard_headers_are_included_where_they_are_used() -> None:
    wrong = {}
    for folder in ("src", "tests"):
        for path in sorted((TOP / folder).rglob("*.[ch]pp")):
            header = path.with_suffix(".hpp")
            header_text = header.read_text(encoding="utf-8") if header.is_file() else ""
            if absent := missing(path.read_text(encoding="utf-8"), header_text):
                wrong[str(path.relative_to(TOP))] = sorted(absent)
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        ("std::vector<std::size_t> v;", {"vector", "cstddef"}),
        ("#include <vector>\nstd::vector<int> v; auto n = std::size(v);", set()),
        ('// std::map\nauto text = "std::set";', set()),
    ],
)
def test_a_missing_header_is_seen(text: str, headers: set[str]) -> None:
    assert missing(text) == headers
