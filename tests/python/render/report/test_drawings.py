"""Pictures within a page, and the topology of a machine."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from commlens.render import plots as plot
from commlens.render.report.machine import machines
from commlens.render.report.svg import _clean, inline_svg
from record_helpers import parsed
from report_helpers import page_of, placement, sweep
from run_helpers import cases
from sample_records import make_record


def pictures() -> list[str]:
    with plot.styled():
        singles = list(plot.draw_singly(parsed(*sweep())))
        return [
            inline_svg(figure, f"p{n}", panel.title, {})
            for n, (panel, figure) in enumerate(2 * singles)
        ]


def test_a_picture_has_no_styles_and_unique_ids() -> None:
    first, second = pictures()[:2]
    ids = [set(re.findall(r' id="([^"]*)"', drawing)) for drawing in (first, second)]
    assert ids[0] and not ids[0] & ids[1]
    for drawing in (first, second):
        assert "style" not in drawing and "xmlns" not in drawing and "font-family" not in drawing
        references = set(re.findall(r"#([\w.-]+-[\w.-]+)", drawing))
        assert references <= set(re.findall(r' id="([^"]*)"', drawing))
        assert ElementTree.fromstring(drawing).get("role") == "img"


def test_a_moved_symbol_is_not_clipped() -> None:
    """A clip path is in the coordinates of its element: a use with x and y would move it away."""
    figure = Figure()
    figure.subplots().plot([1.0], [1.0], "o")
    for text in (*pictures(), inline_svg(figure, "p", "a point", {})):
        used = list(ElementTree.fromstring(text).iter("use"))
        assert used and not [element for element in used if "clip-path" in element.attrib]


def class_of(style: str, classes: dict[str, str]) -> str | None:
    element = ElementTree.Element("path", style=style)
    _clean(element, {}, classes)
    assert "style" not in element.attrib
    return element.get("class")


def test_styles_are_classes_that_the_page_has_once() -> None:
    classes: dict[str, str] = {}
    colors = ("#888", "none", "#888")
    names = [class_of(f"fill: {color}; stroke-width: 1.5", classes) for color in colors]
    assert names == ["p0", "p1", "p0"]
    assert list(classes) == ["fill: #888; stroke-width: 1.5", "fill: none; stroke-width: 1.5"]
    assert class_of("fill: red;} * {color:red", classes) is None, "what could do more is left out"


def test_texts_keep_their_size_and_where_they_are_anchored() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_title("a bold title", fontsize=13, fontweight="bold")
    axes.text(0.5, 0.5, "flush right", ha="right", fontsize=7)
    classes: dict[str, str] = {}
    drawing = ElementTree.fromstring(inline_svg(figure, "p", "texts", classes))
    rules = {name: rule for rule, name in classes.items()}
    of = {str(text.text): rules[text.attrib["class"]] for text in drawing.iter("text")}
    assert "13px" in of["a bold title"] and "text-anchor: middle" in of["a bold title"]
    assert re.search(r"700|bold", of["a bold title"])
    assert "7px" in of["flush right"] and "text-anchor: end" in of["flush right"]
    assert all("px" in rule and "family" not in rule for rule in of.values())


@pytest.mark.parametrize(("style", "rule"), cases("styles of texts"))
def test_the_family_of_fonts_is_left_out_of_old_and_new_styles(style: str, rule: str) -> None:
    classes: dict[str, str] = {}
    assert class_of(style, classes) == classes[rule]


def test_each_panel_is_a_picture_without_the_head_of_all() -> None:
    records = parsed(*sweep(), make_record(benchmark="bandwidth", metric="bandwidth_GBps"))
    singles = list(plot.draw_singly(records))
    assert [panel.title for panel, _ in singles] == ["latency", "bandwidth of 1 KiB"]
    assert all(panel.group is not None for panel, _ in singles)
    assert not [text for _, figure in singles for text in figure.texts]


ADAPTER = {"environment": {"UCX_NET_DEVICES": "mlx5_0:1"}, "settings": ["UCX_NET_DEVICES"]}


@pytest.mark.parametrize(("hosts", "gpus", "boxes", "texts"), cases("topologies"))
def test_a_topology_has_nodes_with_ranks_and_gpus_and_the_network_between_them(
    hosts: int, gpus: int, boxes: list[int], texts: dict[str, int], tmp_path: Path
) -> None:
    """Of a large machine a part is shown."""
    places = placement([f"node{number}" for number in range(hosts)], gpus)
    page = page_of(
        tmp_path, make_record(ranks=len(places), nodes=hosts, placement=places, **ADAPTER)
    )
    kinds = ("node", "cell", "rank", "gpu", "link", "network")
    assert [page.count(f'<div class="{kind}">') for kind in kinds] == boxes
    assert {text: page.count(text) for text in texts} == texts


def test_links_have_the_rates_that_ceilings_measured(tmp_path: Path) -> None:
    ceiling = {"name": "peer copy", "method": "a copy", "time_us": 1.0, "rate": 390.0,
               "unit": "GB/s", "metrics": {"latency_us": 1.0}, "fraction": 0.5}  # fmt: skip
    page = page_of(tmp_path, make_record(placement=placement(), ceilings=[ceiling]))
    assert page.count('<div class="link">peer copy 390.0 GB/s</div>') == 1, "at the first GPU"
    assert page.count('<div class="gpu">') == page.count('<div class="link">') == 2


def test_starts_on_the_same_gpus_share_a_machine() -> None:
    first, second, other = parsed(
        make_record(placement=placement()),
        make_record(bytes=8, placement=placement(gpus=1), ranks=1),
        make_record(bytes=16, placement=placement(["node02"])),
    )
    groups, _ = machines([first.start, second.start, other.start], [])
    assert [len(machine.launches) for machine in groups] == [2, 1]
    assert groups[0].title == "2 NVIDIA H200 on node01, Open MPI 4.1.4"
