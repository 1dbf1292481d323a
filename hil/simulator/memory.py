"""Shared memory of the processes of a simulated rig: the plant's state, its samples, and its commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from drivers.host import COMPUTER, Host
from drivers.sim.protocol.plant_ports import AxlePorts, CylinderPorts, Instrument, Servos
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


class _PortsInMemory:
    """Ports to the plant for other processes than its own: a mailbox of what is, and a ring of commands."""

    def __init__(self, now: Mailbox, commands: Ring, host: Host) -> None:
        self._now, self._commands, self._host = now, commands, host
        self._row, self._command = np.zeros(1, now.dtype), np.zeros(1, commands.dtype)

    def _read(self, name: str, place: int) -> float:
        self._now.read(self._row)
        return float(self._row[name][0, place])

    def _write(self, place: int, **numbers: float) -> None:
        """Command one part; all others keep their commands."""
        for name, number in numbers.items():
            self._command[name][0, place] = number
        self._command["t_ns"] = self._host.now_ns()
        self._commands.append(self._command)


class WheelsInMemory(_PortsInMemory, AxlePorts):
    """The axles; a rig that has no motor parameters holds, for a duty, that share of a no-load speed."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        super().__init__(memory.wheels, memory.wheel_commands, host)
        self._command["cut"] = 1
        self._takes_duty = "duty" in (self._command.dtype.names or ())

    @override
    def speed_radps(self, wheel: int) -> float:
        return self._read("speed_radps", wheel)

    @override
    def angle_rad(self, wheel: int) -> float:
        return self._read("angle_rad", wheel)

    @override
    def current_A(self, wheel: int) -> float:
        return self._read("current_A", wheel)

    @override
    def supply_V(self) -> float:
        self._now.read(self._row)
        return float(self._row["supply_V"][0])

    @override
    def hold(self, wheel: int, speed_radps: float) -> None:
        by_speed = {"duty": math.nan} if self._takes_duty else {}
        self._write(wheel, cut=0, speed_radps=speed_radps, **by_speed)

    @override
    def drive(self, wheel: int, duty: float) -> None:
        if duty == 0.0:
            self.cut(wheel)
        elif not self._takes_duty:
            self.hold(wheel, duty * NO_LOAD_RADPS)
        else:
            self._write(wheel, cut=0, duty=duty)

    @override
    def cut(self, wheel: int) -> None:
        self._write(wheel, cut=1, speed_radps=0.0)


class CylindersInMemory(_PortsInMemory, CylinderPorts):
    """Valves and regulators."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        super().__init__(memory.pressures, memory.valve_commands, host)
        layout = memory.config.layout
        self.valves, self.regulators = len(layout.valves), len(layout.regulators)

    @override
    def power(self, valve: int, on: bool) -> None:
        self._write(valve, powered=on)

    @override
    def pressure_Pa(self, valve: int) -> float:
        return self._read("pressure_Pa", valve)

    @override
    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        self._write(regulator, regulators_Pa=pressure_Pa)


class ServosInMemory(_PortsInMemory, Servos):
    """The driven joints."""

    def __init__(self, memory: SimulatorMemory, host: Host = COMPUTER) -> None:
        super().__init__(memory.servos, memory.servo_commands, host)
        self._command["servo_cut"] = 1

    @override
    def angle_rad(self, joint: int) -> float:
        return self._read("angle_rad", joint)

    @override
    def speed_radps(self, joint: int) -> float:
        return self._read("speed_radps", joint)

    @override
    def current_A(self, joint: int) -> float:
        return self._read("current_A", joint)

    @override
    def hold(self, joint: int, angle_rad: float) -> None:
        self._write(joint, servo_cut=0, angle_rad=angle_rad)

    @override
    def cut(self, joint: int) -> None:
        self._write(joint, servo_cut=1)


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
