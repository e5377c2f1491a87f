"""A profile as panels: time by function and by rank, bytes by peer, sizes of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_bytes, format_percent, format_short, plural, printable
from commlens.model.profile import Function, Profile, mean
from commlens.render.plots.colors import IMBALANCE_COLOR, MEAN_COLOR, QUIET_COLOR, SIZE_COLOR
from commlens.render.plots.heading import Heading
from commlens.render.plots.layout import Layout, arranged, single
from commlens.render.plots.panel import Panel
from commlens.render.plots.selection import MAX_HEIGHT_INCHES
from commlens.render.plots.style import PANEL_INCHES, label_inches

_MAX_FUNCTIONS = 12
_LEAST_BAR = 0.001  # of the longest
_MAX_LABELED_BINS = 14
_COLUMNS = 2
_WIDTH_INCHES = PANEL_INCHES[0] + 1
_MAX_RANKS = 2048  # of a matrix, which has their square of cells
_MAP = "viridis"


def draw_profiles(profiles: Sequence[Profile]) -> tuple[Figure, int]:
    """Draws the first profiles of which two screens hold all panels, at least one; their number."""
    count = len(profiles)
    while True:
        panels = [panel for profile in profiles[:count] for panel in _panels(profile)]
        picture = Layout(arranged(panels, _COLUMNS), _COLUMNS, _WIDTH_INCHES)
        if count == 1 or picture.height <= MAX_HEIGHT_INCHES:
            return picture.draw(), count
        count -= 1


def draw_profile_singly(profile: Profile) -> Iterator[Figure]:
    """Draws the same panels, each as a picture."""
    return (single(panel, _WIDTH_INCHES) for panel in _panels(profile))


def _panels(profile: Profile) -> list[Panel]:
    return [kind(profile) for kind in (_Times, _Matrix, _Ranks, _Sizes)]


@dataclass(frozen=True)
class _ProfilePanel(Panel):
    profile: Profile

    @property
    def height(self) -> float:
        return PANEL_INCHES[1] + 0.3

    @property
    def functions(self) -> list[Function]:
        """Those whose bars can be seen."""
        found = self.profile.communicating
        least = _LEAST_BAR * max((own.time.mean_s for own in found), default=0.0)
        return [own for own in found if own.time.mean_s > least][:_MAX_FUNCTIONS]

    @property
    def names(self) -> list[str]:
        return [printable(function.name) for function in self.functions]


class _Times(_ProfilePanel):
    """The mean over ranks, and on top of it the excess of the slowest rank."""

    @property
    def heading(self) -> Heading:
        profile = self.profile
        total = mean(profile.total_s)
        share = format_percent(mean(profile.mpi_s) / total) if total > 0 else "0%"
        title = f"time by function: {share} of {total:.3g} s in MPI"
        start = mean(profile.in_functions(profile.initializing))
        apart = f"MPI_Init and MPI_Finalize apart: {start:.3g} s" if start > 0 else ""
        threads = f"mean over {profile.threads} threads" if profile.threads > 1 else ""
        ranks = plural(profile.ranks, "rank")
        parts = (" ".join(profile.command), ranks, profile.library, threads, apart)
        return Heading(title, printable(", ".join(filter(None, parts))))

    @property
    def label_width(self) -> float:
        return 0.35 + label_inches(self.names)

    def draw(self, axes: Axes, width: float) -> None:
        shown = self.functions
        if not shown:
            _write_nothing(axes, "nothing but MPI_Init and MPI_Finalize")
            return
        positions = range(len(shown))
        means = [function.time.mean_s for function in shown]
        excess = [function.time.imbalance_s for function in shown]
        style: dict[str, Any] = {"height": 0.65}
        axes.barh(positions, means, color=MEAN_COLOR, label="mean over ranks", **style)
        style.update(left=means, color=IMBALANCE_COLOR)
        axes.barh(positions, excess, label="imbalance: maximum - mean", **style)
        axes.set_yticks(positions, self.names)
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.set_xlabel("time (s)")
        axes.grid(True, axis="x")
        axes.legend(loc="lower right")


class _Matrix(_ProfilePanel):
    """The bytes from each rank to each other."""

    @property
    def heading(self) -> Heading:
        return Heading("bytes by peer", "point to point, all-to-all and RMA")

    def draw(self, axes: Axes, width: float) -> None:
        profile = self.profile
        sent = [peer for peer in profile.peers if peer.bytes > 0]
        if not sent:
            _write_nothing(axes, "no message from rank to rank")
            return
        if profile.ranks > _MAX_RANKS:
            _write_nothing(axes, f"not drawn for more than {_MAX_RANKS:,} ranks")
            return
        cells = [[0] * profile.ranks for _ in range(profile.ranks)]
        for peer in sent:
            cells[peer.sender][peer.receiver] = peer.bytes
        largest = max(peer.bytes for peer in sent)
        image = axes.imshow(cells, cmap=_MAP, vmin=0, vmax=largest, interpolation="nearest")
        axes.set_xlabel("to rank")
        axes.set_ylabel("from rank")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
        ends = [0, largest / 2, largest]
        bar.set_ticks(ends)
        bar.set_ticklabels([format_bytes(round(value)) for value in ends])


class _Ranks(_ProfilePanel):
    """The time of each rank in each function."""

    @property
    def heading(self) -> Heading:
        return Heading("time by rank", "in the functions above; USER is outside MPI")

    @property
    def label_width(self) -> float:
        return 0.35 + label_inches(self.names)

    def draw(self, axes: Axes, width: float) -> None:
        profile = self.profile
        rows = [profile.outside_s, *(function.time_s for function in self.functions)]
        largest = max(max(row) for row in rows)
        style: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest"}
        image = axes.imshow(rows, cmap=_MAP, vmin=0, vmax=largest or 1, **style)
        axes.set_yticks(range(len(rows)), ["USER", *self.names])
        axes.tick_params(axis="y", length=0)
        # The ranks that wrote, which are all but those that died.
        ranks = [place.rank for place in profile.placement]
        marked = range(0, len(ranks), max(1, -(-len(ranks) // 8)))
        axes.set_xticks(list(marked), [str(ranks[index]) for index in marked])
        axes.set_xlabel("rank")
        axes.figure.colorbar(image, ax=axes, shrink=0.85).set_label("time (s)")


class _Sizes(_ProfilePanel):
    """The calls by the bytes that they transfer."""

    @property
    def heading(self) -> Heading:
        return Heading("sizes of messages", "calls of all ranks and functions, by bytes")

    def draw(self, axes: Axes, width: float) -> None:
        calls: dict[int, int] = {}  # by bits of the number of bytes
        for function in self.profile.functions:
            for size in function.sizes:
                bits = size.from_bytes.bit_length()
                calls[bits] = calls.get(bits, 0) + size.calls
        if not calls:
            _write_nothing(axes, "no call that transfers bytes")
            return
        bins = range(min(calls), max(calls) + 1)
        bars = axes.bar(bins, [calls.get(bits, 0) for bits in bins], width=0.85, color=SIZE_COLOR)
        if len(bins) <= _MAX_LABELED_BINS:
            texts = [format_short(calls[bits]) if calls.get(bits) else "" for bits in bins]
            axes.bar_label(bars, texts, fontsize=8, color=QUIET_COLOR)
        marked = list(bins)[:: max(1, len(bins) // 5)]
        sizes = [0 if bits == 0 else 2 ** (bits - 1) for bits in marked]
        axes.set_xticks(marked, list(map(format_bytes, sizes)))
        axes.set_xlabel("bytes, from each label to less than twice as many")
        axes.set_ylabel("calls")
        axes.grid(True, axis="y")


def _write_nothing(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=QUIET_COLOR, transform=axes.transAxes)
