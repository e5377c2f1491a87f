"""Elements of Matplotlib's SVG."""

from __future__ import annotations

from xml.etree.ElementTree import Element

HREF = "{http://www.w3.org/1999/xlink}href"


def tag_of(element: Element) -> str:
    """Without the name of its space."""
    return element.tag.rpartition("}")[2]
