"""Compares what an instrument of motion reports with the config."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from contextlib import closing

from drivers.interfaces import DeviceError, Health, Source
from drivers.messages import Reading
from hil.app.check.access import Access
from hil.app.check.device_checks import identity_checks, opened
from hil.config.rig import Rig
from hil.messages.check import Check

# Readings are looked at for so long [ns].
LOOK_NS = 1_000_000_000
# Their rate may seem to differ by this share.
RATE_OFF = 0.1
_WORDS = {"motion": "measured from outside", "imu": "inertial readings", "joints": "joint angles"}
_TO_DO = {
    "motion": "bring what is measured into the instrument's view, and look whether the right one is set",
    "imu": "look at what the instrument reports",
    "joints": "look at cable, power and address of the encoder that is named",
}


def check_instrument(role: str, rig: Rig, access: Access) -> list[Check]:
    """What an instrument delivers at rest: rate, age, what is not measured, and its newest reading.

    Args:
        role: of the instrument.
        rig: of the config.
        access: to its devices.

    Raises:
        DeviceError: it is silent or lost.
    """
    item = _WORDS[role]
    readings, health = seen_readings(access, access.device(role))
    if len(readings) < 2:
        found = f"{len(readings)} readings in {LOOK_NS * 1e-9:g} s"
        raise DeviceError(f"{health.device}: {found} ({health.detail}); is it connected, and does it measure?")
    section, channels = rig.config.instruments[role], rig.layout.parts(role)
    age_ms = statistics.median((reading.arrived_ns - reading.t_ns) * 1e-6 for reading in readings)
    return [
        opened(health),
        *identity_checks(health),
        _rate(role, readings, section.rate_hz),
        Check(
            f"{item}: age",
            age_ms <= section.stale_ms,
            f"{age_ms:.1f} ms on arrival",
            f"at most {section.stale_ms:g} ms ({role}.stale_ms); {role}.delay_ms is {section.delay_ms:g}",
            f"look for what delays the readings, or raise {role}.stale_ms",
        ),
        _measured(role, readings, channels),
        Check(f"{item}: newest", True, _in_words(role, readings[-1], channels), "as it is; look whether it can be"),
    ]


def seen_readings(access: Access, instrument: Source[Reading]) -> tuple[list[Reading], Health]:
    """Readings of LOOK_NS, or of less if the second one takes longer, and the state of the link. Raises DeviceError."""
    readings: list[Reading] = []
    with closing(instrument):
        instrument.open()
        began_ns = t_ns = access.go_on()
        while t_ns - began_ns < LOOK_NS:
            if (reading := instrument.read(t_ns)) is not None:
                readings.append(reading)
            t_ns = access.go_on()
        return readings, instrument.health()


def _rate(role: str, readings: Sequence[Reading], wanted_hz: float) -> Check:
    """By the numbers and times of the first and last reading: those that were lost count, too."""
    first, last = readings[0], readings[-1]
    rate_hz = (last.sequence - first.sequence) * 1e9 / max(last.t_ns - first.t_ns, 1)
    lost = last.sequence - first.sequence + 1 - len(readings)
    found = f"{rate_hz:.1f} a second, {lost} of {len(readings) + lost} lost"
    key = f"{role}.rate_hz"
    return Check(
        f"{_WORDS[role]}: rate",
        abs(rate_hz / wanted_hz - 1.0) <= RATE_OFF,
        found,
        f"{wanted_hz:g} within {RATE_OFF:.0%} ({key})",
        f"set {key} to what the instrument delivers, or the instrument to {key}",
    )


def _measured(role: str, readings: Sequence[Reading], channels: Sequence[str]) -> Check:
    """Values that are not measured, as of a body that is not tracked or an encoder that does not answer."""
    if not all(reading.live for reading in readings):
        to_do = "switch the instrument's program from its recording to live"
        return Check(f"{_WORDS[role]}: measured", False, "it plays a recording back", "live readings", to_do)
    missing = [sum(map(math.isnan, column)) for column in zip(*(reading.value for reading in readings), strict=True)]
    shares = [f"{name} in {count / len(readings):.0%}" for name, count in zip(channels, missing, strict=True) if count]
    ok = not any(map(math.isnan, readings[-1].value))
    found = (
        f"of {len(readings)} readings not measured: {', '.join(shares)}" if shares else "every value of every reading"
    )
    return Check(f"{_WORDS[role]}: measured", ok, found, "every value of the newest reading", _TO_DO[role])


def _in_words(role: str, reading: Reading, channels: Sequence[str]) -> str:
    """Values of a reading; angles of joints in degrees."""
    if role == "joints":
        return ", ".join(
            f"{name} {math.degrees(angle):.2f} deg" for name, angle in zip(channels, reading.value, strict=True)
        )
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(channels, reading.value, strict=True))
