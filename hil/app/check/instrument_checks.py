"""Compares what servos, instruments of motion, and the camera report without a run with the config."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise

from drivers.interfaces import DeviceError, Health, Source
from drivers.messages import CAMERA_TRIGGER, Reading
from drivers.registry import servos_driver
from hil.app.camera.capture import CameraError, GrantedFormat, granted, present
from hil.app.check.access import Access
from hil.app.check.device_checks import identity_checks, motor_checks, opened
from hil.config.rig import Rig
from hil.config.schema.devices import DevicesConfig
from hil.config.schema.sensors import CameraConfig
from hil.messages.fault import Check
from hil.messages.layout import ROLES
from hil.safety.instrument_monitor import readings_limits
from hil.safety.limits import Limit, joint_limits, limit_checks

# Readings are looked at for so long [ns].
LOOK_NS = 1_000_000_000
# Their rate may seem to differ by this share.
RATE_OFF = 0.1


def check_instrument(role: str, rig: Rig, access: Access) -> list[Check]:
    """What an instrument delivers at rest: rate, age, what is not measured, and its newest reading.

    Raises:
        DeviceError: it is silent or lost.
    """
    item = ROLES[role].says
    readings, health = seen_readings(access, access.device(role))
    if len(readings) < 2:
        found = f"{len(readings)} readings in {LOOK_NS * 1e-9:g} s"
        raise DeviceError(f"{health.device}: {found} ({health.detail}); is it connected, and does it measure?")
    section, channels = rig.config.instruments[role], rig.layout.parts(role)
    age, *_ = readings_limits(role, section.stale_ms, section.frozen_readings)
    age = age._replace(item=f"{item}: age", setting=f"{age.setting}; {role}.delay_ms is {section.delay_ms:g}")
    arrived_ms = statistics.median((reading.arrived_ns - reading.t_ns) * 1e-6 for reading in readings)
    # a run has the one before until the next one arrives
    age_ms = arrived_ms + max(later.t_ns - one.t_ns for one, later in pairwise(readings)) * 1e-6
    return [
        opened(health),
        *identity_checks(health),
        _rate(role, readings, section.rate_hz),
        age.check(age_ms, f"{arrived_ms:.1f} ms on arrival, up to {age_ms:.1f} ms before the next one"),
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
    """By the numbers and times of the first and last reading, so that lost ones count.

    A reading that comes late is replaced by the next one before it is read, as in a run: only the age tells how much.
    """
    first, last = readings[0], readings[-1]
    rate_hz = (last.sequence - first.sequence) * 1e9 / max(last.t_ns - first.t_ns, 1)
    lost = last.sequence - first.sequence + 1 - len(readings)
    found = f"{rate_hz:.1f} a second, {lost} of {len(readings) + lost} lost or replaced by the next one"
    key, item = f"{role}.rate_hz", f"{ROLES[role].says}: rate"
    row = Limit(item, "Hz", math.inf, key, f"set {key} to what the instrument delivers, or the instrument to {key}")
    return row.around(wanted_hz, RATE_OFF).check(rate_hz, found)


def _measured(role: str, readings: Sequence[Reading], channels: Sequence[str]) -> Check:
    """Values that are not measured, as of a body that is not tracked or an encoder that does not answer."""
    if not all(reading.live for reading in readings):
        to_do = "switch the instrument's program from its recording to live"
        return Check(f"{ROLES[role].says}: measured", False, "it plays a recording back", "live readings", to_do)
    missing = [sum(map(math.isnan, column)) for column in zip(*(reading.value for reading in readings), strict=True)]
    shares = [f"{name} in {count / len(readings):.0%}" for name, count in zip(channels, missing, strict=True) if count]
    ok = not any(map(math.isnan, readings[-1].value))
    found = (
        f"of {len(readings)} readings not measured: {', '.join(shares)}" if shares else "every value of every reading"
    )
    return Check(f"{ROLES[role].says}: measured", ok, found, "every value of the newest reading", ROLES[role].to_do)


def _in_words(role: str, reading: Reading, channels: Sequence[str]) -> str:
    """Values of a reading; angles of joints in degrees."""
    if role == "joints":
        return ", ".join(
            f"{name} {math.degrees(angle):.2f} deg" for name, angle in zip(channels, reading.value, strict=True)
        )
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(channels, reading.value, strict=True))


def check_servos(rig: Rig, access: Access) -> list[Check]:
    """Every controller, with a cut commanded, and its joints where they may be. Raises DeviceError."""
    config = rig.config
    sample, checks = motor_checks("servos", "angles", rig, access, config.servos.on_cut if config.servos else "")
    checks += limit_checks(joint_limits(rig, powered=True), sample)
    if config.rig != "simulated" and config.devices and (given := config.devices.servos):
        _, timeout_ms = servos_driver(given).timeout(given)
        checks.append(Check("dead-man of the servos", True, f"{timeout_ms:g} ms", "the controllers' own time-out"))
        if getattr(given, "start", ""):
            words = "devices.servos.start left out, once the joints were put at their start and confirmed"
            checks.append(Check("start of the joints", True, "confirmed: a lost counter is loaded", words))
    return checks


# A camera may differ so much from the rate that is asked for, as a share of it.
_RATE_OFF = 0.05
_GOES_ON = "a run goes on without it"


def check_camera(camera: CameraConfig | None, devices: DevicesConfig | None, rig: str) -> list[Check]:
    """Whether the camera gives what is asked for, and which outputs trigger it and others; no check: there is none.

    Args:
        camera: section of the config; None: there is none.
        devices: section of the config; None: the rig is simulated.
        rig: the same, simulated or not.
    """
    if camera is None:
        return []
    checks = [_device(camera)]
    valves = devices.valves if devices and rig != "simulated" else None
    named = getattr(valves, f"{CAMERA_TRIGGER}s", None)
    places = {f"{CAMERA_TRIGGER}s.{name}": place for name, place in named.given.items()} if named else {}
    for key, line in camera.lines.items():
        place = places.get(key, getattr(valves, CAMERA_TRIGGER, None))
        where = "only in the record (rig: simulated)" if valves is None else f"{valves.driver} output {place}"
        since = "from arming" if line.when == "armed" else "from the impact"
        until = "to the end of the run" if line.for_s is None else f"for {line.for_s:g} s"
        allowed = f"the output that the camera is wired to (devices.valves.{key}), off in Safe"
        item = f"camera trigger {key.partition('.')[2]}".rstrip()
        checks.append(Check(item, True, f"{where}, on {since} {until}", allowed))
    return checks


def _device(camera: CameraConfig) -> Check:
    asked = f"{camera.width_px} x {camera.height_px} at {camera.rate_hz:g} Hz"
    if not camera.device:
        return Check("camera", True, f"simulated, {asked}, drawn after the run", asked)
    if not camera.v4l2:
        return Check("camera", True, "no frames are taken here (camera.device: none)", "its own recorder has them")
    try:
        found = granted(camera.device, camera.rate_hz, (camera.width_px, camera.height_px))
    except CameraError as error:
        there = ", ".join(present()) or "none"
        to_do = f"video devices of this computer: {there}; {_GOES_ON}"
        return Check("camera", False, f"{camera.device}: {error}", f"a V4L2 device with JPEG frames, {asked}", to_do)
    to_do = f"set camera to what it gives (v4l2-ctl --list-formats-ext shows all); {_GOES_ON}"
    return Check("camera", _as_asked(camera, found), f"{camera.device}: {_trigger_in_words(found)}", asked, to_do)


def _as_asked(camera: CameraConfig, found: GrantedFormat) -> bool:
    size = (found.width_px, found.height_px) == (camera.width_px, camera.height_px)
    return size and (math.isnan(found.rate_hz) or abs(found.rate_hz / camera.rate_hz - 1.0) <= _RATE_OFF)


def _trigger_in_words(found: GrantedFormat) -> str:
    rate = "no stated rate" if math.isnan(found.rate_hz) else f"{found.rate_hz:.4g} Hz"
    return f"{found.name}, {found.pixel_format} {found.width_px} x {found.height_px}, {rate}"
