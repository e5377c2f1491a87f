"""The end of `--format dftfe`: what was published in the words of the DFT-FE mini-app.

The lines are comments, as those of the native program that the mini-app does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.terminal import echo
from commlens.base.text import format_bytes, format_ratio
from commlens.compare.references import Beside, nearest
from commlens.model import Record

FORMAT = "dftfe"


def print_published(records: Sequence[Record]) -> None:
    """Prints the published results that are nearest to the records, with their sources."""
    for line in published_lines(records):
        echo(line)


def published_lines(records: Sequence[Record]) -> Iterator[str]:
    """Each result once, beside the record of the closest size."""
    measured = [record for record in records if record.measured]
    if not measured:
        return
    found = [one for record in measured for one in nearest(record)]
    closest: dict[int, Beside] = {}
    for one in found:
        other = closest.get(id(one.figure))
        if other is None or (one.same_size and not other.same_size):
            closest[id(one.figure)] = one
    if not closest:
        yield "# published: nothing for these parameters (docs/reference.md)"
        return
    yield "# published, nearest in memory, size, nodes and ranks; ratios are ours over theirs"
    head = ""
    for one in closest.values():
        figure = one.figure
        size = format_bytes(figure.size) if figure.size else ""
        words = (figure.where, size, f"{figure.memory} memory" if figure.memory else "")
        own = f"# {one.source.name}: {', '.join(filter(None, words))}"
        if own != head:
            head = own
            yield head
        # No ratio where sizes or kinds of memory differ.
        ratio = "" if one.ratio is None else f" ({format_ratio(one.ratio)})"
        yield f"#   {figure.quantity}: {figure.as_printed}{ratio}"
