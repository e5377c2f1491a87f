"""A profile of a program, as `commlens profile` writes it."""

from __future__ import annotations

from typing import Any


def make_profile(**changes: Any) -> dict[str, Any]:
    """The line of a profile of two ranks."""
    return {
        "profile": 1,
        "time": "2025-01-02T03:04:05Z",
        "run": "run-1",
        "command": ["mpirun", "-n", "2", "./program"],
        "exit_status": 0,
        "mpi": "Open MPI v4.1.4, package",
        "program": "/bin/program",
        "thread_level": "single",
        "ranks": 2,
        "nodes": 1,
        "placement": [
            {"rank": rank, "host": "node", "pid": 10 + rank, "ending": "finalized", "inside": ""}
            for rank in range(2)
        ],
        "missing_ranks": [],
        "total_s": [1.0, 1.1],
        "functions": [
            {
                "name": name,
                "group": "point to point",
                "calls": [3, 4],
                "time_s": [0.1, 0.2],
                "max_s": [0.05, 0.06],
                "waiting_s": [0.0, 0.0],
                "bytes": [800, 900],
                "communicators": {"mean_size": 2.0, "min_size": 2, "max_size": 2},
                "memory": {"host": 7},
                "sizes": [{"from_bytes": 128, "to_bytes": 255, "calls": 7}],
            }
            for name in ("MPI_Send", "MPI_Recv")
        ],
        "peers": [{"from": 0, "to": 1, "bytes": 800, "messages": 3}],
        "call_sites": [
            {
                "function": "MPI_Send",
                "caller": "main",
                "file": "a.c",
                "line": 4,
                "calls": 3,
                "time_s": 0.1,
                "bytes": 800,
            }
        ],
        "warnings": ["a warning"],
        "versions": {"commlens": "0.1.0"},
        "environment": {"UCX_TLS": "sm"},
        **changes,
    }
