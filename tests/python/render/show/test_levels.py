"""Tables of a multigrid solve by level."""

from __future__ import annotations

from sample_multigrid import ALONE, make_multigrid_record
from show_helpers import output, shown


def test_a_solve_has_a_line_per_part_and_a_sum_per_level() -> None:
    lines = shown(make_multigrid_record())
    start = lines.index("level part (ms)")
    assert lines[start - 1] == "mpi"
    table = [line.replace("( ", "(") for line in lines[start + 2 : start + 22]]
    assert table == [
        "solver operator 0.1000 (5%)",
        "vectors 0.1100 (5.5%)",
        "exchange 0.04000 (2%)",
        "reductions 0.1000 (5%)",
        "all 0.3500 (17%)",
        "p7 operator 0.3000 (15%)",
        "smoother 0.5000 (25%)",
        "restriction 0.05000 (2.5%)",
        "exchange 0.1600 (8%)",
        "all 1.010 (50%)",
        "p3 operator 0.06000 (3%)",
        "smoother 0.08000 (4%)",
        "exchange 0.07000 (3.5%)",
        "all 0.2100 (10%)",
        "p1 coarse solve 0.2000 (10%)",
        "exchange 0.03000 (1.5%)",
        "all 0.2300 (12%)",
        "all other 0.2000 (10%)",
        "together 2.000 (100%)",
        "communication 0.4000 (20%)",
    ]


def test_transports_are_columns_and_many_of_them_are_several_tables() -> None:
    records = [make_multigrid_record(name) for name in ("mpi", "staged")]
    lines = shown(*records)
    assert "level part (ms) (ms)" in lines
    sizes = [make_multigrid_record(options={"edge": edge}) for edge in range(4, 16)]
    text = output(*sizes, width=100)
    tables = [line for line in text.split("\n") if line.split()[:2] == ["level", "part"]]
    assert len(tables) > 2
    rows = [line for line in text.split("\n") if line.split()[:1] in (["smoother"], ["p7"])]
    assert max(map(len, [*tables, *rows])) <= 100


def test_a_part_that_a_record_lacks_is_left_open() -> None:
    lines = shown(make_multigrid_record(), make_multigrid_record("staged", parts=ALONE))
    assert "reductions 0.1000 ( 5%) -" in lines


def test_one_rank_has_no_communication() -> None:
    assert "communication -" in shown(make_multigrid_record(ranks=1))
