"""Options of launchers, and which take values in words of their own: by them the program of a
command line is found. A new launcher is one entry in _COMMAND_LINES.

With one dash or two an option is the same here. `--option=value` is one word and needs no entry.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# mpirun and mpiexec of Open MPI 4 and 5, then of MPICH, Intel MPI and MVAPICH (Hydra).
_MPI = """
    n np c N npernode npersocket ppr H host hostfile machinefile default-hostfile rf rankfile
    map-by rank-by bind-to cpu-set cpu-list cpus-per-proc cpus-per-rank cf cartofile x am tune app
    wd wdir path prefix preload-files output-filename output display stdin timeout spawn-timeout
    xterm xml-file max-restarts max-vm-size report-events report-pid report-uri hnp ompi-server
    launch-agent personality debugger runtime-options add-host add-hostfile dvm-uri
    memory-alloc-kinds stream-buffering

    f hosts ppn perhost rr genvlist envlist configfile launcher launcher-exec bootstrap
    bootstrap-exec rmk topolib membind demux iface prepend-pattern outfile-pattern errfile-pattern
    nameserver localhost usize order-nodes gpus-per-proc
"""
_MPI_FLAGS = """
    allow-run-as-root oversubscribe nooversubscribe nolocal tag-output timestamp-output
    report-bindings display-map display-allocation display-topo display-devel-map bind-to-core
    bind-to-socket bynode byslot bycore pernode use-hwthread-cpus merge-stderr-to-stdout
    do-not-resolve do-not-launch leave-session-attached debug-daemons noprefix tv debug
    preload-binary s continuous disable-recovery enable-recovery get-stack-traces
    report-state-on-timeout report-child-jobs-separately set-cwd-to-session-dir show-progress
    stop-on-exec stop-in-init stop-in-app xml q quiet v verbose V d

    l prepend-rank info print-all-exitcodes genvall genvnone envall envnone enable-x disable-x
    disable-auto-cleanup disable-hostname-propagation pmi-port skip-launch-node profile
"""
_MPI_PAIRS = "mca gmca prtemca pmixmca env genv"
_SRUN = """
    A account acctg-freq b begin B extra-node-info bb bbf c cpus-per-task C constraint
    cluster-constraint comment container container-id cores-per-socket cpu-bind cpu-freq
    cpus-per-gpu d dependency D chdir deadline delay-boot e error epilog export extra F nodefile G
    gpus gid gpu-bind gpu-freq gpus-per-node gpus-per-socket gpus-per-task gres gres-flags
    het-group hint i input J job-name jobid L licenses m distribution M clusters mail-type
    mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout n ntasks N
    nodes network ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
    ntasks-per-tres o output open-mode p partition power prefer priority profile prolog q qos r
    relative reservation S core-spec signal slurmd-debug sockets-per-node switches t time T threads
    task-epilog task-prolog thread-spec threads-per-core time-min tmp tree-width tres-bind
    tres-per-task uid w nodelist W wait wckey x exclude
"""
_SRUN_FLAGS = """
    E preserve-env H hold I immediate K kill-on-bad-exit k no-kill l label O overcommit Q quiet s
    oversubscribe u unbuffered v verbose vv vvv X disable-status Z no-allocate z contiguous
    exact exclusive overlap interactive multi-prog no-shell pty spread-job test-only use-min-nodes
    whole reboot propagate nice bcast compress wait-for-switch
"""
_APRUN = """
    n pes N pes-per-node d cpus-per-pe depth a architecture cc cpu-binding cp cpu-list e
    environment-override F access-mode j cpus-per-cu l pes-per-cu L node-list node-list-file m
    memory-per-pe p protection-domain r specialized-cpus S pes-per-numa-node sn
    numa-nodes-per-node sl numa-node-list t cpu-time-limit E exclude-node-list
    exclude-node-list-file
"""
_JSRUN = """
    n nrs a tasks_per_rs p np c cpu_per_rs g gpu_per_rs r rs_per_host K rs_per_socket
    l latency_priority m memory_per_rs d launch_distribution b bind E env F env_eval
    D env_no_propagate
    f appfile U erf_input h chdir M smpiargs P pre_post_exec o stdio_stdout k stdio_stderr t
    stdio_input e stdio_mode X exit_on_error z zerospacing
"""
_FLUX = """
    n ntasks N nodes c cores-per-task g gpus-per-task cores gpus-per-node tasks-per-node
    tasks-per-core t time-limit q queue B bank o setopt S setattr output error input u urgency
    dependency requires begin-time cwd env env-remove env-file rlimit conf taskmap signal job-name
    add-file
"""
_IBRUN = "n np o"


@dataclass(frozen=True)
class CommandLine:
    """How a launcher's command line is read."""

    values: Mapping[str, int]  # the words that follow an option, by its name without dashes
    subcommands: Collection[str] = ()  # words before the options

    def values_of(self, option: str) -> int | None:
        """The words that follow the option; None: unknown."""
        return 0 if "=" in option else self.values.get(option.lstrip("-"))


def _values(one: str, two: str = "", flags: str = "") -> dict[str, int]:
    names = {0: flags, 1: one, 2: two}
    return {name: count for count, text in names.items() for name in text.split()}


_MPI_LAUNCHER = CommandLine(_values(_MPI, _MPI_PAIRS, _MPI_FLAGS))
_COMMAND_LINES: Sequence[tuple[str, CommandLine]] = (
    (r"(mpirun|mpiexec|orterun|prterun)([._-].*)?", _MPI_LAUNCHER),
    (r"srun", CommandLine(_values(_SRUN, flags=_SRUN_FLAGS))),
    (r"aprun", CommandLine(_values(_APRUN))),
    (r"jsrun", CommandLine(_values(_JSRUN))),
    (r"flux", CommandLine(_values(_FLUX), subcommands=("mini", "run", "submit", "alloc"))),
    (r"ibrun", CommandLine(_values(_IBRUN))),
)


def command_line(program: str) -> CommandLine | None:
    """None for a program that is not a launcher."""
    name = Path(program).name
    return next((found for names, found in _COMMAND_LINES if re.fullmatch(names, name)), None)
