"""ReFrame tests that run commlens-bench: what they measure is read from its records.

A test is run only: it takes a commlens-bench that is on the PATH, or in a module (`--module`, or
`--setvar commlens_modules=commlens/0.1.0`). Scheduler and launcher are those of the site's own
configuration; `example_site.py` is a small one. README.md has the command lines.
"""

import json
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)

# Each is quick and says something of its own; -S commlens_options adds to them.
CASES = {
    "latency": ["--bytes", "8"],
    "bandwidth": ["--bytes", "4M"],
    "allreduce": ["--bytes", "8,80M"],
    "gather-scatter": [],
    "bp5": [],
}
RECORDS = "records.jsonl"


@rfm.simple_test
class CommlensCheck(rfm.RunOnlyRegressionTest):
    """One benchmark on two nodes; a performance variable for each transport, size and metric."""

    benchmark = parameter(CASES)
    commlens_nodes = variable(int, value=2)
    commlens_ranks_per_node = variable(int, value=1)
    commlens_options = variable(str, value="")
    commlens_modules = variable(str, value="")

    descr = "communication as commlens measures it"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "commlens-bench"
    time_limit = "10m"
    maintainers = ["commlens"]
    tags = {"commlens", "communication"}

    @run_after("init")
    def choose(self):
        self.modules = self.commlens_modules.split()
        is_pair = self.benchmark in ("latency", "bandwidth")
        per_node = 1 if is_pair and self.commlens_nodes > 1 else self.commlens_ranks_per_node
        self.num_tasks_per_node = 2 if is_pair and self.commlens_nodes == 1 else per_node
        self.num_tasks = self.num_tasks_per_node * (2 if is_pair else self.commlens_nodes)
        if is_pair and self.commlens_nodes == 1:
            self.num_tasks = 2
        own = CASES[self.benchmark]
        self.executable_opts = [self.benchmark, "--record", RECORDS, *own]
        self.executable_opts += self.commlens_options.split()

    @run_before("run")
    def keep_records(self):
        self.keep_files = [RECORDS]

    @sanity_function
    def every_case_is_right(self):
        """All that ran is validated, and something ran."""
        records = _records(self.stagedir)
        ran = [record for record in records if record["status"] != "skipped"]
        wrong = [record for record in ran if record["status"] != "ok"]
        return sn.all(
            [
                sn.assert_true(ran, msg="commlens-bench has written no record"),
                sn.assert_false(wrong, msg=f"not ok: {[record['reason'] for record in wrong]}"),
            ]
        )

    @run_before("performance")
    def read_metrics(self):
        units, sizes = _declared(self.stagedir)
        for record in _records(self.stagedir):
            if record["status"] != "ok":
                continue
            size = "-".join(str(record["parameters"][name]) for name in sizes)
            for metric, statistic in record["statistics"].items():
                words = (record["transport"], record["memory"], size, metric)
                name = "_".join(word for word in words if word)
                self.perf_variables[name] = sn.make_performance_function(
                    sn.defer(statistic["median"]), units[metric]
                )


def _lines(folder):
    text = (Path(folder) / RECORDS).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _records(folder):
    try:
        return [line for line in _lines(folder) if line["kind"] == "record"]
    except FileNotFoundError:
        return []


def _declared(folder):
    """The units of the metrics, and the parameters that are sizes."""
    declared = next(line["benchmark"] for line in _lines(folder) if line["kind"] == "start")
    units = {metric["name"]: metric["unit"] for metric in declared["metrics"]}
    sizes = [one["name"] for one in declared["parameters"] if one["role"] == "size"]
    return units, sizes
