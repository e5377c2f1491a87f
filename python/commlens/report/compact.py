"""The same picture in fewer letters: neighbours that look alike say once how they look."""

from __future__ import annotations

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
_LOOK = ("clip-path", "font-size", "stroke", "stroke-width")  # of neighbours that share a group
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


def _grouped(children: Sequence[Element]) -> Iterator[Element]:
    """What neighbours of a kind share stands in a group around them."""
    for (tag, *_), run in groupby(children, lambda one: (one.tag, *map(one.get, _LOOK))):
        own = list(run)
        shared = {
            name: value
            for name, value in own[0].attrib.items()
            if name in _SHARED and all(one.get(name) == value for one in own)
        }
        if tag not in _KINDS or len(own) < 2 or not shared:
            yield from own
            continue
        for one in own:
            one.attrib = {name: text for name, text in one.attrib.items() if name not in shared}
        group = Element("g", shared)
        group[:] = own
        yield group


def shorter_path(path: str) -> str:
    """`M1 2V5H3z` of `M 1 2 L 1 5 L 3 5 z`."""
    found = ""
    x = y = ""
    words = iter(path.split())
    for word in words:
        if word not in ("M", "L"):  # of a curve, and its points
            found += word if word.isalpha() or found[-1:].isalpha() else f" {word}"
            x = y = ""
            continue
        before, (x, y) = (x, y), (next(words, ""), next(words, ""))
        if word == "L" and x == before[0]:
            found += f"V{y}"
        elif word == "L" and y == before[1]:
            found += f"H{x}"
        else:
            found += f"{word}{x} {y}"
    return found
