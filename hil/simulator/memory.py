"""Shared memory of the processes of a simulated rig: the plant's state, its samples, and its commands."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers.host import COMPUTER, Host
from hil.config import Config
from hil.ipc.shared_types import GROUND_TRUTH, LATE
from hil.ipc.shm import Mailbox, Ring
from hil.ipc.shm.mapping import mapped_bytes

# Samples kept of each channel: some 4 s at 30 kHz.
REMEMBERED = 2**17
CLOCK = np.dtype([("start_ns", "<i8"), ("rate_hz", "<i8")])  # of the first sample, on CLOCK_MONOTONIC; 0: none
TAKEN = np.dtype([("samples", "<i8")])
RESET = np.dtype([("angle_deg", "<f8"), ("seed", "<i8")])
# Processes of the rig. Each logs what it did late; the newest LATE_KEPT entries are kept.
CHILDREN = ("plant", "serial", "daq")
LATE_KEPT = 256
RESET_DONE = np.dtype([("version", "<i8")])


class SimulatorMemory:
    """The memory of a simulated rig; each mailbox has one writer.

    Args:
        folder: of the rig, which contains `config.json`.
        config: of the rig, to create the files; None: open existing files.
    """

    def __init__(self, folder: Path, config: Config | None = None) -> None:
        create = config is not None
        if config is None:
            config = Config.model_validate_json((folder / "config.json").read_text(encoding="utf-8"))
        else:
            (folder / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
        self.folder, self.config = folder, config

        self._parts: list[Mailbox | Ring] = []

        def box(name: str, dtype: Any) -> Mailbox:
            self._parts.append(made := Mailbox(folder / name, dtype, create=create))
            return made

        self.clock, self.taken = box("clock", CLOCK), box("taken", TAKEN)
        wheels, valves = len(config.layout.wheels), len(config.layout.valves)
        self.wheels = box("wheels", np.dtype([("speed_radps", "<f8", (wheels,)), ("angle_rad", "<f8", (wheels,))]))
        commands = np.dtype([("t_ns", "<i8"), ("cut", "<u1", (wheels,)), ("speed_radps", "<f8", (wheels,))])
        self.wheel_commands = box("wheel_orders", commands)
        # one more, since a mailbox cannot be empty
        self.pressures = box("pressures", np.dtype([("pressure_Pa", "<f8", (valves + 1,))]))
        self.valve_commands = box("valve_orders", np.dtype([("powered", "<u1", (valves + 1,))]))
        self.ground_truth = box("truth", GROUND_TRUTH)
        self.reset, self.reset_done = box("place", RESET), box("placed", RESET_DONE)
        self.late = {
            name: Ring(folder / f"late_{name}", LATE, LATE_KEPT, create=create, must_not_lose=()) for name in CHILDREN
        }
        self._parts += self.late.values()
        self.volts: NDArray[np.float64] = _mapped(folder / "volts", len(config.layout.channels), create)

    def close(self) -> None:
        """Unmap all memory; may be called twice."""
        for part in self._parts:
            part.close()
        self.volts = self.volts[:0].copy()  # any view of it keeps it mapped

    def keep(self, first: int, volts: NDArray[np.float64]) -> None:
        """Store samples first, first + 1, ... (n, channels) [V]."""
        self.volts[np.arange(first, first + len(volts)) % REMEMBERED] = volts


def _mapped(path: Path, channels: int, create: bool) -> NDArray[np.float64]:
    size = REMEMBERED * channels * 8
    if not size:
        return np.zeros((REMEMBERED, 0))
    handle = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_EXCL if create else 0), 0o600)
    try:
        if create:
            os.ftruncate(handle, size)
        return mapped_bytes(handle, size, populate=False).view(np.float64).reshape(REMEMBERED, channels)
    finally:
        os.close(handle)


class WheelsInMemory:
    """`drivers.sim.protocol.plant_ports.Wheels`, for processes other than the plant's."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        self._host = host
        self._now, self._commands = memory.wheels, memory.wheel_commands
        self._row, self._command = np.zeros(1, self._now.dtype), np.zeros(1, self._commands.dtype)
        self._command["cut"] = 1

    def speed_radps(self, wheel: int) -> float:
        """Speed of an axle [rad/s]."""
        self._now.read(self._row)
        return float(self._row["speed_radps"][0, wheel])

    def angle_rad(self, wheel: int) -> float:
        """Angle turned since the start [rad]."""
        self._now.read(self._row)
        return float(self._row["angle_rad"][0, wheel])

    def hold(self, wheel: int, speed_radps: float) -> None:
        """Control a wheel to a speed [rad/s]."""
        self._command["cut"][0, wheel], self._command["speed_radps"][0, wheel] = 0, speed_radps
        self._write()

    def cut(self, wheel: int) -> None:
        """Set the output to zero."""
        self._command["cut"][0, wheel], self._command["speed_radps"][0, wheel] = 1, 0.0
        self._write()

    def _write(self) -> None:
        self._command["t_ns"] = self._host.now_ns()
        self._commands.write(self._command)


class CylindersInMemory:
    """`drivers.sim.protocol.plant_ports.Cylinders`, for processes other than the plant's."""

    def __init__(self, memory: SimulatorMemory) -> None:
        self._now, self._commands = memory.pressures, memory.valve_commands
        self._row, self._command = np.zeros(1, self._now.dtype), np.zeros(1, self._commands.dtype)

    def power(self, valve: int, on: bool) -> None:
        """Switch the power of a valve on or off."""
        self._command["powered"][0, valve] = on
        self._commands.write(self._command)

    def pressure_Pa(self, valve: int) -> float:
        """Gauge pressure at a valve [Pa]."""
        self._now.read(self._row)
        return float(self._row["pressure_Pa"][0, valve])


class AnalogInMemory:
    """`drivers.sim.protocol.plant_ports.Analog`, for processes other than the plant's; the plant must be running.

    Raises:
        RuntimeError: it is not.
    """

    def __init__(self, memory: SimulatorMemory) -> None:
        clock = np.zeros(1, CLOCK)
        if memory.clock.read(clock) <= 0:
            raise RuntimeError("the simulated rig's sample clock is not running yet")
        self._start_ns, self.rate_hz = int(clock["start_ns"][0]), int(clock["rate_hz"][0])
        self._memory, self._taken = memory, memory.taken
        self._row = np.zeros(1, TAKEN)
        self.channels = memory.volts.shape[1]

    def taken(self) -> int:
        """Number of samples of each channel taken so far."""
        self._taken.read(self._row)
        return int(self._row["samples"][0])

    def copy(self, first: int, volts: NDArray[np.float64]) -> None:
        """Copy samples from `first` on into volts (n, channels) [V]. Raises OverflowError: they are overwritten."""
        np.take(self._memory.volts, np.arange(first, first + len(volts)) % REMEMBERED, axis=0, out=volts)
        if self.taken() - first > REMEMBERED:
            raise OverflowError(f"sample {first} is gone: {self.taken()} taken, the last {REMEMBERED} kept")

    def at_ns(self, sample: int) -> int:
        """Time at which a sample is taken [ns of CLOCK_MONOTONIC]."""
        return self._start_ns + sample * 1_000_000_000 // self.rate_hz
