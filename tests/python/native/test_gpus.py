"""What records say of GPUs, seen on two that are made of host memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_helpers import EXAMPLES, native, needs_native, records_in

pytestmark = needs_native


@pytest.mark.parametrize("memory", ["device", "host"])
def test_clocks_and_power_limits_are_recorded(tmp_path: Path, memory: str) -> None:
    words = f"bandwidth --bytes 8 --repeat 3 --transport staged --memory {memory}"
    job = native(tmp_path, 2, words, "--record records.jsonl", program=EXAMPLES)
    assert job.status == 0, job
    (record,) = records_in(tmp_path / "records.jsonl")
    devices = [place.device for place in record.start.placement]
    if memory == "host":
        assert devices == [None, None] and record.gpu_clock is None
    else:
        for device in devices:
            assert device is not None
            assert (device.power_limit_W, device.default_power_limit_W) == (500, 700)
        clock = record.gpu_clock
        assert clock is not None
        assert (clock.least_MHz, clock.highest_MHz) == (1400, 1980)
        assert clock.limits == ("power",)
