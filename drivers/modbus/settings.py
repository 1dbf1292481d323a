"""Settings of valves on Modbus coils and of regulators on registers, and the requests that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from drivers.host import Characters
from drivers.modbus import protocol
from drivers.modbus.protocol import exchange_s
from drivers.modbus.section import MOST_COUNTS
from drivers.valve_layout import ValveLayout

# Addresses defined by relay boards: all coils at once, and coil n for a given time, in steps of 0.1 s.
ALL_COILS = 0x00FF
FLASH_ON = 0x0200
FLASH_STEP_S = 0.1
# A powered coil is powered again once this share of its time is over.
REFRESH_AT = 0.5


class Regulator(msgspec.Struct, frozen=True):
    """A proportional pressure regulator behind a holding register.

    Attributes:
        register: its set-point.
        address: of its device, 1 to 255.
        Pa_per_count: of the register [Pa].
        zero_counts: the register's value at no pressure.
    """

    register: int
    address: int = 1
    Pa_per_count: float = 1000.0
    zero_counts: int = 0

    def counts(self, pressure_Pa: float) -> int:
        """The register's value at a gauge pressure, or the nearest possible one."""
        return min(self.zero_counts + round(max(pressure_Pa, 0.0) / self.Pa_per_count), MOST_COUNTS)


class OutputWatchdog(msgspec.Struct, frozen=True):
    """A time-out of a regulators' device: without a request for so long it closes them.

    Attributes:
        register: of the time-out.
        timeout_s: to be set.
        s_per_count: of that register.
    """

    register: int
    timeout_s: float
    s_per_count: float = 1e-3

    @property
    def counts(self) -> int:
        """The register's value."""
        return round(self.timeout_s / self.s_per_count)


class Pressures(msgspec.Struct, frozen=True):
    """How the pressures of the chambers with a valve stand in registers.

    Attributes:
        registers: the first of each chamber, in the order of the coils.
        Pa_per_count: of them [Pa].
        zero_counts: the number at no gauge pressure.
        function: that reads them.
        bits: of a number, 16 or 32.
        signed: it is a signed number.
        high_first: the first of two registers has the upper 16 bits.
        gaps: registers between them may be read too.
        lowest_Pa: no chamber has less [Pa].
        highest_Pa: nor more [Pa].
    """

    registers: tuple[int, ...]
    Pa_per_count: float = 100.0
    zero_counts: int = 0
    function: protocol.Function = protocol.Function.READ_INPUT
    bits: int = 16
    signed: bool = True
    high_first: bool = True
    gaps: bool = True
    lowest_Pa: float = -101_500.0
    highest_Pa: float = 1e8

    @property
    def words(self) -> int:
        """Registers of a number."""
        return self.bits // 16

    def spans(self) -> list[range]:
        """Registers to read in one request each."""
        used = [register + word for register in self.registers for word in range(self.words)]
        return [range(min(used), max(used) + 1)] if self.gaps else runs(used)

    def pressures_Pa(self, held: Mapping[int, int]) -> tuple[float, ...]:
        """Returns the gauge pressure of each chamber [Pa].

        Args:
            held: each register as read.
        """
        counts = [
            protocol.number_of(
                [held[register + word] for word in range(self.words)], high_first=self.high_first, signed=self.signed
            )
            for register in self.registers
        ]
        return tuple((count - self.zero_counts) * self.Pa_per_count for count in counts)

    def held(self, place: int, pressure_Pa: float) -> dict[int, int]:
        """Returns what a device holds in the registers of a chamber, by its place, at a gauge pressure [Pa]."""
        counts = self.zero_counts + round(pressure_Pa / self.Pa_per_count)
        words = protocol.words_of(
            protocol.nearest(counts, self.bits, signed=self.signed), self.words, high_first=self.high_first
        )
        return dict(enumerate(words, self.registers[place]))


class ModbusValvesSettings(msgspec.Struct, frozen=True):
    """Valves on the coils of a relay board or valve terminal, and regulators on holding registers.

    Attributes:
        port: path.
        coils: of each valve, and of the camera's trigger line, in the order of `valves.outputs`.
        valves: which valves and moved regulators there are, and whether there is a trigger line.
        baud: speed of the port.
        characters: of the port.
        address: of the board, 1 to 255.
        flash_on: power a coil for flash_s only and power it again in time: otherwise the board switches it off by
            itself. Without, the coils of a plain board stay as they are when its host dies.
        flash_s: that time, in steps of 0.1 s.
        pressures: of the chambers with a valve; None: they are not measured, and NaN.
        supply: regulator that is set to supply_Pa when the link is opened; None: there is none.
        supply_Pa: gauge pressure [Pa].
        regulators: those that are moved during a run, in the order of `valves.regulators`.
        regulators_port: path of their port; None: that of the coils.
        regulators_baud: its speed; 0: that of the coils.
        regulators_characters: its characters; None: those of the coils.
        watchdog: of each device with regulators; None: there is none.
        rate_hz: how often coils and pressures are read, and regulators written.
        answer_timeout_ms: how long an answer may take, line time included.
    """

    port: str
    coils: tuple[int, ...]
    valves: ValveLayout = ValveLayout()
    baud: int = 9600
    characters: Characters = "8n1"
    address: int = 1
    flash_on: bool = True
    flash_s: float = 0.5
    pressures: Pressures | None = None
    supply: Regulator | None = None
    supply_Pa: float = 0.0
    regulators: tuple[Regulator, ...] = ()
    regulators_port: str | None = None
    regulators_baud: int = 0
    regulators_characters: Characters | None = None
    watchdog: OutputWatchdog | None = None
    rate_hz: float = 5.0
    answer_timeout_ms: float = 60.0

    @property
    def line(self) -> tuple[int, Characters]:
        """Speed and characters of the line of the coils."""
        return self.baud, self.characters

    @property
    def regulator_line(self) -> tuple[int, Characters]:
        """Speed and characters of the line of the regulators."""
        return self.regulators_baud or self.baud, self.regulators_characters or self.characters

    @property
    def regulator_addresses(self) -> tuple[int, ...]:
        """Each device with moved regulators."""
        return tuple(dict.fromkeys(regulator.address for regulator in self.regulators))

    def read_coils(self) -> protocol.ModbusRequest[tuple[bool, ...]]:
        """Read all from the first to the last coil in use."""
        return protocol.read_coils(self.address, min(self.coils), max(self.coils) - min(self.coils) + 1)

    def read_pressures(self) -> list[protocol.ModbusRequest[tuple[int, ...]]]:
        """One for each span of pressure registers; none where pressures are not measured."""
        if (pressures := self.pressures) is None:
            return []
        spans = pressures.spans()
        return [protocol.read_registers(self.address, span.start, len(span), pressures.function) for span in spans]

    def flash(self, coil: int) -> protocol.ModbusRequest[None]:
        """Power a coil for flash_s."""
        return protocol.write_coil(self.address, FLASH_ON + coil, round(self.flash_s / FLASH_STEP_S))

    def switch(self, run: range, on: bool) -> protocol.ModbusRequest[None]:
        """Switch neighbouring coils: one frame for all (15) where there are two or more, else the shorter (5)."""
        if len(run) == 1:
            return protocol.write_coil(self.address, run[0], protocol.ON if on else protocol.OFF)
        return protocol.write_coils(self.address, run[0], (on,) * len(run))

    def regulate(self, group: tuple[int, ...], counts: tuple[int, ...]) -> protocol.ModbusRequest[None]:
        """Write a group of `regulator_groups`: one frame (16) where there are two or more, else the shorter (6).

        Args:
            group: indices of regulators.
            counts: of all regulators.
        """
        first = self.regulators[group[0]]
        if len(group) == 1:
            return protocol.write_register(first.address, first.register, counts[group[0]])
        return protocol.write_registers(first.address, first.register, tuple(counts[which] for which in group))

    def regulator_groups(self) -> list[tuple[int, ...]]:
        """Regulators by index that one frame can write: neighbours on one device."""
        groups = []
        for address in self.regulator_addresses:
            mine = {
                regulator.register: which
                for which, regulator in enumerate(self.regulators)
                if regulator.address == address
            }
            groups += [tuple(mine[register] for register in run) for run in runs(list(mine))]
        return groups

    def closed_counts(self) -> tuple[int, ...]:
        """(regulators,) their registers at no pressure."""
        return tuple(regulator.counts(0.0) for regulator in self.regulators)


def runs(places: list[int]) -> list[range]:
    """Returns the groups of neighbouring coils or registers, so that no frame writes one that is not ours."""
    spans: list[range] = []
    for place in sorted(places):
        if spans and spans[-1].stop == place:
            spans[-1] = range(spans[-1].start, place + 1)
        else:
            spans.append(range(place, place + 1))
    return spans


class Load(NamedTuple):
    """Share of each second that the transactions of each line need, with all valves powered; switching is on top.

    Attributes:
        valves: of the line of the coils.
        regulators: of the line of the regulators; None: the same line.
    """

    valves: float
    regulators: float | None


def load(settings: ModbusValvesSettings) -> Load:
    """See Load."""
    read: list[protocol.ModbusRequest[Any]] = [settings.read_coils(), *settings.read_pressures()]
    period_s = sum(exchange_s(request, *settings.line) for request in read)
    valves = period_s * settings.rate_hz
    if settings.flash_on:
        valves += _flashes_s(settings) / (REFRESH_AT * settings.flash_s)
    regulators = _regulators_s(settings) * settings.rate_hz
    return Load(valves + regulators, None) if settings.regulators_port is None else Load(valves, regulators)


def actuation_s(settings: ModbusValvesSettings) -> tuple[float, float]:
    """Returns how long a command may take at worst, to the answer of the last device [s].

    Returns:
        When one valve switches, and when every cylinder changes direction and every regulator its pressure: after a
        transaction in flight. A regulator that is moved also waits for its turn of `rate_hz`.
    """
    in_flight_s = max(exchange_s(request, *settings.line) for request in board_requests(settings))
    one_s = exchange_s(settings.switch(range(settings.coils[0], settings.coils[0] + 1), False), *settings.line)
    # a cylinder with one way switches once
    every_s = len(settings.valves.outputs) * one_s + _regulators_s(settings)
    return in_flight_s + one_s, in_flight_s + every_s


def least_flash_s(settings: ModbusValvesSettings) -> float:
    """Least flash_s: all refreshes and one other request must fit into what is left when a refresh is due."""
    slowest_s = max(exchange_s(request, *settings.line) for request in board_requests(settings))
    slowest_s = max(slowest_s, _regulators_s(settings))
    return (_flashes_s(settings) + slowest_s) / (1.0 - REFRESH_AT)


def board_requests(settings: ModbusValvesSettings) -> list[protocol.ModbusRequest[Any]]:
    """One of each request to the board that is made while running, but for those to regulators."""
    together = [settings.switch(run, False) for run in runs(list(settings.coils))]
    return [settings.read_coils(), *together, *settings.read_pressures()]


def regulator_requests(settings: ModbusValvesSettings) -> list[protocol.ModbusRequest[Any]]:
    """Those that write each regulator once."""
    closed = settings.closed_counts()
    return [settings.regulate(group, closed) for group in settings.regulator_groups()]


def _regulators_s(settings: ModbusValvesSettings) -> float:
    return sum(exchange_s(request, *settings.regulator_line) for request in regulator_requests(settings))


def _flashes_s(settings: ModbusValvesSettings) -> float:
    return sum(exchange_s(settings.flash(coil), *settings.line) for coil in settings.coils)
