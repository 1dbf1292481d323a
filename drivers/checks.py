"""Checks that sections of several makers share. Each problem names the key to change."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from drivers.device_sections import INSTRUMENTS, MovedRegulators, ValvesSection
from drivers.driver_type import LineLoad, RigSetup
from drivers.section import Problem

T = TypeVar("T", bound=Hashable)
# Largest share of time that a line may carry bytes. The rest is for retries, a cut, and the devices' pauses.
ALLOWED_LOAD = 0.8
# A controller must not time out when one set-point is lost.
PERIODS_IN_TIMEOUT = 2.0
CONTROLLERS = "devices.drives.controllers"


def wheel_problems(wheels: Sequence[str], reversed_: Sequence[str], rig: RigSetup) -> Iterator[Problem]:
    """Check that every wheel of the rover is on exactly one channel, and that no channel has another wheel."""
    names = rig.wheels
    for wheel in dict.fromkeys(wheel for wheel in (*wheels, *reversed_) if wheel not in names):
        yield Problem(CONTROLLERS, wheel, f"wheels of rover.type {rig.rover}: {', '.join(names)}", ("rover.type",))
    for wheel, count in repeated(wheels):
        yield Problem(CONTROLLERS, f"{wheel} on {count} channels", "each wheel on one channel")
    for wheel in names:
        if wheel not in wheels:
            yield Problem(CONTROLLERS, f"{wheel} on no channel", "each wheel on one channel")
    for wheel, _ in repeated(reversed_):
        yield Problem("devices.drives.reversed", f"{wheel} twice", "each wheel once")


def timeout_problems(key: str, timeout_ms: float, rate_hz: float, role: str = "drives") -> Iterator[Problem]:
    """Check that two set-points fit into the time after which a device stops by itself."""
    if timeout_ms * rate_hz < 1000.0 * PERIODS_IN_TIMEOUT:
        least_hz = 1000.0 * PERIODS_IN_TIMEOUT / timeout_ms
        yield Problem(
            f"devices.{role}.rate_hz",
            f"{rate_hz:g}",
            f"at least {least_hz:g}: two set-points within {key}, {timeout_ms:g} ms",
            (f"devices.{role}.{key}",),
        )


def channel_problems(found: Sequence[str], rig: RigSetup) -> Iterator[Problem]:
    """Check that every load channel of the rig has one input, and that no input has another channel."""
    wanted = rig.loads.channels if rig.loads else ()
    yield from each_once("devices.loads.inputs", "load channel", found, wanted, ("loads", "rover.type"))


def each_once(
    key: str, what: str, found: Sequence[str], wanted: Sequence[str], depends_on: tuple[str, ...]
) -> Iterator[Problem]:
    """Check that a list has each wanted name once, and no other.

    Args:
        key: of the list.
        what: that a name stands for.
        found: the names of the list.
        wanted: those of the rig.
        depends_on: keys that the wanted names follow from.
    """
    count = Counter(found)
    wrong = [name for name in (*count, *wanted) if name not in wanted or count[name] != 1]
    if wrong:
        words = ", ".join(f"{count[name]} for {name}" for name in dict.fromkeys(wrong))
        yield Problem(key, words, f"one for each {what}: {', '.join(wanted)}", depends_on)


def rate_key(role: str) -> str:
    """Returns the key of how often a device is read: for load channels and instruments next to what they measure."""
    return f"{role}.rate_hz" if role in ("loads", *INSTRUMENTS) else f"devices.{role}.rate_hz"


def load_problems(
    role: str,
    baud: int,
    loads: Iterable[LineLoad],
    depends_on: Sequence[str],
    baud_key: str = "baud",
) -> Iterator[Problem]:
    """Check that no line is too busy."""
    share = max((load.share for load in loads), default=0.0)
    if share > ALLOWED_LOAD:
        key, rate = f"devices.{role}.{baud_key}", rate_key(role)
        least = math.ceil(baud * share / ALLOWED_LOAD)
        allowed = f"at least {least}, {ALLOWED_LOAD:.0%} of its line time at most, or a lower {rate}"
        yield Problem(key, f"{baud}, busy for {share:.0%} of its time", allowed, (rate, *depends_on))


def valve_problems(valves: ValvesSection, pressures: str, dead_man: str, set_by: str) -> Iterator[Problem]:
    """Check that watched valves have pressure sensors, and that valves without a dead-man are accepted.

    Args:
        valves: section of the config.
        pressures: the key that sets its pressure sensors.
        dead_man: what switches the valves off when this program dies; "" for nothing.
        set_by: the key that sets the dead-man.
    """
    if valves.moves_within_s is not None and not valves.measures_pressures:
        found = f"{valves.moves_within_s:g}, and no pressure is measured"
        allowed = f"null, or {pressures} to watch it by"
        yield Problem("devices.valves.moves_within_s", found, allowed, (f"devices.valves.{pressures}",))
    if not dead_man and valves.no_dead_man != "accepted":
        yield Problem(
            f"devices.valves.{set_by}",
            "no dead-man: valves stay powered when this program dies",
            f"{set_by} set, if the device has it, or devices.valves.no_dead_man: accepted",
            ("devices.valves.no_dead_man",),
        )


def regulator_problems(
    moved: MovedRegulators[Any] | None, dead_man: str, set_by: str, *, fixed: bool, rig: RigSetup
) -> Iterator[Problem]:
    """Check that each regulator that is moved has a place, a range and a dead-man, and that no other has.

    Args:
        moved: their section of the config.
        dead_man: what closes them when this program dies; "" for nothing.
        set_by: the key that sets it.
        fixed: a regulator of the supply is set when the link is opened.
        rig: that they are part of.
    """
    key, names, setting = "devices.valves.regulators", rig.valves.regulators, "cylinders.regulators"
    if moved is None:
        if names:
            yield Problem(key, "null", f"a section with a place for each of {', '.join(names)}", (setting,))
        return
    yield from moved.problems(key, names, setting)
    if fixed and names:
        allowed = f"null: {key} has the regulators of the supply"
        yield Problem("devices.valves.regulator", "a section", allowed, (setting, key))
    if names and moved.highest_kPa < rig.supply_kPa:
        allowed = f"at least cylinders.supply_kPa, {rig.supply_kPa:g}"
        yield Problem(key, f"{moved.highest_kPa:g} kPa at full scale", allowed, ("cylinders.supply_kPa",))
    if names and not dead_man and moved.no_dead_man != "accepted":
        found = "no dead-man: regulators keep their pressure when this program dies"
        allowed = f"{set_by} set, if the device has it, or {key}.no_dead_man: accepted"
        yield Problem(key, found, allowed, (f"devices.valves.{set_by}", f"{key}.no_dead_man"))


def repeated(items: Iterable[T]) -> list[tuple[T, int]]:
    """Names that occur more than once, and how often."""
    return [(item, count) for item, count in Counter(items).items() if count > 1]
