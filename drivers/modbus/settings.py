"""Settings of valves on Modbus coils, their limits, and the line time that they need."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from drivers.host import BITS_PER_BYTE
from drivers.modbus import protocol

VALVES = ("left extend", "left retract", "right extend", "right retract")
# Addresses defined by relay boards: all coils at once, and coil n for a given time, in steps of 0.1 s.
ALL_COILS = 0x00FF
FLASH_ON = 0x0200
FLASH_STEP_S = 0.1
FLASH_STEPS = range(1, 0x8000)
# A powered coil is powered again once this share of its time is over.
REFRESH_AT = 0.5


class Regulator(msgspec.Struct, frozen=True):
    """A proportional pressure regulator behind a holding register; set when the link is opened, and read back.

    Attributes:
        register: its set-point.
        pressure_Pa: supply pressure to set, gauge [Pa].
        Pa_per_count: of the register [Pa].
    """

    register: int
    pressure_Pa: float
    Pa_per_count: float = 1000.0

    @property
    def counts(self) -> int:
        """The register's value."""
        return round(self.pressure_Pa / self.Pa_per_count)


class ModbusValvesSettings(msgspec.Struct, frozen=True):
    """Four valves on the coils of a relay board or valve terminal.

    Attributes:
        port: path.
        baud: its speed, 8N1.
        address: of the board, 1 to 255.
        coils: of left extend, left retract, right extend, right retract.
        flash_on: power a coil for flash_s only and power it again in time: otherwise the board switches it off by
            itself. Without, the coils of a plain board stay as they are when its host dies.
        flash_s: that time, in steps of 0.1 s.
        pressure_registers: input registers of the four chambers (signed, 16 bits), in the order of the coils; None:
            there are none, and pressures are NaN.
        Pa_per_count: of these registers [Pa].
        regulator: of the supply, if there is one.
        rate_hz: how often coils and pressures are read.
        answer_timeout_ms: how long an answer may take, line time included.
    """

    port: str
    coils: tuple[int, int, int, int]
    baud: int = 9600
    address: int = 1
    flash_on: bool = True
    flash_s: float = 0.5
    pressure_registers: tuple[int, int, int, int] | None = None
    Pa_per_count: float = 100.0
    regulator: Regulator | None = None
    rate_hz: float = 5.0
    answer_timeout_ms: float = 60.0

    def read_coils(self) -> protocol.Request[tuple[bool, ...]]:
        """Read all from the first to the last coil in use."""
        return protocol.read_coils(self.address, min(self.coils), max(self.coils) - min(self.coils) + 1)

    def read_pressures(self) -> protocol.Request[tuple[int, ...]] | None:
        """Read all from the first to the last pressure register in use."""
        if self.pressure_registers is None:
            return None
        first, last = min(self.pressure_registers), max(self.pressure_registers)
        return protocol.read_registers(self.address, first, last - first + 1)

    def flash(self, coil: int) -> protocol.Request[None]:
        """Power a coil for flash_s."""
        return protocol.write_coil(self.address, FLASH_ON + coil, round(self.flash_s / FLASH_STEP_S))

    def switch(self, run: range, on: bool) -> protocol.Request[None]:
        """Switch neighbouring coils: one frame for all (15) where there are two or more, else the shorter (5)."""
        if len(run) == 1:
            return protocol.write_coil(self.address, run[0], protocol.ON if on else protocol.OFF)
        return protocol.write_coils(self.address, run[0], (on,) * len(run))

    def exchange_s(self, request: protocol.Request[Any]) -> float:
        """Line time of a request, its answer and the silences after both [s]."""
        size = len(request.frame) + request.length
        return size * BITS_PER_BYTE / self.baud + 2e-9 * protocol.silence_ns(self.baud)


def runs(coils: list[int]) -> list[range]:
    """Groups of neighbouring coils, so that no frame writes a coil that is not ours."""
    found: list[range] = []
    for coil in sorted(coils):
        if found and found[-1].stop == coil:
            found[-1] = range(found[-1].start, coil + 1)
        else:
            found.append(range(coil, coil + 1))
    return found


def check(settings: ModbusValvesSettings) -> None:
    """Refuse settings that cannot work. Raises ValueError that lists all errors."""
    wrong = _wrong_places(settings) or _wrong_times(settings)
    if wrong:
        raise ValueError("Modbus valve settings: " + "; ".join(wrong))


def _wrong_places(settings: ModbusValvesSettings) -> list[str]:
    wrong = []
    last = ALL_COILS - 1 if settings.flash_on else 0xFFFF
    if len({*settings.coils}) != len(VALVES) or not all(0 <= coil <= last for coil in settings.coils):
        wrong.append(f"coils: {settings.coils}, needed: {len(VALVES)} different ones of 0 to {last}")
    elif max(settings.coils) - min(settings.coils) >= protocol.MAX_COILS:
        wrong.append(f"coils: {settings.coils}, allowed: within {protocol.MAX_COILS} of each other")
    if not 1 <= settings.address <= 255:
        wrong.append(f"address: {settings.address}, allowed: 1 to 255")
    if not 1200 <= settings.baud <= 1_000_000:
        wrong.append(f"baud: {settings.baud}, allowed: 1200 to 1000000")
    if (registers := settings.pressure_registers) is not None:
        if len({*registers}) != len(VALVES) or not all(0 <= one <= 0xFFFF for one in registers):
            wrong.append(f"pressure_registers: {registers}, needed: {len(VALVES)} different ones of 0 to 65535")
        elif max(registers) - min(registers) >= protocol.MAX_REGISTERS:
            wrong.append(f"pressure_registers: {registers}, allowed: within {protocol.MAX_REGISTERS} of each other")
        if not 0.0 < settings.Pa_per_count < math.inf:
            wrong.append(f"Pa_per_count: {settings.Pa_per_count}, allowed: above 0")
    return [*wrong, *_wrong_regulator(settings.regulator)]


def _wrong_regulator(regulator: Regulator | None) -> list[str]:
    if regulator is None:
        return []
    wrong = []
    if not 0 <= regulator.register <= 0xFFFF:
        wrong.append(f"regulator.register: {regulator.register}, allowed: 0 to 65535")
    if not 0.0 < regulator.Pa_per_count < math.inf:
        wrong.append(f"regulator.Pa_per_count: {regulator.Pa_per_count}, allowed: above 0")
    elif not 0.0 <= regulator.pressure_Pa <= 0x7FFF * regulator.Pa_per_count:
        wrong.append(
            f"regulator.pressure_Pa: {regulator.pressure_Pa}, allowed: 0 to {0x7FFF * regulator.Pa_per_count:g}"
        )
    return wrong


def _wrong_times(settings: ModbusValvesSettings) -> list[str]:
    wrong = []
    if not 0.0 < settings.rate_hz <= 1000.0:
        wrong.append(f"rate_hz: {settings.rate_hz}, allowed: above 0, and 1000 at most")
    longest_ms = 1e3 * max(settings.exchange_s(request) for request in _all_kinds(settings))
    if not longest_ms < settings.answer_timeout_ms <= 1000.0:
        wrong.append(
            f"answer_timeout_ms: {settings.answer_timeout_ms}, allowed: above {longest_ms:.1f}, and 1000 at most"
        )
    if settings.flash_on:
        steps = settings.flash_s / FLASH_STEP_S
        if not (math.isfinite(steps) and abs(steps - round(steps)) < 1e-6 and round(steps) in FLASH_STEPS):
            wrong.append(f"flash_s: {settings.flash_s}, allowed: 0.1 to {FLASH_STEPS[-1] / 10:g} in steps of 0.1")
        elif (least := _least_flash_s(settings)) > settings.flash_s:
            wrong.append(f"flash_s: {settings.flash_s}, needed at {settings.baud} baud to be in time: {least:.2f}")
    return wrong


def _all_kinds(settings: ModbusValvesSettings) -> list[protocol.Request[Any]]:
    """One of each request that is made while running."""
    pressures = settings.read_pressures()
    together = [settings.switch(run, False) for run in runs(list(settings.coils))]
    return [settings.read_coils(), *together, *([] if pressures is None else [pressures])]


def _least_flash_s(settings: ModbusValvesSettings) -> float:
    """Least flash_s: all four refreshes and one other request must fit into what is left when a refresh is due."""
    slowest_s = sum(settings.exchange_s(settings.flash(coil)) for coil in settings.coils)
    slowest_s += max(settings.exchange_s(request) for request in _all_kinds(settings))
    return slowest_s / (1.0 - REFRESH_AT)


def budget(settings: ModbusValvesSettings) -> float:
    """Share of each second that the transactions need, with all four valves powered; switching comes on top."""
    pressures = settings.read_pressures()
    period_s = settings.exchange_s(settings.read_coils())
    period_s += 0.0 if pressures is None else settings.exchange_s(pressures)
    flashes_s = sum(settings.exchange_s(settings.flash(coil)) for coil in settings.coils) if settings.flash_on else 0.0
    return period_s * settings.rate_hz + flashes_s / (REFRESH_AT * settings.flash_s)
