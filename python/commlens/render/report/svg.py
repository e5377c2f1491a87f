"""Matplotlib's figures as SVG within a page.

The page's policy forbids styles within elements: each style becomes a class of the page's style.
Ids are those of one picture alone. A point of a curve has the text that the page shows under the
pointer.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from commlens.base.text import format_value, printable

_SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "commlens",  # ids are stable
}
_PIXELS_PER_POINT = 4 / 3
_HREF = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = ("metadata", "style")  # what no page needs, and a style that would be all the page's
_TEXTS = ("text", "tspan", "title")  # the text of all others is blanks
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
_LONG_NUMBER = re.compile(r"-?\d*\.\d{2,}")
_BLANKS = re.compile(r"\s*([A-Za-z])\s*")  # around a command of a path
_NUMBERS = ("d", "x", "y", "width", "height", "points", "transform")
_REFERENCE = re.compile(r"#([\w.-]+)")
_FONT = re.compile(
    r"(font: .*?[\d.]+px) .*"
)  # size and family, as Matplotlib before 3.11 writes it
_SAFE = re.compile(r"[\w#.,:;% -]+")
_POINT = "commlens-point-"  # before the name of a curve's group of markers


class Styles:
    """The styles of the elements of all pictures of a page, each once, as classes."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}

    def class_of(self, style: str) -> str | None:
        """The class in whose place a style stands, None for a style that could do more."""
        style = _without_family(style)
        if not _SAFE.fullmatch(style):
            return None
        return self._classes.setdefault(style, f"p{len(self._classes)}")

    @property
    def text(self) -> str:
        """The rules for the page's style."""
        return "\n".join(f".{name} {{ {style} }}" for style, name in self._classes.items())


def _without_family(style: str) -> str:
    """The family of fonts is the page's."""
    declarations = [declaration.strip() for declaration in style.split(";")]
    return "; ".join(
        _FONT.sub(r"\1 sans-serif", declaration)
        for declaration in declarations
        if declaration and not declaration.startswith("font-family:")
    )


def inline_svg(figure: Figure, name: str, title: str, styles: Styles) -> str:
    """Returns the element `svg`; its ids begin with `name`, which no other picture of the page has.
    It needs the rules of `styles`, which the pictures of a page share."""
    texts = _name_points(figure)
    buffer = BytesIO()
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = fromstring(_FORBIDDEN.sub("?", buffer.getvalue().decode(errors="replace")))
    for group in root.iter():
        _write_texts(group, texts.get(group.get("id", ""), []))
    view = root.attrib["viewBox"]
    values = (value for one in root.iter() for value in one.attrib.values())
    names = sorted({found for value in values for found in _REFERENCE.findall(value)})
    ids = {own: f"{name}-{number}" for number, own in enumerate(names)}
    _clean(root, ids, styles)
    width, height = (round(_PIXELS_PER_POINT * float(number)) for number in view.split()[2:])
    root.attrib = {"viewBox": view, "width": str(width), "height": str(height),
                   "role": "img", "aria-label": printable(title)}  # fmt: skip
    return tostring(root, encoding="unicode").replace(" />", "/>")  # in no text: &gt;


def _name_points(figure: Figure) -> dict[str, list[str]]:
    """Names the curves, and gives by their names the texts of their points."""
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
    quantity = axes.get_ylabel()
    points: Any = line.get_xydata()
    return [
        printable(f"{label} · {size_of(x)} · {quantity} {format_value(float(y), '1')}")
        for x, y in points
    ]


def _write_texts(group: Element, texts: list[str]) -> None:
    """Unless some of the points are outside of the picture, as then which is which is unknown."""
    markers = [one for one in group.iter() if one.tag.endswith("}use")]
    if len(markers) == len(texts):
        for marker, text in zip(markers, texts):
            SubElement(marker, "title").text = text


def _clean(element: Element, ids: dict[str, str], styles: Styles) -> None:
    """Leaves no names of spaces, styles, long numbers, groups without attributes, and ids that
    nothing refers to; `ids` has those of the page."""
    element.tag = element.tag.rpartition("}")[2]
    element.tail = None
    if element.tag not in _TEXTS:
        element.text = None
    children: list[Element] = []
    for child in element:
        _clean(child, ids, styles)
        is_bare = child.tag == "g" and not child.attrib
        if child.tag not in _LEFT_OUT:
            children += list(child) if is_bare else [child]
    element[:] = children
    attributes = {"href" if key == _HREF else key: one for key, one in element.attrib.items()}
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    if (own := styles.class_of(attributes.pop("style", ""))) is not None:
        attributes["class"] = own
    if "id" in attributes and (own := ids.get(attributes.pop("id"))) is not None:
        attributes["id"] = own
    for key, value in attributes.items():
        if key in _NUMBERS:
            value = _LONG_NUMBER.sub(_shorter, value)
            value = _BLANKS.sub(r"\1", value) if key == "d" else value
        elif key in ("href", "clip-path") and not value.startswith("data:"):
            value = _REFERENCE.sub(lambda found: f"#{ids[found[1]]}", value)
        attributes[key] = " ".join(value.split())
    element.attrib = attributes


def _shorter(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
