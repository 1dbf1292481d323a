"""The line time that the transactions of valves and regulators need: loads, and how long a command takes."""

from __future__ import annotations

from typing import Any, NamedTuple

from drivers.modbus import protocol
from drivers.modbus.protocol import exchange_s
from drivers.modbus.settings import REFRESH_AT, ModbusValvesSettings, runs


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
    """How long a command may take at worst, to the answer of the last device [s].

    Returns:
        When one valve switches, and when every cylinder changes direction and every regulator its pressure: after a
        transaction in flight. A regulator that is moved waits for its turn of `rate_hz` besides.
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
