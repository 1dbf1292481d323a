"""A relay board over a simulated line, with cylinders that fill at once."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from drivers.driver_type import RigSetup
from drivers.messages import ValveCommand, ValveSample
from drivers.modbus import protocol, valve_requests
from drivers.modbus.section import ModbusValvesSection, PressureRegisters
from drivers.modbus.simulated.relay_board import AnalogOutputs, RelayBoard
from drivers.modbus.simulated.rtu import RtuBus
from drivers.modbus.valve_requests import ChamberRegisters
from drivers.modbus.valves import ModbusValves
from drivers.sim.protocol.line import LineFault
from drivers.valve_layout import ValveLayout

VALVES_OFF = ((False, False), (False, False))
FULL_PA = 6.0e5
BOTH_OUT = ((True, False), (True, False))
BAUD = 19200
STORED = 5  # register of the supply, which the board only stores
SUPPLY = {"holding_register": STORED, "kPa_per_count": 1.0}
LAYOUT = ValveLayout()


def chambers(
    first: Sequence[int] = (10, 11, 12, 13), valves: Sequence[str] = LAYOUT.valves, **keys: Any
) -> ChamberRegisters:
    """Registers of the pressures of chambers, 100 Pa a count."""
    places = dict(zip(valves, first, strict=True))
    return ChamberRegisters(PressureRegisters.model_validate({"kPa_per_count": 0.1, **places, **keys}), valves)


def section_of(
    layout: ValveLayout = LAYOUT,
    *,
    coils: Sequence[int] = (0, 1, 2, 3),
    pressures: ChamberRegisters | None = None,
    **keys: Any,
) -> ModbusValvesSection:
    """A section of the config with flash-on, its coils in the order of the valves."""
    places = dict(zip(layout.valves, coils, strict=False))
    plain = {"driver": "modbus", "port": "/dev/ttyUSB0", "flash_on": True, "coils": places}
    registers = pressures.section if pressures else None
    return ModbusValvesSection.model_validate({**plain, "pressure_registers": registers, **keys})


def valves_of(section: ModbusValvesSection, rig: RigSetup, answer_timeout_s: float = 0.3, **more: Any) -> ModbusValves:
    """Valves that wait for answers that long."""
    with mock.patch.object(valve_requests, "ANSWER_TIMEOUT_S", answer_timeout_s):
        return ModbusValves(section, rig, **more)


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
        self.board = RelayBoard(self.cylinders, **{"pressures": chambers(), **board})
        self.supply = AnalogOutputs(self.cylinders, {}, stored=stored)
        bus = RtuBus([self.board, self.supply], BAUD)
        self.line, self.recorder = line_time.connect(folder / "valves", bus, BAUD, protocol.silence_ns(BAUD))

    def valves(
        self,
        *,
        pressures: ChamberRegisters | None = chambers(),  # noqa: B008  it does not change
        supply_kPa: float = 0.0,
        alive: Callable[[], None] = lambda: None,
        **keys: Any,
    ) -> ModbusValves:
        plain = {"port": str(self.line.path), "baud": BAUD, "flash_s": 5.0, "rate_hz": 20.0}
        section = section_of(pressures=pressures, **{**plain, **keys})
        return valves_of(section, RigSetup(valves=LAYOUT, supply_kPa=supply_kPa), alive=alive)

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
