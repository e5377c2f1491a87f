"""Mistakes on the command line, with the real programs: one line that names the option, the value
and the fix, exit status 2, and nothing is left behind."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from native_helpers import (
    BENCHMARKS,
    TRANSPORTS,
    USAGE,
    Job,
    Jobs,
    alone,
    native,
    needs_native,
    through_command,
)

pytestmark = needs_native

DESCENDING = ("orders that descend to 1", "at most 15", "7,3,1")
NOT_A_SIZE = ("whole number", "4096", "8K")

# The command line, and what the message must hold: option, value and fix.
MISTAKES: list[tuple[str, ...]] = [
    ("nosuch", "'nosuch'", *BENCHMARKS),
    ("''", "''", *BENCHMARKS),
    ("--frobnicate", "--frobnicate", "--help"),
    ("allreduce --transport carrier", "--transport carrier", *TRANSPORTS, "all"),
    ("allreduce --transport mpi,carrier", "--transport mpi,carrier", "'carrier'", *TRANSPORTS),
    ("allreduce --transport ''", "--transport ''", "all"),
    ("latency --transport mpi,", "--transport mpi,", "no transport ''", *TRANSPORTS),
    ("latency --transport mpi,mpi", "--transport mpi,mpi", "twice"),
    ("latency --memory ''", "--memory ''", "host", "pinned", "device", "managed"),
    ("latency --memory tape", "--memory tape", "host", "pinned", "device", "managed"),
    (
        "latency --thread-level many",
        "--thread-level many",
        "single",
        "funneled",
        "serialized",
        "multiple",
    ),
    ("latency --from tape", "--from tape", "host", "pinned", "device", "managed"),
    ("latency --bytes 0", "--bytes 0", *NOT_A_SIZE),
    ("latency --bytes -8", "--bytes -8", *NOT_A_SIZE),
    ("latency --bytes eight", "--bytes eight", *NOT_A_SIZE),
    ("latency --bytes 3.5", "--bytes 3.5", *NOT_A_SIZE),
    ("latency --bytes ''", "--bytes ''", *NOT_A_SIZE),
    ("latency --bytes 1e30", "--bytes 1e30", *NOT_A_SIZE),
    ("latency --bytes 8:4", "--bytes 8:4", "4:8"),
    ("latency --bytes 1:8:x1", "--bytes 1:8:x1", "x2"),
    ("latency --bytes 8,8", "--bytes 8,8", "8 is in it twice"),
    ("latency --bytes 8,,16", "--bytes 8,,16", "missing"),
    ("xtx --block 2,2", "--block 2,2", "2 is in it twice"),
    ("allreduce --count 5 --bytes 80", "--count 5", "--bytes", "one of the two"),
    ("allreduce --in-place --out-of-place", "--in-place beside --out-of-place"),
    ("allreduce --in-place=no", "--in-place no", "no value", "--in-place alone"),
    ("bp5 --overlap=false", "--overlap false", "no value", "--overlap alone"),
    ("bp5 --overlap false", "--overlap false", "no value", "--overlap alone"),
    ("bp5 --overlap --no-overlap", "--overlap beside --no-overlap", "opposite"),
    ("latency --no-validate=false", "--no-validate false", "no value"),
    ("latency --byte 8", "'--byte'", "did you mean --bytes", "latency --help"),
    ("latency --expect-ranks 4", "4 ranks were asked for", "MPI has 1", "launcher of"),
    ("allreduce --bytes 0", "--bytes 0", *NOT_A_SIZE),
    ("allreduce --bytes -8", "--bytes -8", *NOT_A_SIZE),
    ("allreduce --bytes eight", "--bytes eight", *NOT_A_SIZE),
    ("allreduce --bytes 64:8", "--bytes 64:8", "8:64"),
    ("allreduce --bytes 12", "--bytes 12", "multiple", "8 bytes of f64"),
    ("allreduce --bytes 8,24 --dtype c128", "--bytes 8", "multiple", "16 bytes of c128"),
    ("allreduce --count 0", "--count 0", *NOT_A_SIZE),
    ("allreduce --dtype f16", "--dtype f16", "i32", "f32", "f64", "c64", "c128"),
    ("latency --frobnicate 3", "--frobnicate", "latency --help"),
    ("latency surplus", "surplus", "latency --help"),
    ("latency --bytes 8 --bytes 16", "--bytes", "twice", "latency --help"),
    ("latency --format xml", "--format xml", "table", "json", "csv", "osu", "dftfe"),
    ("fft --format osu", "--format osu", "no layout for fft", "table, json, csv"),
    ("latency --format dftfe", "--format dftfe", "no layout for latency", "osu"),
    ("latency --timing often", "--timing often", "batch", "each"),
    ("latency --repeat 0", "--repeat 0", "whole number"),
    ("latency --repeat", "--repeat", "value is missing", "latency --help"),
    ("latency --repeat 1e15", "--repeat 1e15", "at most 1000000000"),
    ("latency --timing each --repeat 1e8", "--repeat 100000000", "1000000 can be kept"),
    ("latency --batches 1e17", "--batches 1e17", "at most 1000000"),
    ("latency --warmup 1e15", "--warmup 1e15", "at most 1000000000"),
    ("latency --batches 0", "--batches 0", "whole number"),
    ("latency --warmup -1", "--warmup -1", "0"),
    ("latency --warmup 0.5", "--warmup 0.5", "whole number"),
    ("latency --timeout x", "--timeout x", "number"),
    ("latency --timeout -1", "--timeout -1", "number"),
    ("latency --timeout nan", "--timeout nan", "number"),
    ("latency --timeout 1e10", "--timeout 1e10", "from 0 to 1000000000"),
    ("latency --timeout 1e-9", "--timeout 1e-9", "at least 0.1 seconds"),
    ("latency --timeout 50%", "--timeout 50%", "number"),
    ("latency --min-time 5%", "--min-time 5%", "number"),
    ("latency --min-time 10 --max-time 1", "--min-time 10", "--max-time 1"),
    ("latency --min-time 100", "--min-time 100", "--max-time 60"),
    ("latency --until-ci 0x10", "--until-ci 0x10", "number"),
    ("latency --until-ci 1e400", "--until-ci 1e400", "number"),
    ("latency --until-ci narrow", "--until-ci narrow", "number"),
    ("latency --max-time 1h", "--max-time 1h", "number"),
    ("latency --record ''", "--record ''"),
    ("latency --pairs 0", "--pairs 0", "whole number"),
    ("latency --pairs 3", "3 pairs", "--ranks 6"),
    ("xtx --vectors 0", "--vectors 0", *NOT_A_SIZE),
    ("xtx --dofs 0", "--dofs 0", *NOT_A_SIZE),
    ("xtx --block 0", "--block 0", *NOT_A_SIZE),
    ("xtx --vectors 50 --block 51", "--block 51", "50 columns", "--vectors"),
    ("xtx --vectors 50 --block 10,51", "--block 51", "50 columns"),
    ("xtx --dtype i32", "--dtype i32", "f64", "c128", "f32", "c64"),
    ("xtx --dofs 1e8 --dtype f32", "--dofs 100000000", "2097152 rows", "--numbers full"),
    ("xtx --depth 0", "--depth 0", "whole number"),
    ("xtx --layout round", "--layout round", "tall", "wide"),
    ("xtx --numbers prime", "--numbers prime", "full", "integers"),
    ("xtx --trace ''", "--trace ''", "name a file"),
    ("xtx --trace missing/trace.json", "--trace missing/trace.json", "No such file or directory"),
    ("xtx --dofs 1e12 --vectors 36600", "--vectors 36600", "needs", "on each rank", "free", "fits"),
    ("latency --trace trace.json", "--trace", "latency --help"),
    ("gather-scatter --elements 0", "--elements 0", *NOT_A_SIZE),
    (
        "gather-scatter --elements 4,4",
        "--elements 4,4",
        "one number of elements for a cube",
        "or three",
    ),
    ("gather-scatter --elements 1:4", "--elements 1:4", "or three"),
    ("gather-scatter --elements 4,4,1e7", "--elements 4,4,1e7", "at most 1M each"),
    (
        "gather-scatter --elements 1000000",
        "--elements 1000000x1000000x1000000",
        "free",
        "is about --elements",
    ),
    (
        "gather-scatter --elements 1000",
        "--elements 1000x1000x1000",
        "of host memory",
        "is about --elements",
    ),
    ("gather-scatter --order 0", "--order 0", "1 to 15"),
    ("gather-scatter --order 16", "--order 16", "1 to 15"),
    ("gather-scatter --order 7.5", "--order 7.5", "whole number"),
    ("gather-scatter --order ''", "--order ''", "whole number"),
    ("gather-scatter --kershaw-eps 0", "--kershaw-eps 0", "from 1e-6"),
    ("gather-scatter --kershaw-eps 1e-300", "--kershaw-eps 1e-300", "from 1e-6"),
    ("gather-scatter --kershaw-eps -0.3", "--kershaw-eps -0.3", "from 1e-6"),
    ("gather-scatter --kershaw-eps 1.01", "--kershaw-eps 1.01", "to 1,"),
    ("gather-scatter --kershaw-eps nan", "--kershaw-eps nan", "number"),
    ("gather-scatter --kershaw-eps little", "--kershaw-eps little", "number"),
    ("gather-scatter --fields 2", "--fields 2", "1 or 3"),
    ("gather-scatter --fields 0", "--fields 0", *NOT_A_SIZE),
    ("gather-scatter --dtype c128", "--dtype c128", "f64 or f32"),
    ("gather-scatter --dtype f32 --exchange-dtype f64", "--exchange-dtype f64", "as they are"),
    ("gather-scatter --exchange-dtype i32", "--exchange-dtype i32", "f32"),
    ("gather-scatter --exchange-dtype f16", "--exchange-dtype f16", "f64 or f32"),
    (
        "gather-scatter --combine divide",
        "--combine divide",
        "add",
        "multiply",
        "minimum",
        "maximum",
    ),
    ("gather-scatter --mode pigeon", "--mode pigeon", "pairwise", "crystal-router", "all"),
    ("gather-scatter --ids none", "--ids none", "mesh", "random"),
    ("gather-scatter --nodes 8", "--nodes 8", "--ids random"),
    ("gather-scatter --multiplicity 8", "--multiplicity 8", "--ids random"),
    ("gather-scatter --ids random --multiplicity 101", "--multiplicity 101", "at most 100"),
    ("gather-scatter --ids random --nodes 1e9", "--nodes 1000000000", "free", "nodes fit"),
    ("gather-scatter --ids random --elements 4", "--elements 4x4x4", "--nodes"),
    ("gather-scatter --ids random --overlap", "--overlap", "--ids random"),
    ("bp5 --elements 0", "--elements 0", *NOT_A_SIZE),
    ("bp5 --elements 4,4", "--elements 4,4", "one number of elements for a cube", "or three"),
    (
        "bp5 --elements 100000",
        "--elements 100000x100000x100000",
        "of host memory",
        "is about --elements",
    ),
    ("bp5 --edge 0", "--edge 0", *NOT_A_SIZE),
    ("bp5 --edge 2000", "--edge 2000", "of host memory", "is about --edge"),
    ("bp5 --edge 4:2", "--edge 4:2", "2:4"),
    ("bp5 --edge 4 --elements 8", "--edge 4", "--elements", "one of the two"),
    ("bp5 --order 0", "--order 0", "1 to 15"),
    ("bp5 --order 16", "--order 16", "1 to 15"),
    ("bp5 --order x", "--order x", "whole number"),
    ("bp5 --kershaw-eps 0", "--kershaw-eps 0", "from 1e-6"),
    ("bp5 --kershaw-eps -1", "--kershaw-eps -1", "from 1e-6"),
    ("bp5 --kershaw-eps 1.5", "--kershaw-eps 1.5", "to 1,"),
    ("bp5 --kershaw-eps nan", "--kershaw-eps nan", "number"),
    ("bp5 --geometry round", "--geometry round", "trilinear", "stored"),
    ("bp5 --storage heap", "--storage heap", "unique", "element"),
    ("bp5 --solver gmres", "--solver gmres", "classical", "fused"),
    ("bp5 --rhs zero", "--rhs zero", "nekrs", "manufactured"),
    ("bp5 --iterations 0", "--iterations 0", *NOT_A_SIZE),
    ("bp5 --iterations many", "--iterations many", *NOT_A_SIZE),
    ("bp5 --iterations 1e15", "--iterations 1000000000000000", "free", "500"),
    ("bp5 --tolerance -1", "--tolerance -1", "number from 0 to below 1"),
    ("bp5 --tolerance 1", "--tolerance 1", "number from 0 to below 1"),
    ("bp5 --tolerance nan", "--tolerance nan", "number from 0 to below 1"),
    ("bp5 --tolerance ''", "--tolerance ''", "number from 0 to below 1"),
    ("bp5 --exchange-dtype i32", "--exchange-dtype i32", "f64 or f32"),
    ("bp5 --exchange-dtype c64", "--exchange-dtype c64", "f64 or f32"),
    ("bp5 --exchange-dtype f16", "--exchange-dtype f16", "f64", "f32"),
    ("bps5 --elements 0", "--elements 0", *NOT_A_SIZE),
    (
        "bps5 --elements 100000",
        "--elements 100000x100000x100000",
        "of host memory",
        "is about --elements",
    ),
    ("bps5 --edge 2000", "--edge 2000", "of host memory", "is about --edge"),
    ("bps5 --edge 4 --elements 8", "--edge 4", "--elements", "one of the two"),
    ("bps5 --levels 7,7,1", "--levels 7,7,1", *DESCENDING),
    ("bps5 --levels 7,3", "--levels 7,3", *DESCENDING),
    ("bps5 --levels 8x,1", "--levels 8x,1", *DESCENDING),
    ("bps5 --levels 7,,1", "--levels 7,,1", *DESCENDING),
    ("bps5 --levels 16,1", "--levels 16,1", *DESCENDING),
    ("bps5 --levels ''", "--levels ''", *DESCENDING),
    ("bps5 --levels 3,1", "--levels 3,1", "--order, which is 7", "--levels 7,3,1"),
    ("bps5 --smoother none", "--smoother none", "chebyshev-ras", "ras"),
    ("bps5 --coarse lu", "--coarse lu", "cg", "boomeramg"),
    ("bps5 --coarse-steps 0", "--coarse-steps 0", *NOT_A_SIZE),
    ("bps5 --coarse-steps 1e15", "--coarse-steps 1000000000000000", "1 to 10000"),
    ("bps5 --restart 0", "--restart 0", *NOT_A_SIZE),
    ("bps5 --restart 1e15", "--restart 1000000000000000", "1 to 1000"),
    ("bps5 --tolerance 1e-17", "--tolerance 1e-17", "from 1e-15 to 0.5", "1e-8"),
    ("bps5 --tolerance 1", "--tolerance 1", "from 1e-15 to 0.5", "1e-8"),
    ("bps5 --mode nonsense", "--mode nonsense", "auto", "pairwise", "crystal-router"),
    ("bp5 --mode nonsense", "--mode nonsense", "auto", "pairwise", "crystal-router"),
]


@pytest.fixture(scope="module")
def mistakes(submit: Callable[..., Jobs]) -> Jobs:
    return submit(alone, {words: shlex.split(words) for words, *_ in MISTAKES})


@pytest.mark.parametrize(("name", "said"), [(words, said) for words, *said in MISTAKES])
def test_a_mistake_is_one_line_with_option_value_and_fix(
    name: str, said: list[str], mistakes: Jobs
) -> None:
    job = mistakes[name][0].result()
    assert job.status == USAGE, job
    for part in said:
        assert part in job.message, job
    assert job.output == "", "nothing was run, so nothing is shown"


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "'nosuch'"),
        (["allreduce", "--bytes", "8:4"], "--bytes 8:4"),
        (["allreduce", "--transport", "carrier"], "--transport carrier"),
        (["gather-scatter", "--elements", "1"], "--elements 1x1x1: fewer than the"),
    ],
    ids=["benchmark", "bytes", "transport", "elements"],
)
def test_one_rank_speaks_for_all(words: list[str], said: str, ranks: int, tmp_path: Path) -> None:
    job = native(tmp_path, ranks, *words)
    assert job.status == USAGE
    assert said in job.message


@pytest.mark.parametrize("benchmark", ["bp5", "bps5"])
@pytest.mark.parametrize(
    ("ranks", "words", "message"),
    [
        (3, "--elements 2,1,1", "--elements 2x1x1: fewer than the 3 ranks: ask for at least "),
        (2, "--elements 100000", "is about --elements "),
        (2, "--edge 4,2000", "--edge 2000: needs "),
        (2, "--edge 4 --elements 4", "--edge 4: --elements says another size: give one of the two"),
    ],
)
def test_a_size_is_refused_before_anything_is_allocated(
    benchmark: str, ranks: int, words: str, message: str, tmp_path: Path
) -> None:
    job = native(tmp_path, ranks, benchmark, words)
    assert job.status == USAGE, job
    assert message in job.message, job
    assert job.peak_bytes < 500e6


COMMAND_MISTAKES: list[tuple[str, ...]] = [
    ("nosuch", "'nosuch'", *BENCHMARKS),
    ("latency --transport carrier", "--transport carrier", *TRANSPORTS),
    ("latency --memory tape", "--memory tape", "host", "device"),
    ("latency --bytes 8:4", "--bytes 8:4", "4:8"),
    ("latency --bytes 1T", "--bytes 1099511627776", "free"),
    ("latency --frobnicate 3", "--frobnicate", "commlens run latency --help"),
    ("latency --dry-run --frobnicate 3", "--frobnicate", "commlens run latency"),
    ("latency --format xml", "--format xml", "table"),
    ("latency --repeat", "--repeat", "commlens run latency --help"),
    ("bp5 --overlap=false", "--overlap false", "no value"),
    ("quick --bytes 0", "quick.yaml, entry 1: --bytes 0"),
    ("latency --record ''", "--record ''"),
    ("latency --ranks 1", "--ranks 1", "--ranks 2"),
    ("latency --ranks 3", "--ranks 3", "--ranks 2"),
    ("latency --ranks 0", "--ranks", "0"),
    ("latency --pairs 999999999999", "--pairs"),
]


@pytest.fixture(scope="module")
def command_mistakes(submit: Callable[..., Jobs]) -> Jobs:
    def run(records: Path, *words: object) -> Job:
        return through_command(records.parent, *words)

    return submit(run, {words: shlex.split(words) for words, *_ in COMMAND_MISTAKES})


@pytest.mark.parametrize(("name", "said"), [(words, said) for words, *said in COMMAND_MISTAKES])
def test_the_command_hands_a_mistake_on_as_it_is(
    name: str, said: list[str], command_mistakes: Jobs
) -> None:
    future, records = command_mistakes[name]
    job = future.result()
    assert job.status == USAGE, job
    for part in said:
        assert part in job.message, job
    assert job.error.splitlines() == [job.message], "nothing of the launcher's is left in between"
    assert list(records.parent.rglob("*.jsonl")) == []
