"""Valves and regulators on Modbus that cannot work as set, by the keys of the config."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from drivers.checks import repeated
from drivers.host import Characters
from drivers.messages import CAMERA_TRIGGER
from drivers.modbus import protocol, valve_requests
from drivers.modbus.protocol import exchange_s
from drivers.modbus.section import MOST_SIGNED
from drivers.modbus.valve_requests import ALL_COILS, FLASH_STEP_S, ChamberRegisters, ValveRequests
from drivers.section import Problem

FLASH_STEPS = range(1, 0x8000)
KEY = "devices.valves"


def problems(requests: ValveRequests) -> list[Problem]:
    """All errors; those of times only when all places are possible."""
    return [*_places(requests), *_regulators(requests)] or list(_times(requests))


def _places(requests: ValveRequests) -> Iterator[Problem]:
    last = ALL_COILS - 1 if requests.section.flash_on else 0xFFFF
    coils = requests.coils
    if requests.valves.trigger and coils:
        yield from _trigger(requests, last)
        coils = coils[:-1]
    yield from _each(f"{KEY}.coils", "coil", coils, last, protocol.MAX_COILS)
    if (pressures := requests.pressures) is not None:
        yield from _pressures(pressures)


def _pressures(pressures: ChamberRegisters) -> Iterator[Problem]:
    key, words, section = f"{KEY}.pressure_registers", pressures.words, pressures.section
    most = protocol.MAX_REGISTERS + 1 - words if section.read_gaps else 0x10000
    yield from _each(key, "register", pressures.registers, 0x10000 - words, most)
    for one, next_one in pairwise(sorted({*pressures.registers})):
        if next_one - one < words:
            yield Problem(key, f"{one} and {next_one}", f"registers {words} apart, for {section.bits} bits each")
    least, most_counts = (protocol.nearest(far, section.bits, signed=section.signed) for far in (-(2**40), 2**40))
    yield from _within(f"{key}.zero_counts", section.zero_counts, least, most_counts)
    if not section.lowest_kPa < section.highest_kPa:
        found, needs = f"{section.lowest_kPa:g}", (f"{key}.highest_kPa",)
        yield Problem(f"{key}.lowest_kPa", found, f"less than {key}.highest_kPa", needs)


def _trigger(requests: ValveRequests, last: int) -> Iterator[Problem]:
    """Check the coil of the camera's trigger line, which is read with those of the valves."""
    *coils, trigger = requests.coils
    key, needs = f"{KEY}.{CAMERA_TRIGGER}", (f"{KEY}.coils",)
    yield from _within(key, trigger, 0, last)
    if trigger in coils:
        valve = requests.valves.valves[coils.index(trigger)]
        yield Problem(key, f"coil {trigger}, which is that of the valve {valve}", "a coil that no valve has", needs)
    elif max(requests.coils) - min(requests.coils) >= protocol.MAX_COILS:
        allowed = f"a coil within {protocol.MAX_COILS} of those of the valves"
        yield Problem(key, f"{trigger}, with valves on {min(coils)} to {max(coils)}", allowed, needs)


def _each(key: str, what: str, places: Sequence[int], last: int, span: int) -> Iterator[Problem]:
    """Check one coil or register for each valve, which are read in one go."""
    for place, times in repeated(places):
        yield Problem(key, f"{what} {place} for {times} valves", f"a different {what} for each valve")
    for place in places:
        yield from _within(key, place, 0, last)
    if places and max(places) - min(places) >= span:
        yield Problem(key, f"{min(places)} to {max(places)}", f"{what}s within {span} of each other")


def _regulators(requests: ValveRequests) -> Iterator[Problem]:
    if requests.supply is not None:
        key = f"{KEY}.regulator"
        most_Pa = MOST_SIGNED * requests.supply.Pa_per_count  # nothing says that it has no sign
        if not 0.0 <= requests.supply_Pa <= most_Pa:
            yield Problem(key, f"a supply of {requests.supply_Pa:g} Pa", f"0 to {most_Pa:g} Pa at this scale")
    if not requests.regulators:
        return
    key = f"{KEY}.regulators"
    for (address, register), times in repeated(
        [(regulator.address, regulator.register) for regulator in requests.regulators]
    ):
        found = f"register {register} at address {address} for {times} regulators"
        yield Problem(key, found, "a different register for each regulator")
    if requests.watchdog is not None and not 0 < requests.watchdog.counts <= MOST_SIGNED:
        found, allowed = f"{requests.watchdog.counts} counts of its register", f"1 to {MOST_SIGNED}"
        yield Problem(f"{key}.watchdog.timeout_ms", found, allowed)


def _times(requests: ValveRequests) -> Iterator[Problem]:
    yield from _answers(f"{KEY}.baud", requests.board_requests(), requests.line)
    key = f"{KEY}.baud" if requests.regulators_port is None else f"{KEY}.regulators.baud"
    yield from _answers(key, requests.regulator_requests(), requests.regulator_line)
    if requests.section.flash_on:
        key, steps = f"{KEY}.flash_s", requests.section.flash_s / FLASH_STEP_S
        if not (abs(steps - round(steps)) < 1e-6 and round(steps) in FLASH_STEPS):
            allowed = f"a whole number of tenths of a second, 0.1 to {FLASH_STEPS[-1] / 10:g}"
            yield Problem(key, f"{requests.section.flash_s:g}", allowed)
        elif (least := requests.least_flash_s()) > requests.section.flash_s:
            allowed = f"at least {least:.2f}, to refresh all valves in time at {requests.section.baud} baud"
            yield Problem(key, f"{requests.section.flash_s:g}", allowed, (f"{KEY}.baud",))


def _answers(
    key: str, requests: Sequence[protocol.ModbusRequest[Any]], line: tuple[int, Characters]
) -> Iterator[Problem]:
    """Check that each answer comes before it is no longer awaited."""
    timeout_ms = valve_requests.ANSWER_TIMEOUT_S * 1e3
    longest_ms = max((exchange_s(request, *line) * 1e3 for request in requests), default=0.0)
    if not longest_ms < timeout_ms:
        found = f"{line[0]}, with a longest exchange of {longest_ms:.1f} ms"
        yield Problem(key, found, f"an exchange of less than {timeout_ms:g} ms, and of 1000 ms at most")


def _within(key: str, value: int, least: int, most: int) -> Iterator[Problem]:
    if not least <= value <= most:
        yield Problem(key, f"{value}", f"{least} to {most}")
