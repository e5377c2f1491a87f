from __future__ import annotations

from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs.options import Options
from commlens.jobs.spec import JobSpec, parse_environment
from run_helpers import cases


def test_a_job_is_a_command_line_of_the_native_program() -> None:
    job = JobSpec("latency", Options({"bytes": "8", "in-place": None}), ranks=2)
    assert job.program(Path("/b")) == [
        *["/b", "latency", "--expect-ranks", "2", "--bytes", "8", "--in-place"]
    ]
    # The file comes first: an option that lacks its value must not take ours for it.
    with_file = JobSpec("latency", Options({"bytes": None}), ranks=2)
    own = ["--record", "r.jsonl", "--expect-ranks", "2"]
    assert with_file.program(Path("/b"), Path("r.jsonl")) == ["/b", "latency", *own, "--bytes"]


def test_a_job_is_printed_as_run_takes_it() -> None:
    job = JobSpec("fft", Options({"grid": "8"}), 2, {"A": "b c"}, ["--bind-to", "core"], nodes=1)
    own = "--env 'A=b c' --launcher-args '--bind-to core'"
    assert str(job) == f"fft --grid 8 --ranks 2 --nodes 1 {own}"


def test_variables_are_parsed() -> None:
    assert parse_environment(["UCX_TLS=self,sm", "A=", "B=c=d"]) == {
        "UCX_TLS": "self,sm",
        "A": "",
        "B": "c=d",
    }


@pytest.mark.parametrize(("settings", "message"), cases("no variables"))
def test_what_sets_no_variable_is_refused(settings: list[str], message: str) -> None:
    with pytest.raises(CommlensError) as error:
        parse_environment(settings)
    assert str(error.value).startswith(message)
