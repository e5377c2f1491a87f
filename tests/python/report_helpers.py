"""Reports of records, and what tests look at in them."""

from __future__ import annotations

import cProfile
import json
import pstats
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from commlens.model import load_each
from commlens.render.report import Report, build, to_html, to_markdown
from record_helpers import write
from sample_applications import make_overlap_record, make_transform_records
from sample_records import make_profile, make_record

SIZES = [8, 64, 512, 4096, 32768]
# Of make_record: MPI takes five times as long as NCCL, at each size.
TIMES = {"mpi": 10.0, "ccl": 2.0}


def sweep(**changes: Any) -> list[dict[str, Any]]:
    """Two transports over five sizes, in device memory."""
    return [
        make_record(
            bytes=size,
            transport=transport,
            memory="device",
            median_us=time * (1 + place / 10),
            placement=placement(),
            **changes,
        )
        for place, size in enumerate(SIZES)
        for transport, time in TIMES.items()
    ]


def placement(hosts: Sequence[str] = ("node01",), gpus: int = 2) -> list[dict[str, Any]]:
    """A rank for each GPU."""
    return [
        {
            "rank": rank,
            "host": host,
            "cores": f"{rank * 4}-{rank * 4 + 3}",
            "numa_nodes": "0",
            "device": {
                "ordinal": rank % gpus,
                "name": "NVIDIA H200",
                "uuid": f"GPU-{host}-{rank % gpus}",
                "pci": f"0000:0{rank % gpus}:00.0",
                "numa_node": 0,
                "memory_bytes": 150109880320,
            },
        }
        for rank, host in enumerate(host for host in hosts for _ in range(gpus))
    ]


def everything() -> list[dict[str, Any]]:
    """Records of several kinds."""
    return [*sweep(), *make_transform_records(), make_overlap_record(steps=2)]


def write_all(folder: Path) -> list[Path]:
    profile = folder / "profile.jsonl"
    profile.write_text(json.dumps(make_profile()) + "\n")
    return [write(folder / "records.jsonl", *everything()), profile]


def report_of(folder: Path, *records: dict[str, Any]) -> Report:
    return build(load_each([write(folder / "records.jsonl", *records)]))


def calls_of(function: Callable[..., object], *arguments: object) -> int:
    """How many calls of functions it takes: what depends on nothing else that the machine does."""
    profile = cProfile.Profile()
    profile.runcall(function, *arguments)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def page_of(folder: Path, *records: dict[str, Any]) -> str:
    return to_html(report_of(folder, *records))


def markdown_of(folder: Path, *records: dict[str, Any]) -> str:
    return to_markdown(report_of(folder, *records))


class Page(HTMLParser):
    """The elements of a page, with their attributes and their text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def attributes(self, name: str) -> list[str]:
        return [attributes[name] for _, attributes in self.elements if name in attributes]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def ids(self) -> list[str]:
        return self.attributes("id")


def assert_harmless(text: str) -> None:
    """Nothing but what the templates have can run, load or send anything."""
    page = Page(text)
    tags = [tag for tag, _ in page.elements]
    allowed = {"script": 1, "style": 1, "iframe": 0, "object": 0, "embed": 0, "form": 0, "img": 0}
    assert {tag: tags.count(tag) for tag in allowed} == allowed
    assert set(tags) <= _TAGS, set(tags) - _TAGS
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    for target in [*page.attributes("href"), *page.attributes("src")]:
        assert re.match(r"#[\w-]+$|data:,$|data:application/gzip;base64,|data:image/png;", target)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


_TAGS = {
    *("html", "head", "meta", "link", "title", "style", "body", "header", "nav", "main", "section"),
    *("article", "footer", "script", "h1", "h2", "h3", "h4", "p", "a", "b", "br", "code", "div"),
    *("li", "pre", "small", "span", "strong", "ul", "dl", "dt", "dd", "details", "summary"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "svg", "defs", "clippath"),
    *("path", "g", "rect", "line", "text", "tspan", "use", "image"),
}
