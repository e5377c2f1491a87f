"""Cases of rules on records and profiles."""

from __future__ import annotations

from machine_cases import Cases
from rule_records import (
    FAST,
    LINEAR,
    SIZES,
    SLOW,
    WITH_CCL,
    below,
    both,
    clocked,
    directions,
    failed,
    faulting,
    function,
    jump,
    jump_of_ceilings,
    jump_of_page_faults,
    launches,
    noisy,
    on_device,
    overlap,
    placement,
    powered,
    profile,
    replays,
    selected,
    skipped,
    sweep,
    transform,
    unsteady,
    without_interval,
)
from sample_applications import make_overlap_record, make_transform_records
from sample_pairs import bandwidths, latencies, make_pairs_record, slow_pairs
from sample_records import BUSY, QUIET, make_record
from sample_records import placement as hosts
from sample_replays import make_replay_record

BETWEEN_HALVES = [(a, b) for a in (0, 1) for b in (2, 3)]
A_WAY = {(b, a): 1.0 for a, b in BETWEEN_HALVES}

_KEEPS = "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"
PUTS = {**function("MPI_Put", 0.1, 3000, 4096), "group": "RMA"}
CASES: dict[str, Cases] = {
    "wrong-results": Cases(
        {"failed": lambda: failed("failed")},
        {"passed": lambda: [make_record()], "an error": lambda: failed("not reached")},
    ),
    "mpi-slower-than-staged": Cases(
        {
            "a sweep": lambda: both(SLOW, "staged", FAST),
            "one size": lambda: both([4.0], "staged", [1.0]),
            "two launches": lambda: [
                *both(SLOW, "staged", FAST, start="one"),
                *both(SLOW, "staged", FAST, start="two"),
            ],
        },
        {
            "faster": lambda: both(FAST, "staged", SLOW),
            "a little": lambda: both([1.4] * 5, "staged", FAST),
            "two sizes in a row": lambda: both([1, 4, 4, 1, 1], "staged", FAST),
            "one start does not": lambda: [
                *both(SLOW, "staged", FAST, start="one"),
                *both(FAST, "staged", FAST, start="two"),
            ],
            "few samples": lambda: without_interval(both(SLOW, "staged", FAST)),
            "noise": lambda: noisy(both(SLOW, "staged", FAST)),
            "host memory": lambda: both(SLOW, "staged", FAST, memory="host"),
            "one rank": lambda: both(SLOW, "staged", FAST, ranks=1, placement=placement()[:1]),
            "a shared GPU": lambda: both(SLOW, "staged", FAST, placement=placement(gpus=(0, 0))),
            "shared cores": lambda: both(
                SLOW, "staged", FAST, placement=placement(cores=("0", "0"))
            ),
        },
    ),
    "mpi-slower-than-ccl": Cases(
        {"a sweep": lambda: both(SLOW, "ccl", FAST)},
        {
            "less than twice": lambda: both([1.9] * 5, "ccl", FAST),
            "few samples": lambda: without_interval(both(SLOW, "ccl", FAST)),
            "noise": lambda: noisy(both(SLOW, "ccl", FAST)),
        },
    ),
    "device-collectives-through-mpi": Cases(
        {
            "a program": profile(on_device("MPI_Allreduce", 1.0, 100, 80_000_000)),
            "half of the calls": profile(
                {**function("MPI_Bcast", 1.0, 100, 1 << 20), "memory": {"device": 50, "host": 50}}
            ),
        },
        {
            "host memory": profile(function("MPI_Allreduce", 1.0, 100, 80_000_000)),
            "small": profile(on_device("MPI_Allreduce", 1.0, 100, 8)),
            "cheap": profile(on_device("MPI_Allreduce", 0.01, 100, 80_000_000)),
            "messages": profile(on_device("MPI_Send", 1.0, 100, 80_000_000)),
            "waiting for one rank": profile(
                on_device("MPI_Bcast", [5.0, 5.0, 5.0, 0.01], 100, 1 << 20)
            ),
        },
    ),
    "replay-faster": Cases(
        {"of a run": lambda: replays(0.9e6)},
        {
            "slower": lambda: replays(1.1e6),
            "the same": lambda: replays(1e6),
            "communication alone": lambda: replays(0.9e6, gaps="none"),
            "few samples": lambda: without_interval(replays(0.9e6)),
        },
    ),
    "transport-not-available": Cases(
        {"MPI": lambda: skipped("mpi"), "a build without NCCL": lambda: skipped("ccl")},
        {
            "host memory": lambda: skipped("mpi", memory="host"),
            "NCCL is there": lambda: skipped("ccl", versions=WITH_CCL),
            "some cases ran": lambda: [
                *skipped("mpi"),
                make_record(memory="device", placement=placement()),
            ],
            "another transport": lambda: skipped("synchronous"),
        },
    ),
    "jump-between-sizes": Cases(
        {
            "up": jump,
            "host memory": lambda: jump(memory="host"),
            "two launches": lambda: [*jump(start="one"), *jump(start="two")],
            "short page faults": lambda: jump_of_page_faults(1e-8),
        },
        {
            "a smooth curve": lambda: jump([1 + size / 500 for size in SIZES]),
            "one slow size": lambda: jump([1, 1, 5, 1, 1]),
            "at the end": lambda: jump([1, 1, 1, 1, 5]),
            "less than twice": lambda: jump([1, 1, 1.9, 1.9, 1.9]),
            "one start does not": lambda: [*jump(start="one"), *jump(FAST, start="two")],
            "uneven steps": lambda: jump(sizes=[8, 64, 4096, 8192, 16384]),
            "few samples": lambda: without_interval(jump()),
            "a restless machine": lambda: unsteady(jump()),
            "noise": lambda: noisy(jump()),
            "the ceiling jumps": jump_of_ceilings,
            "page faults begin": jump_of_page_faults,
        },
    ),
    "below-ceiling": Cases(
        {
            "a fifth": lambda: below(0.2),
            "host memory": lambda: below(0.2, memory="host"),
            "a network": lambda: below(0.2, ceiling="link rate"),
            "a stream": lambda: below(0.2, ceiling="TCP stream over eth0"),
        },
        {
            "most of it": lambda: below(0.9),
            "small messages": lambda: below(0.2, largest=1 << 20),
            "another transport reaches it": lambda: [
                *below(0.2),
                *sweep([1.0] * 3, [1 << 16, 1 << 20, 1 << 24], transport="ccl"),
            ],
            "few samples": lambda: without_interval(below(0.2)),
            "a restless machine": lambda: unsteady(below(0.1)),
            "a shared GPU": lambda: below(0.2, placement=placement(gpus=(0, 0))),
        },
    ),
    "linear-allreduce": Cases(
        {
            "of 64 KiB": lambda: selected("basic_linear"),
            "which is asked for": lambda: selected("basic_linear", environment=LINEAR),
        },
        {
            "another algorithm": lambda: selected("ring"),
            "an unknown algorithm": lambda: selected(""),
            "another operation": lambda: selected("basic_linear", collective="MPI_Alltoall"),
            "small messages": lambda: selected("basic_linear", size=4096),
            "two ranks": lambda: selected("basic_linear", ranks=2),
        },
    ),
    "direction-slower": Cases(
        {"twice": lambda: directions(4.0, 2.0)},
        {
            "a little": lambda: directions(2.5, 2.0),
            "few samples": lambda: without_interval(directions(4.0, 2.0)),
            "one of them": lambda: sweep(SLOW, memory="host:device"),
        },
    ),
    "starts-differ": Cases(
        {"by a quarter": lambda: launches(15.1, 18.9)},
        {
            "within samples": lambda: launches(15.1, 15.2),
            "a little": lambda: launches(15.1, 16.2),
            "few samples": lambda: without_interval(launches(15.1, 18.9)),
            "a restless machine": lambda: unsteady(launches(15.1, 99.0)),
            "other settings": lambda: [
                make_record(median_us=15.1, start="one"),
                make_record(median_us=18.9, start="two", environment={"UCX_TLS": "sm"}),
            ],
            "other GPUs": lambda: [
                make_record(median_us=15.1, start="one", placement=placement()),
                make_record(median_us=18.9, start="two", placement=placement(gpus=(2, 3))),
            ],
        },
    ),
    "communication-not-hidden": Cases(
        {"a tenth": lambda: overlap(0.1), "NCCL": lambda: overlap(0.1, transport="ccl")},
        {
            "most of it": lambda: overlap(0.9),
            "nothing to win": lambda: overlap(0.1, together_us=1.01e6),
            "few samples": lambda: without_interval(overlap(0.1)),
            "not asked for": lambda: overlap(0.1, is_asked_for=False),
            "one rank": lambda: overlap(0.1, ranks=1),
        },
    ),
    "communicators-in-a-loop": Cases(
        {
            "an operation": lambda: transform(4.0),
            "a program": profile(function("MPI_Cart_sub", 0.86, 400)),
        },
        {
            "it costs nothing": lambda: transform(0.01),
            "a variant that shows it": make_transform_records,
            "no calls": lambda: [{**transform(4.0)[0], "calls": {}}],
            "few calls": profile(function("MPI_Cart_sub", 0.86, 4)),
            "cheap calls": profile(function("MPI_Cart_sub", 0.001, 400)),
        },
    ),
    "mostly-waiting": Cases(
        {"half of the time": lambda: [make_replay_record()]},
        {
            "most is transfer": lambda: [make_replay_record(transfer_s=0.6)],
            "waiting for transfers": lambda: [make_replay_record(forced_s=0.2)],
            "most is computation": lambda: [make_replay_record(computation_s=20)],
            "it is not known": lambda: [make_replay_record(facts={}, series={}, parts=[])],
        },
    ),
    "ranks-share-cores": Cases(
        {
            "all together": lambda: [make_record(placement=placement(cores=("0", "0")))],
            "one binding": lambda: [
                make_record(
                    ranks=3,
                    placement=placement(("0", "0", "8-15"), ("0", "0", "1"), (0, 1, 2), (0, 0, 1)),
                )
            ],
            "a program": profile(cpus="0-1", queued_s=4.0),
        },
        {
            "cores of their own": lambda: [make_record(placement=placement())],
            "unknown": lambda: [make_record(placement=placement(cores=("", "")))],
            "nobody waits": profile(cpus="0-1"),
        },
    ),
    "busy-machine": Cases(
        {
            "by a program": lambda: [make_record(interference=BUSY)],
            "by the hypervisor": lambda: [make_record(interference={**QUIET, "stolen_cores": 0.2})],
        },
        {
            "quiet": lambda: [make_record(interference=QUIET)],
            "unknown": lambda: [make_record()],
        },
    ),
    "ranks-wait-for-processors": Cases(
        {"others run there": profile(queued_s=4.0)},
        {"a little": profile(queued_s=0.1), "ranks share cores": profile(cpus="0", queued_s=4.0)},
    ),
    "too-few-cores": Cases(
        {
            "threads": lambda: [
                make_record(placement=placement(), environment={"OMP_NUM_THREADS": "16"})
            ],
            "streams": lambda: [make_overlap_record(memory="host", timeline=None)],
        },
        {
            "enough": lambda: [
                make_record(placement=placement(), environment={"OMP_NUM_THREADS": "8"})
            ],
            "no number": lambda: [make_record(environment={"OMP_NUM_THREADS": "9" * 99})],
            "absurd": lambda: [make_record(environment={"OMP_NUM_THREADS": "99999"})],
            "streams of a GPU": lambda: [make_overlap_record(memory="device", timeline=None)],
        },
    ),
    "far-from-gpu": Cases(
        {"the other node": lambda: sweep(FAST, placement=placement(gpu_numa=(1, 1)))},
        {
            "its node": lambda: sweep(FAST),
            "unknown": lambda: sweep(FAST, placement=placement(gpu_numa=(-1, -1))),
            "host memory": lambda: sweep(FAST, memory="host", placement=placement(gpu_numa=(1, 1))),
        },
    ),
    "page-faults": Cases(
        {
            "a tenth of the time": lambda: faulting(50, 1e-7),
            "memory is trimmed alone": lambda: faulting(25, 1e-6, *_KEEPS[:1]),
        },
        {
            "less": lambda: faulting(49, 1e-7),
            "few": lambda: faulting(7, 1e-6),
            "without calls": lambda: faulting(25, 1e-6, calls={}),
            "memory is kept": lambda: faulting(25, 1e-6, *_KEEPS),
            "shared cores": lambda: faulting(25, 1e-6, placement=placement(("0", "0"))),
            "wrong": lambda: faulting(25, 1e-6, status="failed", reason="wrong"),
        },
    ),
    "gpu-clocks-changed": Cases(
        {
            "lower": lambda: clocked(1980, 1410),
            "by power": lambda: clocked(1980, 1980, 1755, limits=["power"]),
        },
        {
            "steady": lambda: clocked(1980, 1965, limits=["power"]),
            "of other launches": lambda: [
                *clocked(1980, start="one"),
                *clocked(1410, start="another"),
            ],
            "unknown": lambda: sweep(FAST),
            "zero": lambda: clocked(0, 1980),
        },
    ),
    "gpu-power-limit-lowered": Cases(
        {"500 of 700 W": lambda: sweep(FAST, placement=powered(500, 700))},
        {
            "the default": lambda: sweep(FAST, placement=powered(700, 700)),
            "rounded": lambda: sweep(FAST, placement=powered(699, 700)),
            "more": lambda: sweep(FAST, placement=powered(750, 700)),
            "unknown": lambda: sweep(FAST),
            "host memory": lambda: sweep(FAST, memory="host", placement=powered(500, 700)),
        },
    ),
    "ranks-share-gpu": Cases(
        {"one GPU": lambda: sweep(FAST, placement=placement(gpus=(0, 0)))},
        {
            "one each": lambda: sweep(FAST),
            "host memory": lambda: sweep(FAST, memory="host", placement=placement(gpus=(0, 0))),
        },
    ),
    "uneven-work": Cases(
        {"one rank has more": profile(function("MPI_Barrier", [4.0, 4.0, 4.0, 0.0]))},
        {"all alike": profile(function("MPI_Barrier", 4.0))},
    ),
    "many-small-messages": Cases(
        {"sends": profile(function("MPI_Isend", 0.5, 5000, 96))},
        {
            "large ones": profile(function("MPI_Isend", 0.5, 5000, 1 << 20)),
            "few": profile(function("MPI_Isend", 0.5, 50, 96)),
            "cheap": profile(function("MPI_Isend", 0.001, 5000, 96)),
        },
    ),
    "tiny-collectives": Cases(
        {"sums": profile(function("MPI_Allreduce", 1.0, 3000, 8))},
        {
            "arrays": profile(function("MPI_Allreduce", 1.0, 3000, 4096)),
            "few": profile(function("MPI_Allreduce", 1.0, 30, 8)),
        },
    ),
    "many-flushes": Cases(
        {"NWChem": profile(function("MPI_Win_flush_local_all", 1.0, 214_820), PUTS)},
        {
            "few": profile(function("MPI_Win_flush", 1.0, 100), PUTS),
            "much between them": profile(
                function("MPI_Win_flush", 1.0, 2000), {**PUTS, "bytes": [1 << 40] * 4}
            ),
        },
    ),
    "many-polls": Cases(
        {"MUMPS": profile(function("MPI_Iprobe", 1.0, 730_000), function("MPI_Recv", 0.1, 9000))},
        {
            "messages come": profile(
                function("MPI_Iprobe", 1.0, 73_000), function("MPI_Recv", 0.1, 70_000)
            ),
            "cheap": profile(function("MPI_Test", 0.01, 730_000)),
        },
    ),
    "slow-pair": Cases(
        {
            "a link": lambda: slow_pairs("1234", [(1, 2)]),
            "a node": lambda: [
                make_pairs_record(latencies(3, {(0, 2): 40, (1, 2): 41}), "123", 41)
            ],
            "a direction": lambda: [
                make_pairs_record(bandwidths(4, A_WAY), "1122", 1, "bandwidth_GBps")
            ],
            "a GPU of a node": lambda: slow_pairs("1" * 8, [(a, 7) for a in range(7)]),
            "a sweep": lambda: slow_pairs("123", [(0, 2)], slow={8: 40, 64: 40, 512: 40}),
        },
        {
            "all alike": lambda: slow_pairs("1234", [(1, 2)], slow={8: 12}),
            "not the second time": lambda: slow_pairs("1234", [(1, 2)], again=10),
            "one size of a sweep": lambda: slow_pairs(
                "123", [(0, 2)], slow={8: 40, 64: 10, 512: 10}
            ),
            "two sockets": lambda: slow_pairs("1111", BETWEEN_HALVES),
            "two nodes": lambda: slow_pairs("1122", BETWEEN_HALVES),
            "too few": lambda: slow_pairs("12", [(0, 1)]),
            "shared cores": lambda: slow_pairs(
                "1111", [(1, 2)], placement=[{**place, "cores": "0"} for place in hosts(["n1"] * 4)]
            ),
        },
    ),
}
