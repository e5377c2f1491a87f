"""What is known of a site: a list of facts, and a picture of one node with its binding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import plural
from commlens.jobs.sites.site import Domain, Site
from commlens.render.table import INDENT, Lines, text_width

_WIDTH = 100  # of a picture: more domains are drawn below each other


def site_of(site: Site) -> Lines:
    """What `commlens sites show` prints."""
    facts = [(name, text) for name, text in _facts(site) if text]
    width = max(len(name) for name, _ in facts)
    about = [[("  ", ""), (name.ljust(width), "dim"), ("  " + text, "")] for name, text in facts]
    node, domains = site.node, site.node.domains or [_whole(site)]
    head = f"one node: {plural(node.ranks, 'rank')} of {plural(node.cores_per_rank, 'core')}"
    head += f", {plural(node.gpus, 'GPU')}" if node.gpus else ""
    picture = [[(line, "")] for line in _picture(domains)]
    return Lines(
        [[(site.site, "bold cyan"), (f"  {site.title}", "dim")], *about, [], [(head, "")], *picture]
    )


def _facts(site: Site) -> Iterator[tuple[str, str]]:
    limits = [f"to {plural(one.nodes, 'node')} {one.hours:g} h" for one in site.limits]
    yield "status", f"{site.status}, facts of {site.checked}"
    yield "source", site.source
    queue = f", queue {site.queue}" if site.queue else ""
    yield "scheduler", f"{site.scheduler}{queue}, account {site.account}"
    yield "limits", ", ".join(limits)
    yield "modules", " ".join(site.modules)
    yield "launcher", " ".join((site.launcher, *site.job_spec(1).launcher_arguments))
    yield "variables", " ".join(f"{name}={text}" for name, text in site.environment.items())


def _whole(site: Site) -> Domain:
    """A node of which no more is known."""
    node = site.node
    return Domain("node", "", list(range(node.gpus)), 0, list(range(node.ranks)))


def _picture(domains: Sequence[Domain]) -> Iterator[str]:
    """Boxes beside each other, as many as fit."""
    boxes = [_lines(domain) for domain in domains]
    height = max(len(box) for box in boxes)
    width = max(text_width(line) for box in boxes for line in box)
    at_once = max(1, (_WIDTH - INDENT) // (width + 3))
    for begin in range(0, len(boxes), at_once):
        row = [box + [""] * (height - len(box)) for box in boxes[begin : begin + at_once]]
        yield _border("┌┬┐", width, len(row))
        for lines in zip(*row):
            yield " " * INDENT + "│" + "│".join(f" {line.ljust(width)} " for line in lines) + "│"
        yield _border("└┴┘", width, len(row))


def _border(corners: str, width: int, count: int) -> str:
    return " " * INDENT + corners[0] + corners[1].join(["─" * (width + 2)] * count) + corners[2]


def _lines(domain: Domain) -> list[str]:
    texts = (
        domain.name,
        f"cores {domain.cores}" if domain.cores else "",
        _numbered("GPU", domain.gpus),
        plural(domain.nics, "NIC") if domain.nics else "",
        _numbered("rank", domain.ranks),
    )
    return [text for text in texts if text]


def _numbered(word: str, numbers: Sequence[int]) -> str:
    """`GPUs 4, 5`; from three on `ranks 0-5` where they follow each other."""
    if not numbers:
        return ""
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 2 and list(numbers) == list(range(first, last + 1)):
        return f"{word}s {first}-{last}"
    return f"{word}{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
