"""A relay board over a simulated line, with cylinders that fill at once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from drivers.messages import ValveCommand, ValveSample
from drivers.modbus import protocol
from drivers.modbus.settings import ModbusValvesSettings, Pressures
from drivers.modbus.simulated.outputs import AnalogOutputs
from drivers.modbus.simulated.relay_board import RelayBoard
from drivers.modbus.simulated.rtu import RtuBus
from drivers.modbus.valves import ModbusValves
from drivers.sim.protocol.line import LineFault

VALVES_OFF = ((False, False), (False, False))
FULL_PA = 6.0e5
BOTH_OUT = ((True, False), (True, False))
BAUD = 19200
TERMINAL = Pressures((10, 11, 12, 13), 100.0)
STORED = 5  # register of the supply, which the board only stores


class InstantCylinders:
    """Chambers at full pressure or none, and regulators without delay."""

    def __init__(self, valves: int = 4, regulators: int = 0) -> None:
        self.valves, self.regulators = valves, regulators
        self.powered, self.set_Pa = [False] * valves, [0.0] * regulators

    def power(self, valve: int, on: bool) -> None:
        self.powered[valve] = on

    def pressure_Pa(self, valve: int) -> float:
        return FULL_PA if self.powered[valve] else -1000.0

    def regulate(self, regulator: int, pressure_Pa: float) -> None:
        self.set_Pa[regulator] = pressure_Pa


class Rig:
    """A board with pressure registers 10 to 13 and a stored register at 5, on a line in virtual time."""

    def __init__(self, folder: Path, line_time: Any, *, stored: tuple[int, ...] = (STORED,), **board: Any) -> None:
        self.time = line_time
        self.cylinders = InstantCylinders()
        self.board = RelayBoard(self.cylinders, **{"pressures": TERMINAL, **board})
        self.supply = AnalogOutputs(self.cylinders, {}, stored=stored)
        bus = RtuBus([self.board, self.supply], BAUD)
        self.line, self.recorder = line_time.connect(folder / "valves", bus, BAUD, protocol.silence_ns(BAUD))

    def settings(self, **changes: Any) -> ModbusValvesSettings:
        plain = {"port": str(self.line.path), "coils": (0, 1, 2, 3), "baud": BAUD, "flash_s": 5.0, "rate_hz": 20.0}
        more = {"pressures": TERMINAL, "answer_timeout_ms": 300.0}
        return ModbusValvesSettings(**{**plain, **more, **changes})

    def valves(self, **changes: Any) -> ModbusValves:
        return ModbusValves(self.settings(**changes))

    def inject_fault(self, kind: Any, **how: Any) -> None:
        self.line.inject_fault(LineFault(kind, **how))

    def functions(self) -> list[int]:
        return [data[1] for _, _, data in self.recorder.received]


MakeRig = Callable[..., Rig]


@pytest.fixture
def make_rig(tmp_path: Path, line_time: Any) -> MakeRig:
    return partial(Rig, tmp_path, line_time)


@pytest.fixture
def rig(make_rig: MakeRig) -> Rig:
    return make_rig()


@pytest.fixture
def cylinders() -> InstantCylinders:
    return InstantCylinders()


@pytest.fixture
def powered(until: Callable[..., ValveSample]) -> Callable[[ModbusValves], None]:
    """Opens valves and extends both cylinders, confirmed, with t_ns 2."""

    def power(valves: ModbusValves) -> None:
        valves.open()
        valves.write(ValveCommand(1, VALVES_OFF))
        until(valves, lambda sample: sample.acknowledged_ns == 1)
        valves.write(ValveCommand(2, BOTH_OUT))
        until(valves, lambda sample: sample.acknowledged_ns == 2)

    return power
