"""Sensors and instruments of motion against the rest of the config; for which configs residuals have thresholds."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from drivers.device_sections import DaqSection
from drivers.section import SENSITIVITY
from hil.config.calibration_sheets import KEY
from hil.config.checks.device_cross_checks import PERIODS_IN_AGE
from hil.config.problems import Problem
from hil.config.schema.instruments import JointsConfig, MotionConfig
from hil.config.schema.sensors import DaqConfig
from hil.config.unchecked_config import UncheckedConfig, fingerprint
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
    """Encoders of joints and wheels that the rover has, one each."""
    turning = [name for name in config.layout.turning if name not in config.layout.slides]
    given = Counter(encoder.joint for encoder in joints.encoders)
    if not (turning or given):
        allowed = f"null: no joint of rover.type {config.rover.type} turns, but those of its wheels"
        yield Problem("joints", "a section", allowed, ("rover.type",))
        return
    for name, count in given.items():
        if name not in (*turning, *config.layout.wheels):
            wheels = ", ".join(config.layout.wheels)
            allowed = f"joints of the rover that turn: {', '.join(turning)}; or a wheel: {wheels or 'none'}"
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


LEAST_BETWEEN_LINKS_M = 0.01
# Links that bear less than this share of the force are no measurement of it.
LEAST_LINK_SHARE = 0.05
_CALIBRATION, _INPUTS = KEY, "devices.daq.inputs"


def sensor_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a rig without force sensors."""
    daq, device = config.daq, config.devices.daq if config.devices else None
    if daq is None:
        return []
    problems = [*_blocks(config, daq), *_swings(config, daq), *_places(config, daq)]
    if not any(problem.key == "daq.sinkage_m" for problem in problems):
        problems += _threshold(config, daq)
    if device is not None:
        problems += [*_inputs(daq, device), *_sheets(daq, device), *_droops(daq, device)]
    if config.rig == "real" and (device is None or device.calibration is None):
        problems += _uncalibrated(daq)
    return problems


def _blocks(config: UncheckedConfig, daq: DaqConfig) -> Iterator[Problem]:
    limits = config.limits
    samples = daq.rate_hz * daq.block_ms / 1000.0
    if abs(samples - round(samples)) > 1e-6:
        found = f"{daq.block_ms:g}, {samples:g} samples at {daq.rate_hz} Hz"
        yield Problem("daq.block_ms", found, "a whole number of samples of daq.rate_hz", ("daq.rate_hz",))
    if daq.block_ms * 2.0 > limits.daq_age_ms:
        allowed = f"at most {limits.daq_age_ms / 2.0:g}, half of limits.daq_age_ms, or good samples count as a drop-out"
        yield Problem("daq.block_ms", f"{daq.block_ms:g}", allowed, ("limits.daq_age_ms",))


def _swings(config: UncheckedConfig, daq: DaqConfig) -> Iterator[Problem]:
    """What swings in the simulated sensors takes a step a sample, in which its damping must not turn its speed round.

    The step is v' = (1 - 2 zeta omega dt) v + omega^2 dt (f - x), x' = x + dt v': with a factor below -1 it diverges.
    """
    vibration = config.plant.vibration
    swings = (
        ("daq.ring", daq.ring_hz, daq.ring_damping),
        ("plant.vibration.structure", vibration.structure_hz, vibration.structure_damping),
    )
    for key, frequency_hz, damping in swings:
        most = daq.rate_hz / (4.0 * math.pi * frequency_hz)
        if damping > most:
            allowed = f"at most {most:.3g} at {frequency_hz:g} Hz with {daq.rate_hz} samples a second"
            yield Problem(f"{key}_damping", f"{damping:g}", allowed, (f"{key}_hz", "daq.rate_hz"))


def _places(config: UncheckedConfig, daq: DaqConfig) -> Iterator[Problem]:
    gauges = config.loads.strain_gauges if config.loads else None
    links = [link for link in (daq.link, gauges.link if gauges else None) if link]
    if links:
        angle_deg = config.trial.angle_deg
        height_m = config.wheel_radius_m * (1.0 - math.cos(math.radians(angle_deg)))
        if daq.sinkage_m >= height_m:
            allowed = f"below {height_m:.4g}, the height of the contact at {angle_deg:g} degrees"
            yield Problem("daq.sinkage_m", f"{daq.sinkage_m:g}", allowed, ("trial.angle_deg",))
        elif (share := min(config.frame_part(link)[0] for link in links)) < LEAST_LINK_SHARE:
            found = f"{daq.friction:g}: at {angle_deg:g} degrees the links bear {share:.2g} of the force"
            allowed = f"a friction with which they bear at least {LEAST_LINK_SHARE:g} of it"
            yield Problem("daq.friction", found, allowed, ("trial.angle_deg",))
    if daq.link:
        (left, _), (right, _) = daq.places_m
        if left - right < LEAST_BETWEEN_LINKS_M:
            found = f"link_left at across_m {left:g}, link_right at {right:g}"
            allowed = f"link_left at least {LEAST_BETWEEN_LINKS_M:g} m to port of link_right"
            yield Problem("daq.channels", found, allowed, ("daq.layout",))
    if daq.layout != "triangle":
        return
    (x, y), (left_x, left_y), (right_x, right_y) = daq.places_m
    ax, ay, bx, by = left_x - x, left_y - y, right_x - x, right_y - y
    area = 0.5 * abs(ax * by - ay * bx)
    if area <= 1e-6:
        found = f"three sensors that span {area * 1e6:.3g} mm^2"
        allowed = "a triangle of more than 1 mm^2: across_m and up_m of the three must not lie on a line"
        yield Problem("daq.channels", found, allowed, ("daq.layout",))


def _threshold(config: UncheckedConfig, daq: DaqConfig) -> Iterator[Problem]:
    threshold, key = config.detector.threshold_N, "detector.threshold_N"
    device = config.devices.daq if config.devices else None
    both = zip(config.sensitivities_mVpN, config.plate_sensitivities_mVpN, strict=True)
    for channel, (sensitivity, on_plate) in zip(daq.channels, both, strict=True):
        full_N = daq.range_V / (on_plate / 1000.0)
        if threshold >= full_N:
            allowed = f"below {full_N:.4g}, where the channel {channel.name} is at daq.range_V"
            yield Problem(key, f"{threshold:g}", allowed, ("daq.range_V", "daq.channels", _CALIBRATION))
        sheet = device.sheet(channel.name) if device else None
        largest_N = sheet.range_N * sensitivity / on_plate if sheet and sheet.range_N is not None else math.inf
        if threshold >= largest_N:
            allowed = f"below {largest_N:g}, range_N of the sensor {channel.name}"
            yield Problem(key, f"{threshold:g}", allowed, (_CALIBRATION,))


def _inputs(daq: DaqConfig, device: DaqSection) -> Iterator[Problem]:
    wanted, depends_on = [channel.name for channel in daq.channels], ("daq.channels", "daq.layout")
    found = Counter(item.sensor for item in device.inputs)
    for name in found:
        if name not in wanted:
            allowed = f"sensors of daq.channels: {', '.join(wanted)}"
            yield Problem(_INPUTS, f"an input for {name}", allowed, depends_on)
        elif found[name] > 1:
            yield Problem(_INPUTS, f"{found[name]} inputs for {name}", "one for each sensor", depends_on)
    for name in wanted:
        if name not in found:
            yield Problem(_INPUTS, f"no input for {name}", "one for each sensor of daq.channels", depends_on)


def _droops(daq: DaqConfig, device: DaqSection) -> Iterator[Problem]:
    """An input that is coupled DC has no time constant: to invert one would add a force that is not there."""
    for channel in daq.channels:
        if device.droops(channel.name):
            continue
        allowed = f"null: its input is {device.kind(channel.name)}, which is coupled DC and does not droop"
        if channel.droop_s is not None:
            yield Problem("daq.channels", f"droop_s {channel.droop_s:g} of {channel.name}", allowed, (_INPUTS,))
        sheet = device.sheet(channel.name)
        if sheet is not None and sheet.droop_s is not None:
            yield Problem(f"{_CALIBRATION}.{channel.name}.droop_s", f"{sheet.droop_s:g}", allowed, (_INPUTS,))


def _sheets(daq: DaqConfig, device: DaqSection) -> Iterator[Problem]:
    """A sensor's calibration sheet must have the values that its signal conditioning needs."""
    if device.calibration is None:
        return
    depends_on = (_INPUTS, "daq.channels", "daq.layout")
    for channel in daq.channels:
        needed, sheet = SENSITIVITY[device.kind(channel.name)], device.sheet(channel.name)
        if sheet is None:
            allowed = f"its serial number and {needed}, from its calibration sheet"
            yield Problem(f"{_CALIBRATION}.{channel.name}", "nothing", allowed, depends_on)
        elif getattr(sheet, needed) is None:
            allowed = f"a number from its calibration sheet; its input is {device.kind(channel.name)}"
            yield Problem(f"{_CALIBRATION}.{channel.name}.{needed}", "nothing", allowed, depends_on)


def _uncalibrated(daq: DaqConfig) -> Iterator[Problem]:
    """On a real rig a default must not replace a sensor's sensitivity."""
    allowed = f"sensitivity_mVpN of each, from its calibration sheet, or a file with all of them in {_CALIBRATION}"
    for channel in daq.channels:
        if "sensitivity_mVpN" not in channel.model_fields_set:
            found = f"no sensitivity of {channel.name}"
            yield Problem("daq.channels", found, allowed, ("rig", _CALIBRATION))


def residual_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """A run is not stopped by thresholds of other runs, nor by none. At its end those of others judge nothing."""
    if config.residuals.reaction != "safe":
        return []
    why = "no residuals.calibration" if config.residuals.calibration is None else unlike(config)
    allowed = "mark, or thresholds of such runs: hil calibrate residuals RUN... --sheet FILE"
    depends = ("residuals.calibration",)
    return [Problem("residuals.reaction", f"safe with {why}", allowed, depends)] if why else []


# Of no influence on a good run: who and where, what is recorded and published, what ends it, and how it is judged.
_IGNORED = (
    "name", "seed", "realtime", "quality", "limits", "record", "telemetry", "operator", "devices",
    "residuals",
)  # fmt: skip
# How a simulated rig differs from its model: a real rig does so too, and nobody knows how.
_UNKNOWN = ("plant.spread", "plant.substep_us")
# A fault of a simulated sensor is what the residuals are to show.
_INJECTED = re.compile(r"daq\.channels\.\d+\.fault")
_SINGLE = "run"  # section of the keys that are in none
_DIGITS = 16


class NotAlikeError(ValueError):
    """Runs of different rigs or experiments: their thresholds cannot be measured together."""


def conditions(configs: Sequence[UncheckedConfig]) -> tuple[dict[str, str], dict[str, tuple[float, float]]]:
    """What good runs had in common, and between which values they differed.

    Args:
        configs: of the runs, one at least.

    Returns:
        The fingerprint of each section without the keys that differ; smallest and largest value of those.

    Raises:
        NotAlikeError: they differ in a key that is no number.
    """
    settings = [_settings(config) for config in configs]
    keys = {key for one in settings for key in one}
    between: dict[str, tuple[float, float]] = {}
    for key in sorted(keys):
        values = [one.get(key, _defaults().get(key)) for one in settings]
        if all(type(value) is type(values[0]) and value == values[0] for value in values):
            continue
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if len(numbers) < len(values):
            raise NotAlikeError(
                f"{key}: found {', '.join(sorted({str(value) for value in values}))}; allowed: one value"
            )
        between[key] = float(min(numbers)), float(max(numbers))
    return _fingerprints(settings[0], between), between


def unlike(config: UncheckedConfig) -> str:
    """Why the thresholds of a config do not hold for it, in words; empty: they do, or there are none."""
    sheet = config.residuals.calibration
    if sheet is None:
        return ""
    settings = _settings(config)
    for key, (low, high) in sheet.between.items():
        value = settings.get(key, _defaults().get(key))
        if not isinstance(value, int | float) or not low <= value <= high:
            return f"{key} is {value}, and {low:g} to {high:g} in the good runs"
    fingerprints = _fingerprints(settings, sheet.between)
    other = sorted(
        name for name in {*fingerprints, *sheet.sections} if fingerprints.get(name) != sheet.sections.get(name)
    )
    return f"{', '.join(other)}: not as in the good runs" if other else ""


def _settings(config: UncheckedConfig) -> dict[str, Any]:
    """Every key that a good run depends on, dotted, with its value, if that is not its default.

    A key that comes with a later version, and stays at its default, makes no difference.
    """
    raw = config.model_dump(mode="json", exclude_defaults=True, exclude=set(_IGNORED))
    values = {
        key: value
        for key, value in _leaves(raw)
        if not (value == {} and isinstance(_defaults().get(key), Mapping))  # a section with nothing in it but defaults
    }
    return {key: values[key] for key in values if not (key.startswith(_UNKNOWN) or _INJECTED.fullmatch(key))}


@cache
def _defaults() -> Mapping[str, Any]:
    """Every key of a config that says nothing, dotted, with its value; a section is one, too."""
    return dict(_leaves(UncheckedConfig(name="default", rig="simulated").model_dump(mode="json"), sections=True))


def _leaves(value: Any, path: str = "", *, sections: bool = False) -> Iterator[tuple[str, Any]]:
    """Every value by its key; an empty section or list is one, and with `sections` the others are, too."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    below = [
        pair for key, item in items for pair in _leaves(item, f"{path}.{key}" if path else str(key), sections=sections)
    ]
    yield from below
    if sections or not below:
        yield path, value


def _fingerprints(settings: Mapping[str, Any], without: Mapping[str, Any]) -> dict[str, str]:
    sections: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        if key not in without:
            section = key.partition(".")[0] if "." in key else _SINGLE
            sections.setdefault(section, {})[key] = value
    return {name: fingerprint(values)[:_DIGITS] for name, values in sections.items()}
