"""Transports"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.base.text import memory_name, plural
from commlens.findings.disturbance import is_on_gpu
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Observation, rule
from commlens.findings.view import Alternatives, Slower, View, is_sure, slower, transport_name
from commlens.model import Record

_STAGED_FACTOR = 1.5  # more than two launches of one case were seen to differ
_CCL_FACTOR = 2.0
_LONGEST = 300  # characters of a reason


@rule(
    "mpi-slower-than-staged",
    "warning",
    "MPI is slower than staging the same bytes through host memory",
    needs="records",
    when=f"MPI on GPU memory takes more than {_STAGED_FACTOR:g} times as long as the transport "
    "`staged` in each launch that has both; in a sweep, at three sizes in a row.",
    fix="Let MPI take the direct path: with UCX `UCX_TLS` must not leave out the GPU's transports "
    "(cuda_copy, cuda_ipc; rocm_copy, rocm_ipc), with Open MPI compare `OMPI_MCA_pml=ob1` and "
    "`OMPI_MCA_pml=ucx`, and select the GPU before MPI_Init. Or stage in the application: copy to "
    "pinned host memory, and send from there.",
)
def mpi_slower_than_staged(view: View) -> Iterator[Observation]:
    yield from _slower_mpi(view, "staged", _STAGED_FACTOR)


@rule(
    "mpi-slower-than-ccl",
    "warning",
    "MPI is slower than NCCL or RCCL",
    needs="records",
    when=f"MPI on GPU memory takes more than {_CCL_FACTOR:g} times as long as the transport "
    "`ccl` in each launch that has both; in a sweep, at three sizes in a row.",
    fix="Call {library} for this operation where the application can. To make MPI faster, let it "
    "reduce and copy on the GPU: `OMPI_MCA_coll_ucc_enable=1` (Open MPI with UCC), "
    "`MPICH_GPU_ALLREDUCE_USE_KERNEL=1` (Cray MPICH).",
)
def mpi_slower_than_ccl(view: View) -> Iterator[Observation]:
    yield from _slower_mpi(view, "ccl", _CCL_FACTOR)


def _slower_mpi(view: View, other: str, factor: float) -> Iterator[Observation]:
    for own in view.alternatives:
        if not {"mpi", other} <= own.curves.keys() or not own.is_on_gpu or own.group.ranks < 2:
            continue
        mine, theirs = own.curves["mpi"].by_size, own.curves[other].by_size
        sizes = [size for size in mine if size in theirs]
        pairs = {size: slower(mine[size], theirs[size], factor) for size in sizes}
        found = {size: pair for size, pair in pairs.items() if pair}
        if is_sure(sizes, list(found)):
            yield _observation(own, len(sizes), found)


def _observation(own: Alternatives, sizes: int, found: dict[int | None, Slower]) -> Observation:
    pairs = sorted(found.values(), key=lambda pair: -pair.ratio)
    worst = pairs[0]
    library = transport_name(worst.other)
    place = own.where([worst.record.size])
    many = f"; slower at {len(found)} of {sizes} sizes" if sizes > 1 else ""
    records = tuple(record for pair in pairs for record in (pair.record, pair.other))
    return Observation(
        f"MPI takes {_times(worst.ratio)} as long as {library} ({place}{many})",
        Evidence(own.where(list(found)), records),
        Cost(worst.seconds, 1 - 1 / worst.ratio, "operation"),
        {"library": library},
    )


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:,.0f} times"


_FIXES = {
    "mpi": "Load or build an MPI library with support for this GPU: Open MPI `--with-cuda` or "
    "`--with-rocm`, UCX likewise, Cray MPICH `MPICH_GPU_SUPPORT_ENABLED=1` with the module of the "
    "GPU.",
    "ccl": "Install NCCL (CUDA) or RCCL (HIP), and configure commlens again with the preset cuda "
    "or hip.",
}


@rule(
    "transport-not-available",
    "note",
    "a transport was skipped that this machine could have",
    needs="records",
    when="GPU memory was measured, and all records of MPI in it are skipped, or all of NCCL or "
    "RCCL because the build has neither.",
    fix=_FIXES,
)
def transport_not_available(view: View) -> Iterator[Observation]:
    told: set[tuple[str, str, str]] = set()
    for start, own in view.launches:
        by_place: dict[tuple[str, str], list[Record]] = {}
        for record in own:
            if is_on_gpu(record.memory):
                by_place.setdefault((record.transport, record.memory), []).append(record)
        for (transport, memory), records in by_place.items():
            if transport not in _FIXES or any(record.status != "skipped" for record in records):
                continue
            reason = records[0].reason
            if transport == "ccl" and "ccl" in start.versions:
                continue  # it is there, and these cases are none for it
            if (transport, start.host, reason) in told:
                continue
            told.add((transport, start.host, reason))
            place = f"{records[0].benchmark}, {plural(start.ranks, 'rank')}, {memory_name(memory)}"
            name = transport_name(records[0])
            yield Observation(
                f"{name} was skipped on {start.host} ({place}): {reason[:_LONGEST].rstrip('.')}",
                Evidence(place, tuple(records)),
                kind=transport,
            )
