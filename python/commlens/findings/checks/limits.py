"""Limits"""

from __future__ import annotations

from commlens.base.text import format_bytes, plural
from commlens.findings import Quote
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.machine_view import DoctorView
from commlens.machine.limits import Limit

_MIB, _GIB = 2**20, 2**30
_LEAST_LOCKED = _GIB
_LEAST_SHARED = 128 * _MIB  # containers have 64 MiB by default
_LEAST_FILES = 1024
_LEAST_STACK = 8 * _MIB
_LEAST_PROCESSES = 1024
_LEAST_FREE = 512 * _MIB


def _quote(limit: Limit) -> Quote:
    return Quote(limit.place, limit.line)


@check(
    "locked-memory-limited",
    "problem",
    about="limits",
    title="too little memory may be locked for RDMA",
    looks_at="locked memory, where there is an RDMA adapter (at least "
    f"{format_bytes(_LEAST_LOCKED)})",
    fix="Ask the administrator for `* soft memlock unlimited` and `* hard memlock unlimited` in "
    "/etc/security/limits.conf; on nodes of Slurm, for `LimitMEMLOCK=infinity` of slurmd, and for "
    "`PropagateResourceLimitsExcept=MEMLOCK` in slurm.conf. A container needs "
    "`--ulimit memlock=-1`.",
)
def locked_memory_limited(view: DoctorView) -> Seen:
    limit = view.machine.limits.locked_memory
    if not view.machine.devices.rdma:
        yield NotApplicable("there is no RDMA adapter")
    elif limit is None:
        yield not_seen("/proc/self/limits")
    elif limit.soft is not None and limit.soft < _LEAST_LOCKED:
        yield Observed(
            f"A process may lock {format_bytes(limit.soft)} of memory, and RDMA locks each buffer "
            "that it sends: registering memory fails, or the library takes another path",
            _quote(limit),
        )


@check(
    "shared-memory-small",
    "problem",
    about="limits",
    title="/dev/shm is too small",
    looks_at=f"free space in /dev/shm (at least {format_bytes(_LEAST_SHARED)})",
    fix="Free it (`ls -l /dev/shm`: files of jobs that have died may lie there), or make it "
    "larger: `mount -o remount,size=50% /dev/shm` as an administrator; a container needs "
    "`--shm-size=8g` or `--ipc=host`.",
)
def shared_memory_small(view: DoctorView) -> Seen:
    shared = view.machine.limits.shared_memory
    if shared is None:
        yield not_seen("df says nothing of /dev/shm")
    elif shared.free < _LEAST_SHARED:
        yield Observed(
            f"{format_bytes(shared.free)} of {format_bytes(shared.bytes)} are free in /dev/shm, "
            "through which MPI and NCCL exchange messages within a node: jobs fail when they "
            "start, or die of SIGBUS",
            Quote("df -Pk /dev/shm", shared.line),
        )


@check(
    "shared-memory-not-writable",
    "problem",
    about="limits",
    title="/dev/shm cannot be written",
    looks_at="permission to write to /dev/shm",
    fix="Ask the administrator for `chmod 1777 /dev/shm`, or in a container for a tmpfs there.",
)
def shared_memory_not_writable(view: DoctorView) -> Seen:
    shared = view.machine.limits.shared_memory
    if shared is None:
        yield not_seen("df says nothing of /dev/shm")
    elif not shared.is_writable:
        yield Observed(
            "/dev/shm cannot be written: ranks of one node cannot share memory",
            Quote("test -w /dev/shm", "exit status 1"),
        )


@check(
    "open-files-limited",
    "advice",
    about="limits",
    title="few files may be open",
    looks_at=f"open files (at least {_LEAST_FILES})",
    fix="`ulimit -n {hard}` before the job, or ask the administrator for a higher `nofile` in "
    "/etc/security/limits.conf.",
)
def open_files_limited(view: DoctorView) -> Seen:
    limit = view.machine.limits.open_files
    if limit is None:
        yield not_seen("/proc/self/limits")
    elif limit.soft is not None and limit.soft < _LEAST_FILES:
        hard = max(limit.hard or _LEAST_FILES, _LEAST_FILES) if limit.hard is None else limit.hard
        yield Observed(
            f"A process may have {plural(limit.soft, 'open file')}: a launcher needs several for "
            "each rank, and a rank one for each peer over TCP",
            _quote(limit),
            words={"hard": str(hard)},
        )


@check(
    "stack-small",
    "advice",
    about="limits",
    title="the stack is small",
    looks_at=f"the stack (at least {format_bytes(_LEAST_STACK)})",
    fix="`ulimit -s unlimited` before the job; for threads OMP_STACKSIZE=64M.",
)
def stack_small(view: DoctorView) -> Seen:
    limit = view.machine.limits.stack
    if limit is None:
        yield not_seen("/proc/self/limits")
    elif limit.soft is not None and limit.soft < _LEAST_STACK:
        yield Observed(
            f"The stack of a process may have {format_bytes(limit.soft)}: programs with arrays on "
            "it die of SIGSEGV, which looks like a fault of communication",
            _quote(limit),
        )


@check(
    "address-space-limited",
    "problem",
    about="limits",
    title="the address space is limited",
    looks_at="virtual memory of a process",
    fix="`ulimit -v unlimited` before the job; on nodes of Slurm limit memory by cgroups "
    "(`ConstrainRAMSpace`), not by `VSizeFactor`.",
)
def address_space_limited(view: DoctorView) -> Seen:
    limit = view.machine.limits.address_space
    if limit is None:
        yield not_seen("/proc/self/limits")
    elif limit.soft is not None:
        yield Observed(
            f"A process may have {format_bytes(limit.soft)} of virtual memory: GPU drivers reserve "
            "more than all memory of host and GPUs, and MPI maps shared memory of all ranks",
            _quote(limit),
        )


@check(
    "processes-limited",
    "advice",
    about="limits",
    title="few processes may be started",
    looks_at=f"processes and threads of a user (at least {_LEAST_PROCESSES})",
    fix="`ulimit -u` raises it to the hard limit; more is `nproc` in /etc/security/limits.conf, "
    "or a container's `--pids-limit`.",
)
def processes_limited(view: DoctorView) -> Seen:
    limit = view.machine.limits.processes
    if limit is None:
        yield not_seen("/proc/self/limits")
    elif limit.soft is not None and limit.soft < _LEAST_PROCESSES:
        yield Observed(
            f"A user may have {limit.soft} processes and threads: each rank has several threads of "
            "MPI, NCCL and OpenMP, and a job that cannot start them waits or fails",
            _quote(limit),
        )


@check(
    "memory-limited",
    "problem",
    about="limits",
    title="the memory of this job is nearly used up",
    looks_at=f"memory of the cgroup (at least {format_bytes(_LEAST_FREE)} free)",
    fix="Ask for more memory (`--mem` of Slurm, `--memory` of a container), or start fewer ranks "
    "on a node.",
)
def memory_limited(view: DoctorView) -> Seen:
    own = view.machine.limits.cgroup_memory
    if own is None:
        yield NotApplicable("no cgroup limits memory")
    elif own.limit - own.used < _LEAST_FREE:
        yield Observed(
            f"{format_bytes(max(0, own.limit - own.used))} of the {format_bytes(own.limit)} of "
            "memory that this job may use are left: the kernel ends ranks (SIGKILL) where it is "
            "used up",
            Quote(own.place, str(own.limit)),
        )
