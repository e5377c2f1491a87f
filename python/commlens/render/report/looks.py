"""How the elements of all pictures of a page look: each look stands once, in the page's style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

_SAFE = re.compile(r"[\w#.,% -]+")
_IN_STYLE = (
    "fill",
    "fill-opacity",
    "font-size",
    "font-weight",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
)


class Looks:
    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def move(self, root: Element) -> None:
        """Puts classes in the place of attributes."""
        for element in root.iter():
            own = "".join(_declarations(element))
            if own:
                element.set("class", self._names.setdefault(own, f"p{len(self._names)}"))

    @property
    def style(self) -> str:
        return "\n".join(f".{name} {{ {own[:-1]} }}" for own, name in self._names.items())


def _declarations(element: Element) -> Iterator[str]:
    for name in _IN_STYLE:
        if _SAFE.fullmatch(element.get(name, "")):
            yield f"{name}:{element.attrib.pop(name)};"
