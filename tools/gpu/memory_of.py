"""Bytes and times of an iteration of bp5, from what Nsight Compute has written of its kernels.

python3 tools/gpu/memory_of.py ncu.csv FILE.json OPTION...    adds them to the list in the file, and
prints them; the options are bp5's
"""

import csv
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

SECONDS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3}
BYTES = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def name_of(kernel: str) -> str:
    """`UpdateResidual` of `void sum_of_indexes<UpdateResidual>(...)`: the function object."""
    if "apply_kernel" in kernel:
        return "operator"
    words = re.findall(r"Update\w+", kernel)
    return words[-1] if words else "others"


def main() -> int:
    lines = [line for line in Path(sys.argv[1]).read_text().splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    units, launches = rows[0], rows[1:]
    kernels: dict[str, dict[str, float]] = defaultdict(
        lambda: {"launches": 0, "bytes": 0.0, "seconds": 0.0}
    )
    for launch in launches:
        of = kernels[name_of(launch["Kernel Name"])]
        of["launches"] += 1
        of["bytes"] += (
            float(launch["dram__bytes.sum"].replace(",", "")) * BYTES[units["dram__bytes.sum"]]
        )
        of["seconds"] += (
            float(launch["gpu__time_duration.sum"].replace(",", ""))
            * SECONDS[units["gpu__time_duration.sum"]]
        )
    # The profiled range begins and ends within an iteration: launches are those per iteration.
    iterations = kernels["operator"]["launches"]
    means = {
        name: {
            "launches": round(of["launches"] / iterations),
            "bytes": of["bytes"] / of["launches"],
            "us": of["seconds"] / of["launches"] * 1e6,
        }
        for name, of in kernels.items()
    }
    result = {
        "options": sys.argv[3:],
        "iterations": iterations,
        "bytes_per_iteration": sum(of["launches"] * of["bytes"] for of in means.values()),
        "kernels_us_per_iteration": sum(of["launches"] * of["us"] for of in means.values()),
        "kernels": means,
    }
    file = Path(sys.argv[2])
    results = json.loads(file.read_text()) if file.exists() else []
    file.write_text(json.dumps([*results, result], indent=1) + "\n")
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
