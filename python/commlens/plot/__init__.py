"""Records as a picture: one panel a case, curves against size for a sweep and bars for a single size.

Of more than two memories each has panels of its own, side by side and on the same axes. Where records hold parts that
overlap, a panel a transport shows how far they do, and a timeline shows it step by step; both for the best size. Parts
that were measured within an operation stand in one bar; what a variant is worth is a curve against the number of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from commlens.errors import CommlensError
from commlens.plot.layout import draw
from commlens.plot.style import STYLE, Series
from commlens.records import Record
from commlens.results import reason
from commlens.text import plural

__all__ = ["ENDINGS", "Series", "check_ending", "draw", "plot"]

ENDINGS = (".png", ".svg", ".pdf")
_PIXELS_PER_INCH = 200


def check_ending(out: Path) -> None:
    """Raises CommlensError for a name that is not a picture's."""
    if out.suffix.lower() not in ENDINGS:
        what = f"ends in '{out.suffix}'" if out.suffix else "has no ending"
        raise CommlensError(f"--out {out}: the name {what}; a picture's ends in {', '.join(ENDINGS)}")


def plot(records: Sequence[Record], out: Path) -> int:
    """Draws the measured records into `out`, and returns how many there were to draw.

    Raises CommlensError where there is nothing to draw or the file cannot be written.
    """
    check_ending(out)
    measured = [record for record in records if record.measured]
    if not measured:
        raise CommlensError(
            f"nothing to plot: none of {plural(len(records), 'record')} holds a measurement that passed"
        )
    with matplotlib.rc_context(STYLE):
        figure = draw(measured)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(out, dpi=_PIXELS_PER_INCH)
        except OSError as error:
            raise CommlensError(f"--out {out}: the picture cannot be written ({reason(error)})") from None
    return len(measured)
