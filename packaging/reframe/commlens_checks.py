"""ReFrame tests that run commlens-bench: what they measure is read from its records, and judged by
what the history of commlens has of the same cases.

A test is run only: it takes a commlens-bench that is on the PATH, or in a module (`--module`, or
`--setvar commlens_modules=commlens/0.1.0`). Scheduler and launcher are those of the site's own
configuration; `example_site.py` is a small one. The Python package commlens is needed where ReFrame
is: its wheel has no compiled part. README.md has the command lines.
"""

import os
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

import commlens

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
    # The history that has the references, and to which records are added; none without it.
    commlens_store = variable(str, value="")
    # What the history calls the machine; without it `system:partition`.
    commlens_machine = variable(str, value=os.environ.get("COMMLENS_MACHINE", ""))
    commlens_threshold = variable(float, value=0.03)

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
        ran = [record for record in self._records() if record.status != "skipped"]
        wrong = [record.reason for record in ran if record.status != "ok"]
        return sn.all(
            [
                sn.assert_true(ran, msg="commlens-bench has measured nothing"),
                sn.assert_false(wrong, msg=f"not ok: {wrong}"),
            ]
        )

    @run_before("performance")
    def read_metrics(self):
        measured = [record for record in self._records() if record.status == "ok"]
        for record in measured:
            for metric, statistic in record.statistics.items():
                self.perf_variables[_name(record, metric)] = sn.make_performance_function(
                    sn.defer(statistic.median), record.start.metrics[metric].unit
                )
        if self.commlens_store:
            self._refer_to_history(measured)

    def _refer_to_history(self, measured):
        """The baseline of each case as the reference of its main metric; then adds the records."""
        history = commlens.history.open(Path(self.commlens_store).expanduser())
        machine = self.commlens_machine or self.current_partition.fullname
        known = history.baselines(measured, machine=machine, threshold=self.commlens_threshold)
        references = {}
        for record, baseline in zip(measured, known):
            if baseline is not None:
                part = baseline.limit / baseline.value - 1
                bounds = (None, part) if part > 0 else (part, None)
                name = _name(record, baseline.metric.name)
                references[name] = (baseline.value, *bounds, baseline.metric.unit)
        self.reference = {self.current_partition.fullname: references}
        history.add(measured, machine=machine)

    def _records(self):
        return commlens.read(Path(self.stagedir, RECORDS))


def _name(record, metric):
    """Of a performance variable: mpi_host_8_latency_us."""
    declared = record.start.parameters.values()
    size = "-".join(str(record.parameters[one.name]) for one in declared if one.role == "size")
    words = (record.transport, record.memory, size, record.variant_value, metric)
    return "_".join(filter(None, words))
