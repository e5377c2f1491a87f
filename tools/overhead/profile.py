#!/usr/bin/env python3
"""What `commlens profile` costs a call and a rank: `python tools/overhead/profile.py [CALLS]`, with MPI on the path.

The library is chosen as `commlens profile` does; MPICC and MPIRUN may name another MPI's compiler and launcher.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SOURCES = FOLDER.parents[1] / "python"
REPEATS = 3
Times = dict[str, float]


def run(command: list[str]) -> tuple[Times, int]:
    """Seconds a call by name, and the most memory of a rank in kB."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    if answer.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")
    times = {name: float(value) for name, value in re.findall(r"^(MPI_\w+|to_itself) (\S+e-\d+)$", answer.stdout, re.M)}
    memory = re.search(r"peak (\d+)", answer.stderr)
    return times, int(memory[1]) if memory else 0


def main() -> None:
    calls = sys.argv[1] if len(sys.argv) > 1 else "10000000"
    launcher = [os.environ.get("MPIRUN", "mpirun"), "-n", "1"]
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/calls"
        compiler = os.environ.get("MPICC", "mpicc")
        subprocess.run([compiler, "-O2", str(FOLDER / "calls.c"), "-o", program], check=True)
        # The peak of the rank itself: what wait4 says of this small parent's only child.
        watch = (
            "import resource, subprocess, sys; status = subprocess.call(sys.argv[1:], close_fds=False); "
            "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(status)"
        )
        job = [*launcher, sys.executable, "-c", watch, program, calls]
        profiled = [sys.executable, "-m", "commlens", "profile", "--out", folder, "--", *job]
        pairs = [(run(job), run(profiled)) for _ in range(REPEATS)]
    for name in pairs[0][0][0]:
        bare = min(before[0][name] for before, _ in pairs)
        with_profile = min(after[0][name] for _, after in pairs)
        added = (with_profile - bare) * 1e9
        print(f"{name:14} {bare * 1e9:7.1f} ns alone {with_profile * 1e9:7.1f} ns profiled: {added:6.1f} ns a call")
    bare_memory = min(before[1] for before, _ in pairs)
    print(
        f"peak memory    {bare_memory} kB alone, {min(after[1] for _, after in pairs) - bare_memory} kB more profiled"
    )


if __name__ == "__main__":
    main()
