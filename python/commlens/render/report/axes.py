"""The axes of a picture in fewer characters: Matplotlib writes an axis tick by tick, and each mark
as a symbol. Here what looks alike is together, so that it becomes one path."""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from xml.etree.ElementTree import Element

from commlens.render.report.elements import HREF, tag_of

_LINE = 6  # words: M 0 0 L 0 3.5
_AXIS, _TICKS = "matplotlib.axis_", ("xtick_", "ytick_")


def gather(root: Element) -> None:
    """The picture stays the same: what changes its place in an axis does not overlap."""
    for axis in root.iter():
        if axis.get("id", "").startswith(_AXIS):
            pieces = [piece for child in axis for piece in _of_tick(child)]
            axis[:] = sorted(pieces, key=_kind)
    symbols = {one.get("id", ""): one for one in root.iter() if tag_of(one) == "path"}
    times = Counter(one.get(HREF, "")[1:] for one in root.iter() if tag_of(one) == "use")
    for group in root.iter():
        for place, child in enumerate(group):
            name = child.get(HREF, "")[1:]
            symbol = symbols.get(name)
            if tag_of(child) == "use" and symbol is not None and not len(child):
                group[place] = _drawn(child, symbol, times[name])


def _of_tick(child: Element) -> list[Element]:
    """Its line of the grid, its mark and its label."""
    return list(child) if child.get("id", "").startswith(_TICKS) else [child]


def _kind(piece: Element) -> int:
    """Lines of the grid, then marks, then labels."""
    tags = {tag_of(one) for one in piece.iter()}
    return 2 if "text" in tags else 1 if "use" in tags else 0


def _drawn(use: Element, symbol: Element, times: int) -> Element:
    """The use of a symbol as a path of its own, where that is shorter: it can be joined."""
    words = symbol.attrib["d"].split()
    is_short = len(words) == _LINE or times == 1
    if not is_short or not {word for word in words if word.isalpha()} <= {"M", "L", "z"}:
        return use
    moves = cycle((float(use.get("x", "0")), float(use.get("y", "0"))))
    path = (word if word.isalpha() else f"{float(word) + next(moves)}" for word in words)
    style = ";".join((use.get("style", ""), symbol.get("style", "")))  # the latter is stronger
    return Element(symbol.tag, {"d": " ".join(path), "style": style})
