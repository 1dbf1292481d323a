"""Shared memory of the processes of a simulated rig: the plant's state, its samples, and its commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.sim.protocol.plant_ports import Instrument
from hil.config import Config
from hil.ipc.shared_types import GROUND_TRUTH, LATE, history_dtypes
from hil.ipc.shm import Mailbox, Ring
from hil.simulator.sampled_memory import SampledMemory

if TYPE_CHECKING:  # the serial devices' process does without the models
    from models.plant import InstrumentOnRig

# At full duty, of a rig whose motors are not described.
NO_LOAD_RADPS = 3.0
# Readings of an instrument that are there for its device.
READINGS_KEPT = 16
RESET = np.dtype([("angle_deg", "<f8"), ("seed", "<i8")])
# Processes of the rig. Each logs what it did late; the newest LATE_KEPT entries are kept.
CHILDREN = ("plant", "serial", "daq")
LATE_KEPT = 256
# Commands that a plant which stands still can take in afterwards; of more, it takes the newest.
COMMANDS_KEPT = 256
RESET_DONE = np.dtype([("version", "<i8")])


def readings_dtype(channels: int) -> np.dtype[Any]:
    """The newest readings of an instrument, oldest first; number 0: none."""
    kept = (READINGS_KEPT,)
    return np.dtype([("number", "<i8", kept), ("t_ns", "<i8", kept), ("value", "<f8", (READINGS_KEPT, channels))])


class SimulatorMemory:
    """The memory of a simulated rig; each mailbox and ring has one writer. Commands have the time at which they act.

    With a config the files are created; without one existing files are opened.

    Attributes:
        sampled: samples by the name of their link.
    """

    def __init__(self, folder: Path, config: Config | None = None) -> None:
        create = config is not None
        if config is None:
            config = Config.model_validate_json((folder / "config.json").read_text(encoding="utf-8"))
        else:
            (folder / "config.json").write_text(config.model_dump_json(), encoding="utf-8")
        self.folder, self.config = folder, config

        self._parts: list[Mailbox | Ring | SampledMemory] = []

        def box(name: str, dtype: Any) -> Mailbox:
            self._parts.append(made := Mailbox(folder / name, dtype, create=create))
            return made

        def ring(name: str, dtype: Any) -> Ring:
            self._parts.append(made := Ring(folder / name, dtype, COMMANDS_KEPT, create=create, must_not_lose=()))
            return made

        wheels, valves = len(config.layout.wheels), len(config.layout.valves)
        axles = ("speed_radps", "angle_rad", "current_A")
        self.wheels = box("wheels", np.dtype([*((name, "<f8", (wheels,)) for name in axles), ("supply_V", "<f8")]))
        outputs = [(name, "<f8", (wheels,)) for name in ("speed_radps", "duty")[: 1 + config.layout.open_loop]]
        commands = np.dtype([("t_ns", "<i8"), ("cut", "<u1", (wheels,)), *outputs])
        self.wheel_commands = ring("wheel_orders", commands)
        # one more, since a mailbox cannot be empty
        self.pressures = box("pressures", np.dtype([("pressure_Pa", "<f8", (valves + 1,))]))
        regulators = len(config.layout.regulators)
        outputs = [("powered", "<u1", (valves + 1,)), ("regulators_Pa", "<f8", (regulators + 1,))]
        self.valve_commands = ring("valve_orders", np.dtype([("t_ns", "<i8"), *outputs]))
        servos = len(config.layout.servos) + 1  # as above
        angles = [(name, "<f8", (servos,)) for name in ("angle_rad", "speed_radps", "current_A")]
        self.servos = box("servos", np.dtype(angles))
        outputs = [("servo_cut", "<u1", (servos,)), ("angle_rad", "<f8", (servos,))]
        self.servo_commands = ring("servo_orders", np.dtype([("t_ns", "<i8"), *outputs]))
        self.ground_truth = box("truth", GROUND_TRUTH)
        layout = config.layout
        self.histories = {name: box(f"true_{name}", dtype) for name, dtype in history_dtypes(layout).items()}
        self.readings = {
            role: box(f"readings_{role}", readings_dtype(len(layout.parts(role)))) for role in layout.instruments
        }
        self.reset, self.reset_done = box("place", RESET), box("placed", RESET_DONE)
        self.late = {
            name: Ring(folder / f"late_{name}", LATE, LATE_KEPT, create=create, must_not_lose=()) for name in CHILDREN
        }
        self._parts += self.late.values()
        self.sampled = {"daq": SampledMemory(folder, "", len(config.layout.channels), create=create)}
        if loads := config.layout.loads:
            self.sampled["loads"] = SampledMemory(folder, "load_", len(loads), create=create)
        self._parts += self.sampled.values()

    def close(self) -> None:
        """Unmap all memory; may be called twice."""
        for part in self._parts:
            part.close()


class WheelsInMemory:
    """`drivers.sim.protocol.plant_ports.AxlePorts`, for processes other than the plant's."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        self._host = host
        self._now, self._commands = memory.wheels, memory.wheel_commands
        self._row, self._command = np.zeros(1, self._now.dtype), np.zeros(1, self._commands.dtype)
        self._command["cut"] = 1
        self._takes_duty = "duty" in (self._command.dtype.names or ())

    def speed_radps(self, wheel: int) -> float:
        """Speed of an axle [rad/s]."""
        self._now.read(self._row)
        return float(self._row["speed_radps"][0, wheel])

    def angle_rad(self, wheel: int) -> float:
        """Angle turned since the start [rad]."""
        self._now.read(self._row)
        return float(self._row["angle_rad"][0, wheel])

    def current_A(self, wheel: int) -> float:
        """Current of a wheel's motor [A]."""
        self._now.read(self._row)
        return float(self._row["current_A"][0, wheel])

    def supply_V(self) -> float:
        """Voltage of the motors' supply [V]."""
        self._now.read(self._row)
        return float(self._row["supply_V"][0])

    def hold(self, wheel: int, speed_radps: float) -> None:
        """Control a wheel to a speed [rad/s]."""
        self._command["cut"][0, wheel], self._command["speed_radps"][0, wheel] = 0, speed_radps
        if self._takes_duty:
            self._command["duty"][0, wheel] = math.nan
        self._write()

    def drive(self, wheel: int, duty: float) -> None:
        """Drive a wheel by duty; a rig that has no motor parameters holds that share of a no-load speed."""
        if duty == 0.0:
            self.cut(wheel)
        elif not self._takes_duty:
            self.hold(wheel, duty * NO_LOAD_RADPS)
        else:
            self._command["cut"][0, wheel], self._command["duty"][0, wheel] = 0, duty
            self._write()

    def cut(self, wheel: int) -> None:
        """Set the output to zero."""
        self._command["cut"][0, wheel], self._command["speed_radps"][0, wheel] = 1, 0.0
        self._write()

    def _write(self) -> None:
        self._command["t_ns"] = self._host.now_ns()
        self._commands.append(self._command)


class CylindersInMemory:
    """`drivers.sim.protocol.plant_ports.CylinderPorts`, for processes other than the plant's."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        layout, self._host = memory.config.layout, host
        self.valves, self.regulators = len(layout.valves), len(layout.regulators)
        self._now, self._commands = memory.pressures, memory.valve_commands
        self._row, self._command = np.zeros(1, self._now.dtype), np.zeros(1, self._commands.dtype)

    def power(self, valve: int, on: bool) -> None:
        """Switch the power of a valve on or off."""
        self._command["powered"][0, valve] = on
        self._write()

    def pressure_Pa(self, valve: int) -> float:
        """Gauge pressure at a valve [Pa]."""
        self._now.read(self._row)
        return float(self._row["pressure_Pa"][0, valve])

    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        """Set a regulator to a gauge pressure [Pa]."""
        self._command["regulators_Pa"][0, regulator] = pressure_Pa
        self._write()

    def _write(self) -> None:
        self._command["t_ns"] = self._host.now_ns()
        self._commands.append(self._command)


class ServosInMemory:
    """`drivers.sim.protocol.plant_ports.Servos`, for processes other than the plant's."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        self._host = host
        self._now, self._commands = memory.servos, memory.servo_commands
        self._row, self._command = np.zeros(1, self._now.dtype), np.zeros(1, self._commands.dtype)
        self._command["servo_cut"] = 1

    def angle_rad(self, joint: int) -> float:
        """Angle of a joint [rad]."""
        self._now.read(self._row)
        return float(self._row["angle_rad"][0, joint])

    def speed_radps(self, joint: int) -> float:
        """Its rate [rad/s]."""
        self._now.read(self._row)
        return float(self._row["speed_radps"][0, joint])

    def current_A(self, joint: int) -> float:
        """Current of its motor [A]."""
        self._now.read(self._row)
        return float(self._row["current_A"][0, joint])

    def hold(self, joint: int, angle_rad: float) -> None:
        """Control a joint to an angle [rad]."""
        self._command["servo_cut"][0, joint], self._command["angle_rad"][0, joint] = 0, angle_rad
        self._write()

    def cut(self, joint: int) -> None:
        """Set the output to zero."""
        self._command["servo_cut"][0, joint] = 1
        self._write()

    def _write(self) -> None:
        self._command["t_ns"] = self._host.now_ns()
        self._commands.append(self._command)


class InstrumentInMemory(Instrument):
    """`drivers.sim.protocol.plant_ports.Instrument`, for processes other than the plant's."""

    def __init__(self, memory: SimulatorMemory, role: str) -> None:
        self.channels = memory.config.layout.parts(role)
        self.rate_hz = memory.config.instruments[role].rate_hz
        self._now = memory.readings[role]
        self._row = np.zeros(1, self._now.dtype)

    @override
    def since(self, sequence: int) -> Sequence[tuple[int, int, tuple[float, ...]]]:
        self._now.read(self._row)
        numbers, times_ns, values = (self._row[name][0].tolist() for name in ("number", "t_ns", "value"))
        each = zip(numbers, times_ns, map(tuple, values), strict=True)
        return [reading for reading in each if reading[0] > max(sequence, 0)]


class ReadingsPublisher:
    """Publishes the readings of a plant's instrument, whose numbers go on when another plant takes its place."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox, self._row = mailbox, np.zeros(1, mailbox.dtype)
        self._first = self._newest = 0

    def hand_out(self, instrument: InstrumentOnRig, start_ns: int) -> None:
        """Publish the newest readings, if there are new ones.

        t = 0 of the plant is `start_ns` on the clock of the published times [ns].
        """
        newest = instrument.since(0)[-READINGS_KEPT:]
        if not newest or self._first + newest[-1][0] == self._newest:
            return
        self._newest = self._first + newest[-1][0]
        row = self._row[0]
        row["number"] = 0
        for place, (number, t_ns, value) in enumerate(newest):
            row["number"][place], row["t_ns"][place], row["value"][place] = self._first + number, start_ns + t_ns, value
        self._mailbox.write(self._row)

    def begin_again(self) -> None:
        """Another plant begins."""
        self._first = self._newest
