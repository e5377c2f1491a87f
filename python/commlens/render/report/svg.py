"""Matplotlib's figures as SVG within a page.

The page's policy forbids styles within elements, so they become attributes; ids are those of one
figure alone; a point of a curve has the text that the page shows under the pointer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from commlens.base.text import format_value, printable
from commlens.render.report.axes import gather
from commlens.render.report.compact import compact
from commlens.render.report.elements import HREF, tag_of
from commlens.render.report.looks import Looks

_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "commlens",
}  # text stays text; ids are stable
_PIXELS_PER_POINT = 4 / 3
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
_FONT = re.compile(r"^(?P<words>.*?)(?P<size>[\d.]+)px .*$")
_LONG_NUMBER = re.compile(r"-?\d*\.\d{2,}")
_REFERENCE = re.compile(r"#([\w.-]+)")
_LEFT_OUT = ("metadata", "style")  # what no page needs, and a style that would be all the page's
_NUMBERS = ("d", "x", "y", "width", "height", "points", "transform")
_POINT = "commlens-point-"  # before the name of a curve's group of markers


def inline_svg(figure: Figure, name: str, title: str, looks: Looks) -> str:
    """The element `svg`; its ids begin with `name`, which no other figure of the page has. It needs
    the style of `looks`, which the pictures of a page share."""
    texts = _name_points(figure)
    buffer = BytesIO()
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    source = _FORBIDDEN.sub("?", buffer.getvalue().decode(errors="replace"))
    root = ElementTree.fromstring(source)
    for group in root.iter():
        _write_texts(group, texts.get(group.get("id", ""), []))
    gather(root)
    ids = {own: f"{name}-{number}" for number, own in enumerate(sorted(_references(root)))}
    _clean(root, ids)
    compact(root)
    looks.move(root)
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": f"{_PIXELS_PER_POINT * float(width):.0f}",
        "height": f"{_PIXELS_PER_POINT * float(height):.0f}",
        "role": "img",
        "aria-label": printable(title),
    }
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")  # in no text: &gt;


def _name_points(figure: Figure) -> dict[str, list[str]]:
    """Names the curves, and gives by their names what their points say."""
    found: dict[str, list[str]] = {}
    for axes in figure.axes:
        for line in axes.get_lines():
            label = str(line.get_label())
            if not label.startswith("_"):
                line.set_gid(f"{_POINT}{len(found)}")
                found[f"{_POINT}{len(found)}"] = _texts(axes, line, label)
    return found


def _texts(axes: Axes, line: Line2D, label: str) -> list[str]:
    """`mpi · 64 KiB · latency (us) 12.34`, as the axes name them."""
    size_of = axes.xaxis.get_major_formatter()
    what = axes.get_ylabel()
    points: Any = line.get_xydata()
    return [
        printable(f"{label} · {size_of(x)} · {what} {format_value(float(y), '1')}")
        for x, y in points
    ]


def _write_texts(group: ElementTree.Element, texts: list[str]) -> None:
    """Unless some of the points are outside of the picture, as then which is which is unknown."""
    markers = [one for one in group.iter() if tag_of(one) == "use"]
    if len(markers) == len(texts):
        for marker, text in zip(markers, texts):
            ElementTree.SubElement(marker, "title").text = text


def _references(root: ElementTree.Element) -> set[str]:
    values = (value for one in root.iter() for value in one.attrib.values())
    return {found for value in values for found in _REFERENCE.findall(value)}


def _clean(element: ElementTree.Element, ids: Mapping[str, str]) -> None:
    """Without names of spaces, styles, long numbers, and ids that nothing refers to; `ids` has
    those of the page."""
    element.tag = tag_of(element)
    element.tail = None
    if element.tag not in ("text", "tspan", "title"):
        element.text = None
    children = list(element)
    for child in children:
        _clean(child, ids)
    element[:] = [one for child in children if child.tag not in _LEFT_OUT for one in _whole(child)]
    attributes = dict(element.attrib)
    attributes.update(_presentation(attributes.pop("style", "")))
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    if attributes.get("id") not in ids:
        attributes.pop("id", None)
    if HREF in attributes:
        attributes["href"] = attributes.pop(HREF)
    for key, value in attributes.items():
        if key in _NUMBERS:
            value = _LONG_NUMBER.sub(_shorter, value)
        elif key == "id":
            value = ids[value]
        elif key in ("href", "clip-path") and not value.startswith("data:"):
            value = _REFERENCE.sub(lambda found: f"#{ids[found[1]]}", value)
        attributes[key] = " ".join(value.split())
    element.attrib = attributes


def _whole(element: ElementTree.Element) -> list[ElementTree.Element]:
    """Nothing of what nobody sees, and what is in a group that says nothing."""
    if element.tag == "path" and element.get("fill") == "none" and "stroke" not in element.attrib:
        return [] if "id" not in element.attrib else [element]
    if element.tag == "defs":  # what something refers to
        element[:] = [one for one in element if "id" in one.attrib]
    if element.tag in ("g", "defs") and (not element.attrib or not len(element)):
        return list(element) if element.tag == "g" or not len(element) else [element]
    if element.tag == "g" and len(element) == 1 and _may_be_one(element, element[0]):
        element[0].attrib = {**element.attrib, **element[0].attrib}
        return [element[0]]
    return [element]


def _may_be_one(group: ElementTree.Element, only: ElementTree.Element) -> bool:
    """Unless what one of them says is not what both say together."""
    if {*group.attrib, *only.attrib} & {"id", "transform", "opacity"}:
        return False
    # A clip path is in the coordinates of its element, and those of a use are moved.
    return "clip-path" not in group.attrib or ("clip-path" not in only.attrib and only.tag != "use")


def _presentation(style: str) -> dict[str, str]:
    """The attributes that say what a style says; the family of fonts is the page's."""
    found: dict[str, str] = {}
    for declaration in filter(None, (one.strip() for one in style.split(";"))):
        key, _, value = declaration.partition(":")
        value = value.strip()
        if key == "font" and (font := _FONT.match(value)):
            found["font-size"] = f"{font['size']}px"
            if any(word in font["words"] for word in ("bold", "700", "600")):
                found["font-weight"] = "bold"
        elif key != "font-family":
            found[key] = value
    return found


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
