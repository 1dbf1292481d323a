"""What the processes of a simulated rig share: the plant's state, its samples, and its commands."""

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

# Samples of each channel that the rig remembers: some 4 s at 30 kHz.
REMEMBERED = 2**17
CLOCK = np.dtype([("start_ns", "<i8"), ("rate_hz", "<i8")])  # of the first sample, on CLOCK_MONOTONIC; 0: none
TAKEN = np.dtype([("samples", "<i8")])
RESET = np.dtype([("angle_deg", "<f8"), ("seed", "<i8")])
# Processes of the rig, each of which notes what it did late; the newest so many are kept.
CHILDREN = ("plant", "serial", "daq")
LATE_KEPT = 256
RESET_DONE = np.dtype([("version", "<i8")])


class SimulatorMemory:
    """The memory of a simulated rig; each box has one writer.

    Args:
        folder: of the rig, where `config.json` lies.
        create: make the files, or open them.
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
        # one more, for a mailbox of nothing cannot be
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
        """Unmap all of it; twice is fine."""
        for part in self._parts:
            part.close()
        self.volts = self.volts[:0].copy()  # whoever has a view of it keeps it mapped

    def keep(self, first: int, volts: NDArray[np.float64]) -> None:
        """Remember samples first, first + 1, ... (n, channels) [V]."""
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
    """`drivers.sim.protocol.plant_ports.Wheels` in another process than the plant."""

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
        """How far it has turned [rad]."""
        self._now.read(self._row)
        return float(self._row["angle_rad"][0, wheel])

    def hold(self, wheel: int, speed_radps: float) -> None:
        """Hold a speed."""
        self._command["cut"][0, wheel], self._command["speed_radps"][0, wheel] = 0, speed_radps
        self._write()

    def cut(self, wheel: int) -> None:
        """Output zero."""
        self._command["cut"][0, wheel], self._command["speed_radps"][0, wheel] = 1, 0.0
        self._write()

    def _write(self) -> None:
        self._command["t_ns"] = self._host.now_ns()
        self._commands.write(self._command)


class CylindersInMemory:
    """`drivers.sim.protocol.plant_ports.Cylinders` in another process than the plant."""

    def __init__(self, memory: SimulatorMemory) -> None:
        self._now, self._commands = memory.pressures, memory.valve_commands
        self._row, self._command = np.zeros(1, self._now.dtype), np.zeros(1, self._commands.dtype)

    def power(self, valve: int, on: bool) -> None:
        """Power a valve, or let it go."""
        self._command["powered"][0, valve] = on
        self._commands.write(self._command)

    def pressure_Pa(self, valve: int) -> float:
        """Gauge pressure at a valve."""
        self._now.read(self._row)
        return float(self._row["pressure_Pa"][0, valve])


class AnalogInMemory:
    """`drivers.sim.protocol.plant_ports.Analog` in another process than the plant; the plant has to have begun.

    Raises:
        RuntimeError: it has not.
    """

    def __init__(self, memory: SimulatorMemory) -> None:
        clock = np.zeros(1, CLOCK)
        if memory.clock.read(clock) <= 0:
            raise RuntimeError("the simulated rig's sample clock does not run yet")
        self._start_ns, self.rate_hz = int(clock["start_ns"][0]), int(clock["rate_hz"][0])
        self._memory, self._taken = memory, memory.taken
        self._row = np.zeros(1, TAKEN)
        self.channels = memory.volts.shape[1]

    def taken(self) -> int:
        """How many samples of each channel there are by now."""
        self._taken.read(self._row)
        return int(self._row["samples"][0])

    def copy(self, first: int, volts: NDArray[np.float64]) -> None:
        """Copy samples from the first one on into volts (n, channels) [V]."""
        np.take(self._memory.volts, np.arange(first, first + len(volts)) % REMEMBERED, axis=0, out=volts)
        if self.taken() - first > REMEMBERED:
            raise OverflowError(f"sample {first} is gone: {self.taken()} taken, the last {REMEMBERED} kept")

    def at_ns(self, sample: int) -> int:
        """When a sample is taken [ns of CLOCK_MONOTONIC]."""
        return self._start_ns + sample * 1_000_000_000 // self.rate_hz
