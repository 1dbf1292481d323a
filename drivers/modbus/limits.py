"""Settings of valves and regulators on Modbus that cannot work, by the keys of the config."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from drivers.checks import repeated
from drivers.host import Characters
from drivers.messages import CAMERA_TRIGGER
from drivers.modbus import protocol
from drivers.modbus.protocol import exchange_s
from drivers.modbus.section import MOST_SIGNED
from drivers.modbus.settings import (
    ALL_COILS,
    FLASH_STEP_S,
    ModbusValvesSettings,
    Pressures,
    board_requests,
    least_flash_s,
    regulator_requests,
)
from drivers.section import Problem

FLASH_STEPS = range(1, 0x8000)
KEY = "devices.valves"


def check(settings: ModbusValvesSettings) -> None:
    """Refuse settings that cannot work. Raises ValueError that lists all errors."""
    if wrong := problems(settings):
        raise ValueError("; ".join(map(str, wrong)))


def problems(settings: ModbusValvesSettings) -> list[Problem]:
    """All errors; those of times only when all places are possible."""
    return [*_places(settings), *_regulators(settings)] or list(_times(settings))


def _places(settings: ModbusValvesSettings) -> Iterator[Problem]:
    last = ALL_COILS - 1 if settings.flash_on else 0xFFFF
    valves, coils = settings.valves, settings.coils
    if valves.trigger and coils:
        yield from _trigger(settings, last)
        coils = coils[:-1]
    yield from _each(f"{KEY}.coils", "coil", coils, len(valves.valves), last, protocol.MAX_COILS)
    if (pressures := settings.pressures) is not None:
        yield from _pressures(pressures, len(settings.valves.valves))


def _pressures(pressures: Pressures, count: int) -> Iterator[Problem]:
    key, words = f"{KEY}.pressure_registers", pressures.words
    most = protocol.MAX_REGISTERS + 1 - words if pressures.gaps else 0x10000
    yield from _each(key, "register", pressures.registers, count, 0x10000 - words, most)
    for one, next_one in pairwise(sorted({*pressures.registers})):
        if next_one - one < words:
            yield Problem(key, f"{one} and {next_one}", f"registers {words} apart, for {pressures.bits} bits each")
    least, most_counts = (protocol.nearest(far, pressures.bits, signed=pressures.signed) for far in (-(2**40), 2**40))
    yield from _within(f"{key}.zero_counts", pressures.zero_counts, least, most_counts)
    if not pressures.lowest_Pa < pressures.highest_Pa:
        found, needs = f"{pressures.lowest_Pa * 1e-3:g}", (f"{key}.highest_kPa",)
        yield Problem(f"{key}.lowest_kPa", found, f"less than {key}.highest_kPa", needs)


def _trigger(settings: ModbusValvesSettings, last: int) -> Iterator[Problem]:
    """Check the coil of the camera's trigger line, which is read with those of the valves."""
    *coils, trigger = settings.coils
    key, needs = f"{KEY}.{CAMERA_TRIGGER}", (f"{KEY}.coils",)
    yield from _within(key, trigger, 0, last)
    if trigger in coils:
        valve = settings.valves.valves[coils.index(trigger)]
        yield Problem(key, f"coil {trigger}, which is that of the valve {valve}", "a coil that no valve has", needs)
    elif max(settings.coils) - min(settings.coils) >= protocol.MAX_COILS:
        allowed = f"a coil within {protocol.MAX_COILS} of those of the valves"
        yield Problem(key, f"{trigger}, with valves on {min(coils)} to {max(coils)}", allowed, needs)


def _each(key: str, what: str, places: Sequence[int], count: int, last: int, span: int) -> Iterator[Problem]:
    """Check one coil or register for each valve, which are read in one go."""
    if len(places) != count:
        yield Problem(key, f"{len(places)} {what}s", f"{count}, one for each valve")
    for place, times in repeated(places):
        yield Problem(key, f"{what} {place} for {times} valves", f"a different {what} for each valve")
    for place in places:
        yield from _within(key, place, 0, last)
    if places and max(places) - min(places) >= span:
        yield Problem(key, f"{min(places)} to {max(places)}", f"{what}s within {span} of each other")


def _regulators(settings: ModbusValvesSettings) -> Iterator[Problem]:
    if settings.supply is not None:
        key = f"{KEY}.regulator"
        most_Pa = MOST_SIGNED * settings.supply.Pa_per_count  # nothing says that it has no sign
        if not 0.0 <= settings.supply_Pa <= most_Pa:
            yield Problem(key, f"a supply of {settings.supply_Pa:g} Pa", f"0 to {most_Pa:g} Pa at this scale")
    if not settings.regulators:
        return
    key, count = f"{KEY}.regulators", len(settings.valves.regulators)
    if len(settings.regulators) != count:
        yield Problem(key, f"{len(settings.regulators)}", f"{count}, one for each regulator")
    for (address, register), times in repeated(
        [(regulator.address, regulator.register) for regulator in settings.regulators]
    ):
        found = f"register {register} at address {address} for {times} regulators"
        yield Problem(key, found, "a different register for each regulator")
    if settings.watchdog is not None and not 0 < settings.watchdog.counts <= MOST_SIGNED:
        found, allowed = f"{settings.watchdog.counts} counts of its register", f"1 to {MOST_SIGNED}"
        yield Problem(f"{key}.watchdog.timeout_ms", found, allowed)


def _times(settings: ModbusValvesSettings) -> Iterator[Problem]:
    yield from _answers(f"{KEY}.baud", board_requests(settings), settings.line, settings.answer_timeout_ms)
    key = f"{KEY}.baud" if settings.regulators_port is None else f"{KEY}.regulators.baud"
    yield from _answers(key, regulator_requests(settings), settings.regulator_line, settings.answer_timeout_ms)
    if settings.flash_on:
        key, steps = f"{KEY}.flash_s", settings.flash_s / FLASH_STEP_S
        if not (math.isfinite(steps) and abs(steps - round(steps)) < 1e-6 and round(steps) in FLASH_STEPS):
            allowed = f"a whole number of tenths of a second, 0.1 to {FLASH_STEPS[-1] / 10:g}"
            yield Problem(key, f"{settings.flash_s:g}", allowed)
        elif (least := least_flash_s(settings)) > settings.flash_s:
            allowed = f"at least {least:.2f}, to refresh all valves in time at {settings.baud} baud"
            yield Problem(key, f"{settings.flash_s:g}", allowed, (f"{KEY}.baud",))


def _answers(
    key: str, requests: Sequence[protocol.ModbusRequest[Any]], line: tuple[int, Characters], timeout_ms: float
) -> Iterator[Problem]:
    """Check that each answer comes before it is no longer awaited."""
    longest_ms = max((exchange_s(request, *line) * 1e3 for request in requests), default=0.0)
    if not longest_ms < timeout_ms <= 1000.0:
        found = f"{line[0]}, with a longest exchange of {longest_ms:.1f} ms"
        yield Problem(key, found, f"an exchange of less than {timeout_ms:g} ms, and of 1000 ms at most")


def _within(key: str, value: int, least: int, most: int) -> Iterator[Problem]:
    if not least <= value <= most:
        yield Problem(key, f"{value}", f"{least} to {most}")
