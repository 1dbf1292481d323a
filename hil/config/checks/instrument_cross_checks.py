"""Cross-checks of the instruments of motion of a config."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from hil.config.checks.device_cross_checks import PERIODS_IN_AGE
from hil.config.problems import Problem
from hil.config.schema.instruments import JointsConfig, MotionConfig
from hil.config.unchecked_config import UncheckedConfig
from hil.messages.layout import INSTRUMENTS

# Equal readings in a row: fewer than the first come by chance, and what takes longer than the second [s] is no watch.
LEAST_FROZEN, LONGEST_FROZEN_S = 3, 60.0


def instrument_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a rig whose motion is not measured, nor has to be."""
    motion = [] if config.motion is None else [*_direction(config.motion), *_bounds(config.motion)]
    joints = [] if config.joints is None else _joints(config, config.joints)
    return [*_times(config), *motion, *joints, *_needed(config), *_without_section(config)]


def _times(config: UncheckedConfig) -> Iterator[Problem]:
    """A good reading is neither lost, stale nor frozen."""
    for role, one in config.instruments.items():
        rate, loop_hz = f"{role}.rate_hz", config.loop.rate_hz
        if one.rate_hz > loop_hz:
            allowed = f"at most {loop_hz}, loop.rate_hz: a tick takes one reading of an instrument"
            yield Problem(rate, f"{one.rate_hz:g}", allowed, ("loop.rate_hz",))
        least_ms = PERIODS_IN_AGE * 1e3 / one.rate_hz + one.delay_ms
        if one.stale_ms < least_ms:
            allowed = f"at least {least_ms:.4g}, {PERIODS_IN_AGE:g} periods of {rate} and {role}.delay_ms"
            more = "or good readings count as stale"
            yield Problem(f"{role}.stale_ms", f"{one.stale_ms:g}", f"{allowed}, {more}", (rate, f"{role}.delay_ms"))
        most = max(round(LONGEST_FROZEN_S * one.rate_hz), LEAST_FROZEN)
        if one.frozen_readings and not LEAST_FROZEN <= one.frozen_readings <= most:
            allowed = f"{LEAST_FROZEN} to {most}, {LONGEST_FROZEN_S:g} s of {rate}, or 0: not checked"
            yield Problem(f"{role}.frozen_readings", f"{one.frozen_readings}", allowed, (rate,))


def _direction(motion: MotionConfig) -> Iterator[Problem]:
    if not math.hypot(*motion.direction) > 0.0:
        yield Problem("motion.direction", "[0, 0, 0]", "a way: one of the three numbers is not 0")


def _bounds(motion: MotionConfig) -> Iterator[Problem]:
    """A room that the rover starts in; there its axes are those of the rig."""
    for axis, (least, most), at_m in zip("xyz", motion.room_m, motion.point_m, strict=True):
        found = f"{axis} from {least:g} to {most:g}"
        if not least < most:
            yield Problem("motion.room_m", found, "for each axis a smaller number, then a larger one")
        elif not least <= at_m <= most:
            allowed = f"a room with the start of the measured point in it: {axis} = {at_m:g} (motion.point_m)"
            yield Problem("motion.room_m", found, allowed, ("motion.point_m",))


def _joints(config: UncheckedConfig, joints: JointsConfig) -> Iterator[Problem]:
    """Encoders of joints that the rover has, one each."""
    turning = [name for name in config.layout.turning if name not in config.layout.slides]
    given = Counter(encoder.joint for encoder in joints.encoders)
    if not turning:
        allowed = f"null: no joint of rover.type {config.rover.type} turns, but those of its wheels"
        yield Problem("joints", "a section", allowed, ("rover.type",))
        return
    for name, count in given.items():
        if name not in turning:
            allowed = f"joints of the rover that turn: {', '.join(turning)}"
            yield Problem("joints.encoders", f"the joint {name}", allowed, ("rover.type",))
        elif count > 1:
            yield Problem("joints.encoders", f"the joint {name} {count} times", "each joint once")


def _needed(config: UncheckedConfig) -> Iterator[Problem]:
    for role in config.needed_instruments:
        if role not in config.instruments:
            allowed = f"a section: the experiment {config.experiment} needs this instrument with rig: {config.rig}"
            yield Problem(role, "null", allowed, ("experiment", "rig", config.section_path))


def _without_section(config: UncheckedConfig) -> Iterator[Problem]:
    """A device that measures nothing."""
    for role in INSTRUMENTS:
        device = getattr(config.devices, role, None)
        if device is not None and role not in config.instruments:
            allowed = f"null, or left out: with {role}: null the rig has no such instrument"
            yield Problem(f"devices.{role}", f"a section, {device.driver}", allowed, (role,))
