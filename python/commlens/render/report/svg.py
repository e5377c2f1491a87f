"""Matplotlib's figures as SVG within a page.

The page's policy forbids styles within elements: each becomes a class of the page's style. Ids are
those of one picture alone. A point of a curve has the text that the page shows under the pointer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, cast
from xml.etree.ElementTree import Element, SubElement, fromstring, tostring

import matplotlib
from matplotlib.figure import Figure

from commlens.base.text import format_value, printable
from commlens.render.plots import rendered

_SETTINGS: Any = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "commlens",  # ids are stable
}
_PIXELS_PER_POINT = 4 / 3
_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML
_LEFT_OUT = re.compile(
    r"<(metadata|style)\b.*?</\1>"  # what no page needs, and a style of all the page
    r"|(?<=>)\s+(?=<)"
    r'| transform="rotate\(-0 [^"]*"',
    re.DOTALL,
)
_LONG_NUMBER = re.compile(r"-?\d*\.\d{2,}")
_BLANKS = re.compile(r"\s*([A-Za-z]|$)\s*")  # around a command of a path
_REFERENCE = re.compile(r"(?:^|(?<=url\())#([\w.-]+)")
# Matplotlib before 3.11 writes `font: 12px FAMILY`, which must have one, later ones `font-family`.
_FONT = re.compile(r"(?<=px) [^;]*")
_FAMILY = re.compile(r" *font-family:[^;]*;?")
_SAFE = re.compile(r"[\w#.,:;% -]+")  # a style that is no more than that
_POINT = "commlens-point-"  # before the name of a curve's group of markers
_BARE = "bare"  # the tag of groups without attributes, which are left out


def inline_svg(figure: Figure, name: str, title: str, classes: dict[str, str]) -> str:
    """Returns the element `svg`; its ids begin with `name`, which no other picture of the page has.

    `classes`: of the styles of all pictures of a page, which this joins.
    """
    texts = _name_points(figure)
    with matplotlib.rc_context(_SETTINGS):
        content = rendered(figure, "svg", transparent=True, metadata={"Date": None})
    text = _FORBIDDEN.sub("?", content.decode(errors="replace"))
    root = fromstring(_LEFT_OUT.sub("", text))
    for element in root.iter():
        markers = [child for child in element.iter() if child.tag.endswith("}use")]
        labels = texts.get(element.get("id", ""), [])
        # Unless some of the points are outside of the picture: which is which is then unknown.
        if len(markers) == len(labels):
            for marker, text in zip(markers, labels):
                SubElement(marker, "title").text = text
    ids: defaultdict[str, str] = defaultdict(lambda: f"{name}-{len(ids)}")
    for element in root.iter():
        _clean(element, ids, classes)
    view = root.attrib["viewBox"]
    width, height = (round(_PIXELS_PER_POINT * float(number)) for number in view.split()[2:])
    root.attrib = {"viewBox": view, "width": str(width), "height": str(height),
                   "role": "img", "aria-label": printable(title)}  # fmt: skip
    drawing = tostring(root, encoding="unicode").replace(" />", "/>")  # in no text: &gt;
    return re.sub(f"</?{_BARE}/?>", "", drawing)


def _name_points(figure: Figure) -> dict[str, list[str]]:
    """Names the curves, and gives by their names the texts of their points, as the axes name them:
    `mpi · 64 KiB · latency (us) 12.34`."""
    texts: dict[str, list[str]] = {}
    for axes in figure.axes:
        size_of, quantity = axes.xaxis.get_major_formatter(), axes.get_ylabel()
        for line in axes.get_lines():
            label, points = str(line.get_label()), cast("Iterable[Any]", line.get_xydata())
            if not label.startswith("_"):
                name = f"{_POINT}{len(texts)}"
                line.set_gid(name)
                texts[name] = [
                    printable(f"{label} · {size_of(x)} · {quantity} {format_value(float(y), '1')}")
                    for x, y in points
                ]
    return texts


def _clean(element: Element, ids: Mapping[str, str], classes: dict[str, str]) -> None:
    """Leaves out name spaces, styles, long numbers and the ids of groups, to which nothing refers.

    `ids` gives each other id one that no other picture of the page has.
    """
    element.tag = element.tag.rpartition("}")[2]
    kept: dict[str, str] = {}
    for key, value in element.attrib.items():
        if key == "style":
            style = _FONT.sub(" sans-serif", _FAMILY.sub("", value))  # the page has its own
            if _SAFE.fullmatch(style):
                kept["class"] = classes.setdefault(style, f"p{len(classes)}")
        elif key == "id":
            if element.tag != "g":
                kept[key] = ids[value]
        else:
            value = _LONG_NUMBER.sub(lambda hit: f"{float(hit[0]):.1f}".removesuffix(".0"), value)
            value = _BLANKS.sub(r"\1", value) if key == "d" else value
            kept[key.rpartition("}")[2]] = _REFERENCE.sub(lambda hit: f"#{ids[hit[1]]}", value)
    element.attrib = kept
    if element.tag == "g" and not kept:
        element.tag = _BARE
