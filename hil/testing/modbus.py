"""Simulated devices on Modbus RTU: relay board, pressure regulators, amplifier of load cells, encoders of joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drivers.modbus import protocol
from drivers.modbus.section import (
    AmplifierInput,
    EncoderRegister,
    ModbusLoadsSection,
    OutputWatchdog,
    PressureRegisters,
)
from drivers.modbus.simulated.amplifier import Amplifier
from drivers.modbus.simulated.encoders import EncoderBus
from drivers.modbus.simulated.relay_board import AnalogOutputs, RelayBoard
from drivers.modbus.simulated.rtu import RtuBus
from drivers.modbus.valve_requests import ChamberRegisters, Regulator
from hil.testing.bench import LineDevice, Place
from hil.testing.wheels import Angles, Cylinders, Voltages


class _Coils(list[bool]):
    """States of the coils when it was made; one that is set is switched."""

    def __init__(self, board: RelayBoard, now_ns: Callable[[], int]) -> None:
        super().__init__(board.on)
        self._board, self._now_ns = board, now_ns

    def __setitem__(self, coil: Any, on: Any) -> None:
        super().__setitem__(coil, bool(on))
        self._board.switch(range(len(self))[coil], bool(on), self._now_ns())


def _check_address(device: str, address: int) -> None:
    if not 1 <= address <= 247:
        raise ValueError(f"{device}: address {address} found; allowed: 1 to 247")


def _chambers(registers: Sequence[int]) -> ChamberRegisters:
    """A chamber at each register, 100 Pa a count."""
    places = {f"chamber_{place}": register for place, register in enumerate(registers)}
    return ChamberRegisters(PressureRegisters.model_validate({**places, "kPa_per_count": 0.1}), tuple(places))


class ModbusRelayBoard(LineDevice):
    """A simulated relay board, with a valve and a chamber of a cylinder at each of its first coils.

    Its holding and input registers of pressures are those that it was made with.

    Attributes:
        cylinders: what its coils switch: `powered`, `pressure(valve)`, `set_pressure(valve, pressure_Pa)`.
        address: on its line.
    """

    name = "relay_board"

    def __init__(
        self, coils: int, address: int, baud: int, pressure_registers: Sequence[int] | None, bench: Place | None
    ) -> None:
        super().__init__(baud, bench)
        if not 1 <= coils <= 64:
            raise ValueError(f"relay_board: {coils} coils found; allowed: 1 to 64")
        _check_address(self.name, address)
        self.address = address
        held = _chambers(pressure_registers) if pressure_registers is not None else None
        self.cylinders, valves = Cylinders(self._bench.now_ns, min(coils, 4)), tuple(range(min(coils, 4)))
        self._board = RelayBoard(self.cylinders, valves, address=address, count=coils, pressures=held)
        self._connect(RtuBus([self._board], baud), self.cylinders, protocol.silence_ns(baud))

    @property
    def coils(self) -> list[bool]:
        """(coils,) which are on; set one, as a hand at the board would: `board.coils[0] = True`."""
        return _Coils(self._board, self._bench.now_ns)

    @property
    def switched(self) -> list[tuple[int, int, bool]]:
        """What was switched by programs, oldest first: time [ns of CLOCK_MONOTONIC], coil, on."""
        return list(self._board.switched)

    @property
    def stuck(self) -> set[int]:
        """Valves that do not follow their coils; add to it."""
        return self._board.stuck


class PressureRegulators(LineDevice):
    """Simulated pressure regulators, each behind a holding register.

    Attributes:
        cylinders: what they supply: `set_Pa` has their set-points.
        address: on its line.
    """

    name = "regulators"

    def __init__(
        self, registers: Sequence[int], address: int, baud: int, timeout_register: int | None, bench: Place | None
    ) -> None:
        super().__init__(baud, bench)
        if not registers or len(set(registers)) != len(registers) or timeout_register in registers:
            raise ValueError(f"regulators: registers {list(registers)} found; allowed: one or more different ones")
        _check_address(self.name, address)
        self.address = address
        self.cylinders = Cylinders(self._bench.now_ns, 0, len(registers))
        self._outputs = AnalogOutputs(
            self.cylinders,
            {place: Regulator(register, address, 1000.0) for place, register in enumerate(registers)},
            address=address,
            watchdog=None
            if timeout_register is None
            else OutputWatchdog(holding_register=timeout_register, timeout_ms=1000),
        )
        self._connect(RtuBus([self._outputs], baud), self.cylinders, protocol.silence_ns(baud))

    @property
    def set_Pa(self) -> list[float]:
        """(registers,) gauge pressures that they are set to [Pa]."""
        return self.cylinders.set_Pa

    @property
    def registers(self) -> dict[int, int]:
        """Counts by register; set one."""
        return self._outputs.values

    @property
    def closed(self) -> int:
        """How often the time-out has closed them."""
        return len(self._outputs.closed_ns)


class LoadAmplifier(LineDevice):
    """A simulated amplifier of load cells: two input registers a channel, 1 uV a count, the upper half first.

    Attributes:
        volts: of each channel [V]: `amplifier.volts[0] = 1.5`, or a function of the time.
        address: on its line.
    """

    name = "amplifier"

    def __init__(self, registers: Sequence[int], address: int, baud: int, bench: Place | None) -> None:
        super().__init__(baud, bench)
        _check_address(self.name, address)
        self.address = address
        self.volts = Voltages(self._bench.now_ns, len(registers))
        inputs = tuple(AmplifierInput(channel=f"channel_{one}", register_number=one) for one in registers)
        section = ModbusLoadsSection(driver="modbus", baud=baud, address=address, inputs=inputs)
        device = Amplifier(self.volts, section, [one.channel for one in inputs])
        self._connect(device, self.volts, protocol.silence_ns(baud))


class JointEncoders(LineDevice):
    """Simulated absolute encoders, an address each: 4096 counts a turn, in input registers 0 (upper half) and 1.

    Attributes:
        settings: of each, as the driver of rover-hil takes them.
    """

    name = "encoders"

    def __init__(self, addresses: Sequence[int], baud: int, bench: Place | None) -> None:
        super().__init__(baud, bench)
        if not addresses or len(set(addresses)) != len(addresses) or not set(addresses) <= set(range(1, 248)):
            raise ValueError(f"encoders: addresses {list(addresses)} found; allowed: different ones, 1 to 247")
        self.settings = tuple(EncoderRegister(joint=f"joint_{at}", address=at, register_number=0) for at in addresses)
        self._angles = Angles([encoder.joint for encoder in self.settings])
        self._bus = EncoderBus(self._angles, self.settings, baud)
        self._connect(self._bus, self._angles, protocol.silence_ns(baud))

    @property
    def angles(self) -> list[float]:
        """(addresses,) angles [rad]; set any of them."""
        return self._angles.values

    def slip(self, address: int, counts: int) -> None:
        """Let the coupling of one slip: from now on it is off by so many counts."""
        self._bus.inject_fault("slipped", {"address": address, "counts": counts})

    def quiet(self, address: int, silent: bool = True) -> None:
        """Let one of them not answer any more, or answer again."""
        self._bus.inject_fault("silent" if silent else "answers", {"address": address})


def relay_board(
    *,
    coils: int = 8,
    address: int = 1,
    baud: int = 9600,
    pressure_registers: Sequence[int] | None = (10, 11, 12, 13),
    bench: Place | None = None,
) -> ModbusRelayBoard:
    """A simulated relay board on Modbus RTU, until it is closed.

    It serves functions 1, 5 and 15 (coils; of 5 also flash-on: coil 0x0200 + n for the value times 0.1 s), and 4.

    Args:
        coils: how many; the first four are the valves of two cylinders.
        address: 1 to 247.
        baud: of the line, 8N1.
        pressure_registers: input registers of the valves' chambers, signed, 100 Pa a count; None: it has none.
        bench: where it is; None: this computer, in real time.

    Example:
        >>> with relay_board() as board:
        ...     board.coils
        [False, False, False, False, False, False, False, False]
    """
    return ModbusRelayBoard(coils, address, baud, pressure_registers, bench)


def regulators(
    *,
    registers: Sequence[int] = (0, 1),
    address: int = 1,
    baud: int = 9600,
    timeout_register: int | None = 100,
    bench: Place | None = None,
) -> PressureRegulators:
    """Simulated pressure regulators on Modbus RTU, until they are closed. Functions 3, 6 and 16.

    Args:
        registers: holding register of each, 1000 Pa a count.
        address: 1 to 247.
        baud: of the line, 8N1.
        timeout_register: of the time-out after which they close without a request, 1 ms a count, 0 for none; None:
            there is no such register.
        bench: where they are; None: this computer, in real time.
    """
    return PressureRegulators(registers, address, baud, timeout_register, bench)


def amplifier(
    *, registers: Sequence[int] = (0, 2), address: int = 1, baud: int = 115200, bench: Place | None = None
) -> LoadAmplifier:
    """A simulated amplifier of load cells on Modbus RTU, until it is closed. Function 4.

    Args:
        registers: first input register of each channel.
        address: 1 to 247.
        baud: of the line, 8N1.
        bench: where it is; None: this computer, in real time.
    """
    return LoadAmplifier(registers, address, baud, bench)


def encoders(*, addresses: Sequence[int] = (1, 2), baud: int = 115200, bench: Place | None = None) -> JointEncoders:
    """Simulated encoders of joints on one Modbus RTU line, until they are closed. Function 4.

    Args:
        addresses: one for each joint, 1 to 247.
        baud: of the line, 8N1.
        bench: where they are; None: this computer, in real time.
    """
    return JointEncoders(addresses, baud, bench)
