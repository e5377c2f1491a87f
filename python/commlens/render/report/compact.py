"""The same picture in fewer characters: neighbours that look alike say once how they look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

# What a group may say for all that is in it.
_SHARED = (
    "clip-path",
    "fill",
    "font-size",
    "font-weight",
    "stroke",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-width",
    "text-anchor",
)
_KINDS = ("path", "text", "use")
# Of neighbours that share a group; and within it a closer one.
_LOOKS = (("clip-path", "font-size", "stroke-width"), ("stroke", "fill", "text-anchor"))
_SPACE = re.compile(r" (?=-)|(?<=\.\d) (?=\.)")  # between numbers that are two without it
_DEFAULTS = {"text-anchor": "start", "stroke-dashoffset": "0"}


def compact(element: Element) -> None:
    """The same picture, and as many elements `use`."""
    for name, value in _DEFAULTS.items():
        if element.get(name) == value:
            del element.attrib[name]
    if "d" in element.attrib:
        element.set("d", shorter_path(element.attrib["d"]))
    is_group = element.tag in ("svg", "g")
    if is_group:
        element[:] = _joined(list(element))
    for child in element:
        compact(child)
    if is_group:
        element[:] = _grouped(list(element))


def _joined(children: Sequence[Element]) -> list[Element]:
    """Neighbours with the same attributes are one: paths, and groups."""
    found: list[Element] = []
    for child in children:
        last = found[-1] if found else None
        if last is None or not _may_join(last, child):
            found.append(child)
        elif child.tag == "g":
            last.extend(child)
        else:
            last.set("d", f"{last.attrib['d']} {child.attrib['d']}")
    return found


def _may_join(one: Element, other: Element) -> bool:
    """What is seen through, or has a name, stays by itself."""
    if one.tag != other.tag or one.tag not in ("path", "g") or "id" in one.attrib:
        return False
    if any(name.endswith("opacity") for name in one.attrib):
        return False
    has_text = one.tag == "path" and (len(one) or len(other))
    return not has_text and _without_d(one) == _without_d(other)


def _without_d(element: Element) -> dict[str, str]:
    return {name: value for name, value in element.attrib.items() if name != "d"}


def _grouped(
    children: Sequence[Element], looks: Sequence[Sequence[str]] = _LOOKS
) -> Iterator[Element]:
    """What neighbours of a kind share stands in a group around them."""
    if not looks:
        yield from children
        return
    for (tag, *_), run in groupby(children, lambda one: (one.tag, *map(one.get, looks[0]))):
        own = list(run)
        shared = {
            name: value
            for name, value in own[0].attrib.items()
            if name in _SHARED and all(one.get(name) == value for one in own)
        }
        if tag not in _KINDS or len(own) < 2 or not shared:
            yield from own if tag not in _KINDS else _grouped(own, looks[1:])
            continue
        for one in own:
            one.attrib = {name: text for name, text in one.attrib.items() if name not in shared}
        group = Element("g", shared)
        group[:] = _grouped(own, looks[1:])
        yield group


def shorter_path(path: str) -> str:
    """`M1 2v3h2z` of `M 1 2 L 1 5 L 3 5 z`, whose numbers have at most one decimal."""
    found, command = "", ""
    x = y = 0  # in tenths
    words = iter(path.split())
    for word in words:
        if word not in ("M", "L"):  # of a curve, and its points
            found += word if word.isalpha() or found[-1:].isalpha() else f" {word}"
            command = ""
            continue
        before = (x, y) if command else None
        x, y = (round(10 * float(next(words, 0))) for _ in range(2))
        letter, numbers = _shortest(word, x, y, before)
        is_again = letter == command and letter in "Ll"
        found += f" {numbers}" if is_again else letter + numbers
        command = letter
    return _SPACE.sub("", found)


def _shortest(word: str, x: int, y: int, before: tuple[int, int] | None) -> tuple[str, str]:
    """The command and its numbers: a line to a point, or by how far; along an axis, one number."""
    if word == "M" or before is None:
        return word, _numbers(x, y)
    right, down = x - before[0], y - before[1]
    if not right:
        both = ("V", _numbers(y)), ("v", _numbers(down))
    elif not down:
        both = ("H", _numbers(x)), ("h", _numbers(right))
    else:
        both = ("L", _numbers(x, y)), ("l", _numbers(right, down))
    return min(both, key=lambda one: len(one[1]))


def _numbers(*tenths: int) -> str:
    """`1-.5` of 10 and -5"""
    texts = (f"{one / 10:.1f}".removesuffix(".0") for one in tenths)
    short = (re.sub("^(-?)0[.]", r"\1.", text) for text in texts)
    return " ".join(short)
