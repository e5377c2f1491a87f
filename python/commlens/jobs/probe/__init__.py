"""Whether the MPI library takes GPU memory: tried in a job of its own, whose crash is survived and
explained.

The native program's `probe` prints a line of JSON before and after each step. From these lines,
from how the job ended and from what Open MPI logs of its choice of a messaging layer (pml), the
first known cause that applies makes one sentence: which call, which library and version, what to
set.
"""

from commlens.jobs.probe.causes import explain_failed_start, judge
from commlens.jobs.probe.evidence import Evidence, GpuSupport, Step, Verdict
from commlens.jobs.probe.job import gather, is_needed, run_probe

__all__ = [
    "Evidence",
    "GpuSupport",
    "Step",
    "Verdict",
    "explain_failed_start",
    "gather",
    "is_needed",
    "judge",
    "run_probe",
]
