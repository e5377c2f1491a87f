"""Records of replays of which the calls of all ranks were kept."""

from __future__ import annotations

from typing import Any

from sample_records import make_record, measured, timed_part

INTERVALS = 10


def make_replay_record(
    computation_s: float = 0.4, transfer_s: float = 0.1, waiting_s: float = 0.5, **changes: Any
) -> dict[str, Any]:
    """All ranks but rank 1 wait for it: as long as `waiting_s`, from the beginning on; of that
    `forced_s` is for its computation."""
    ranks = changes.get("ranks", 2)
    whole = computation_s + transfer_s + waiting_s
    forced_s = changes.pop("forced_s", waiting_s)
    rows = min(ranks, 64)
    waiting = [waiting_s / whole] * INTERVALS
    transfer = [transfer_s / whole] * INTERVALS
    seconds = {"computation": computation_s, "transfer": transfer_s, "waiting": waiting_s}
    return make_record(
        **{
            "benchmark": "replay",
            "parameters": {"trace": "program.clt (0123abcd)", "gaps": "cpu"},
            **measured("replay", whole, {"time_s": whole}),
            "parts": [
                timed_part(name, "rank", 1e6 * value, within=True)
                for name, value in seconds.items()
            ],
            "ceilings": [],
            "facts": {
                "waiting_s": waiting_s,
                "late_sender_s": 0.8 * waiting_s,
                "late_receiver_s": 0.0,
                "late_collective_s": 0.2 * waiting_s,
                "observed_s": whole,
                "critical_path_s": computation_s + forced_s,
                "free_communication_saves": 1 - (computation_s + forced_s) / whole,
            },
            "series": {
                "awaited_s": [0.0, waiting_s * ranks, *[0.0] * (ranks - 2)],
                "waiting_over_time": waiting * rows,
                "transfer_over_time": transfer * rows,
                "critical_path_over_time": [1.0] * 5 + [0.0] * 5,
            },
            **changes,
        }
    )
