"""What tests of drivers that are stepped have in common."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from drivers.base import StopFrames
from drivers.stop_port import NEVER_NS, StopPort
from drivers.types import DriveCommand

PATIENCE_S = 10.0


@pytest.fixture
def send_stop() -> Callable[[StopFrames], None]:
    """Writes a whole stop as the watchdog does."""

    def send(stop: StopFrames) -> None:
        port = StopPort(stop)
        port.begin(time.monotonic_ns())
        while port.due_ns != NEVER_NS:
            port.send(time.monotonic_ns())
            time.sleep(0.001)
        port.close()

    return send


@pytest.fixture
def until() -> Callable[..., Any]:
    """Steps a device until a sample satisfies a condition."""

    def wait(device: Any, condition: Callable[[Any], bool]) -> Any:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            device.step()
            sample = device.read(0)
            if sample is not None and condition(sample):
                return sample
        raise AssertionError("no such sample")

    return wait


@pytest.fixture
def running(until: Callable[..., Any]) -> Callable[..., int]:
    """Opens drives and has them run at a speed, confirmed by all; t_ns of the command."""

    def run(drives: Any, speed_radps: float = 1.0) -> int:
        drives.open()
        drives.write(DriveCommand(1, True, (0.0,) * 6))
        until(drives, lambda sample: sample.acknowledged_ns >= 1)
        drives.write(DriveCommand(2, False, (speed_radps,) * 6))
        until(drives, lambda sample: sample.acknowledged_ns >= 2)
        return 2

    return run
