"""A published profile of the same pattern, beside ours: shares, as times are another machine's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from commlens.compare.references import load
from commlens.model.imbalance import mean
from commlens.model.profile import Profile

_SHARE, _IMBALANCE = "Time %", "Imb. Time %"
_LEADING = 2  # functions of MPI that take most of a published profile: a profile like it has them
_LEAST_PERCENT = 0.1


def published_table(profile: Profile) -> Iterator[str]:
    """Of each published profile whose leading functions this one calls, too."""
    ours = {own.name.lower(): own for own in profile.communicating}
    total = mean(profile.total_s)
    for source in load():
        for setup, figures in groupby(source.figures, lambda figure: figure.setup):
            theirs: dict[str, dict[str, float]] = {}
            for figure in figures:
                name, _, what = figure.quantity.partition(": ")
                theirs.setdefault(name.rstrip("_"), {})[what] = figure.value
            shares = {
                name: own[_SHARE]
                for name, own in theirs.items()
                if name.startswith("mpi_") and own.get(_SHARE, 0) >= _LEAST_PERCENT
            }
            leading = sorted(shares, key=lambda name: -shares[name])[:_LEADING]
            if not leading or not ours.keys() >= set(leading) or total <= 0:
                continue
            yield f"Beside it {source.name}: {setup}, {source.machine}"
            yield " Time % | published |   Imb. | published |Function"
            for name, share in shares.items():
                own = ours.get(name)
                percent = f"{100 * own.time.mean_s / total:5.1f}%" if own else f"{'--':>6}"
                imbalance = f"{own.time.percent:5.1f}%" if own else f"{'--':>6}"
                theirs_imbalance = f"{theirs[name].get(_IMBALANCE, 0.0):8.1f}%"
                label = own.name if own else name
                yield f" {percent} | {share:8.1f}% | {imbalance} | {theirs_imbalance} |{label}"
