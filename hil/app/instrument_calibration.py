"""Alignment of the instruments of motion from the record of a run in which the rover stood, and drove straight."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.config.schema.ground_and_obstacle import GroundConfig, SoilConfig
from hil.config.schema.instruments import MotionConfig
from hil.signals.alignment import (
    EVEN_M,
    Floats,
    Number,
    Readings,
    StraightDrive,
    Travel,
    at_rest,
    levelled,
    new_readings,
    noise_of,
    relative_turn,
    rotation,
    sheared,
    standing,
    standing_attitude,
    straight_drive,
    turn_from_drive,
    unit,
    yaw_from_drive,
)
from hil.signals.calibration_fits import CalibrationError
from models.gravity import GRAVITY_MPS2

# A mean specific force further from gravity than this share is not that of a unit that stands.
OF_GRAVITY = 0.03
# A yaw that is known less exactly is not written [deg]: of an instrument outside, and of an inertial unit.
MOST_YAW_SD_DEG, MOST_IMU_YAW_SD_DEG = 1.0, 5.0
# A joint that was turned moves its reading by this share of the named angle at least.
TURNED_SHARE = 0.5


class Recorded(Protocol):
    """What is read of a record."""

    @property
    def tick(self) -> NDArray[np.void]:
        """Rows of `tick_dtype`."""


@dataclass
class Alignment:
    """What was found of an instrument.

    Attributes:
        found: numbers with their standard deviations, by name; the unit is in the name.
        sheet: numbers for its calibration file, by key.
        notes: what the data do not say, in sentences.
    """

    found: dict[str, Number] = field(default_factory=dict)
    sheet: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def turns(self, key: str, turns_deg: Sequence[float], sds_deg: Sequence[float]) -> None:
        """Note roll, pitch and yaw of a key."""
        for name, value, sd in zip(("roll", "pitch", "yaw"), turns_deg, sds_deg, strict=True):
            self.found[f"{key} {name} [deg]"] = Number(value, sd)
        self.sheet[key] = [round(value, 4) for value in turns_deg]


def calibrate_motion(record: Recorded, rig: Rig) -> Alignment:
    """Axes, origin, delay and noise of the instrument outside the rover.

    Args:
        record: of a run in which the rover stood, drove straight ahead and, for the delay, back.
        rig: of the run.

    Raises:
        CalibrationError: the record lacks what is needed.
    """
    config, section = rig.config, rig.config.motion
    if section is None:
        raise CalibrationError("the rig has no instrument of that role (section motion)")
    _level(config.ground)
    readings, wheels = new_readings(record.tick, "motion"), _wheels(record, config.wheel_radii_m)
    rest = at_rest(readings, _standing(record), "the measured point")
    places = 1 if section.measures == "distance" else 3
    drive = straight_drive(Readings(readings.t_s, readings.values[:, :places], readings.rows), wheels)
    result = Alignment()
    mean, noise = rest[:, :places].mean(axis=0), noise_of(rest[:, :places])
    start = np.array([0.0, 0.0, -_sinkage_m(record)])
    origin, point = np.array(section.origin_m), np.array(section.point_m)
    mean_sd = float(noise.mean()) / math.sqrt(len(rest))
    if section.measures == "distance":
        along = unit(section.direction)
        _distance(drive, along, result)
        origin = origin + ((start + point - origin) @ along - mean[0]) * along
        origin_sd = Number(mean_sd, 0.0)
    else:
        turn, turn_sd = _turn(drive, section, result)
        if section.measures == "pose":
            _body(rest, turn, turn_sd, result)
        origin = start + point - turn.apply(mean)
        origin_sd = Number(math.hypot(mean_sd, math.radians(turn_sd) * float(np.linalg.norm(mean))), 0.0)
    for axis, value in zip("xyz", origin, strict=True):
        result.found[f"origin_m {axis} [m]"] = Number(float(value), math.hypot(origin_sd.value, EVEN_M))
    result.sheet["origin_m"] = [round(float(value), 6) for value in origin]
    _delay(drive, wheels, section, config.ground, config.soil, result)
    result.found["noise_m [m]"] = Number(float(noise.mean()), float(noise.mean()) / math.sqrt(2 * len(rest)))
    result.sheet["noise_m"] = max(float(f"{noise.mean():.3g}"), 1e-6)
    result.found["scale against the wheels [1]"] = drive.scale
    return result


def _turn(drive: StraightDrive, section: MotionConfig, result: Alignment) -> tuple[Rotation, float]:
    turns_deg, sd_deg = turn_from_drive(drive.direction, section.turn_deg[0]), math.degrees(drive.cross_sd)
    if sd_deg > MOST_YAW_SD_DEG:
        raise CalibrationError(
            f"yaw to {sd_deg:.2g} deg, allowed: {MOST_YAW_SD_DEG:g}: drive further, or with a quieter instrument"
        )
    result.turns("turn_deg", turns_deg, (0.0, sd_deg, sd_deg))
    result.notes.append(
        f"turn_deg roll is that of the config, {section.turn_deg[0]:g}: a straight drive does not tell it"
    )
    return rotation(turns_deg), sd_deg


def _body(rest: Floats, turn: Rotation, turn_sd: float, result: Alignment) -> None:
    """Turn of the measured body on the rover: the body stands level and straight ahead at the start."""
    attitude, noise_deg = standing_attitude(rest[:, 3:7])
    sd = math.sqrt(noise_deg**2 / len(rest) + turn_sd**2 + _uneven_deg() ** 2)
    result.turns("body_turn_deg", relative_turn(turn, attitude), (sd, sd, sd))
    result.found["noise_deg [deg]"] = Number(noise_deg, noise_deg / math.sqrt(6 * len(rest)))
    result.sheet["noise_deg"] = max(float(f"{noise_deg:.3g}"), 1e-3)


def _distance(drive: StraightDrive, along: Floats, result: Alignment) -> None:
    sign = float(drive.direction[0])
    if sign * along[0] < 0.0:
        raise CalibrationError(
            f"the distance {'grew' if sign > 0 else 'fell'} while the rover drove ahead; motion.direction says that it "
            f"{'falls' if along[0] < 0 else 'grows'}: reverse motion.direction"
        )
    angle = math.degrees(math.acos(min(drive.scale.value, 1.0)))
    result.notes.append(
        f"angle between direction and path: {angle:.1f} deg, if no wheel slipped; slip looks the same: not written"
    )


def _delay(
    drive: StraightDrive,
    wheels: Travel,
    section: MotionConfig,
    ground: GroundConfig,
    soil: SoilConfig,
    result: Alignment,
) -> None:
    """The soil is sheared before the rover follows its wheels, which looks like a late reading."""
    fastest = float(np.abs(wheels.speed_mps).max())
    most_s = soil.shear_displacement_m / fastest if ground.on_soil else 0.0
    late_s = sheared(drive.late_s, 0.0, most_s)
    found = Number(section.delay_ms + 1e3 * late_s.value, 1e3 * late_s.sd)
    result.found["delay_ms [ms]"] = found
    if abs(found.value - section.delay_ms) < 2.0 * found.sd:
        result.notes.append(f"delay_ms stays {section.delay_ms:g}: what was found does not differ from it by 2 sd")
    elif found.value < 0.0:
        result.notes.append("delay_ms is not written: the readings seem to come before the wheels turn")
    else:
        result.sheet["delay_ms"] = round(found.value, 1)


def calibrate_imu(record: Recorded, rig: Rig) -> Alignment:
    """Turn of the inertial unit on the main body, and its noise.

    Args:
        record: of a run in which the rover stood at the start; for the yaw it drove straight as well.
        rig: of the run.

    Raises:
        CalibrationError: the record lacks what is needed.
    """
    config, section = rig.config, rig.config.imu
    if section is None:
        raise CalibrationError("the rig has no instrument of that role (section imu)")
    readings = new_readings(record.tick, "imu")
    rest = at_rest(readings, _standing(record), "the unit")
    result, mean, noise = Alignment(), rest.mean(axis=0), noise_of(rest)
    force, size = mean[:3], float(np.linalg.norm(mean[:3]))
    if abs(size - GRAVITY_MPS2) > OF_GRAVITY * GRAVITY_MPS2:
        raise CalibrationError(
            f"a mean specific force of {size:.3f} m/s^2 while it stood, allowed: {GRAVITY_MPS2:g} within "
            f"{OF_GRAVITY:.0%}: check its unit and its scale"
        )
    up = rotation((config.ground.roll_deg, -config.ground.pitch_deg, 0.0)).inv().apply([0.0, 0.0, 1.0])
    level_sd = math.degrees(
        math.hypot(float(noise[:3].mean()) / math.sqrt(len(rest)), section.bias_mps2) / GRAVITY_MPS2
    )
    level_sd, yaw, yaw_sd = math.hypot(level_sd, _uneven_deg()), section.turn_deg[2], 0.0
    try:
        found = yaw_from_drive(readings, force, levelled(force, up, 0.0), _wheels(record, config.wheel_radii_m))
        if found.sd > MOST_IMU_YAW_SD_DEG:
            raise CalibrationError(
                f"its accelerations give it to {found.sd:.2g} deg only: drive faster, and more often"
            )
        yaw, yaw_sd = found
    except CalibrationError as error:
        result.notes.append(f"turn_deg yaw is that of the config, {yaw:g}: {error}")
    result.turns("turn_deg", levelled(force, up, yaw), (level_sd, level_sd, yaw_sd))
    bias_sd = float(noise[:3].mean()) / math.sqrt(len(rest))
    result.found["gravity measured [m/s^2]"] = Number(size, math.hypot(bias_sd, section.bias_mps2))
    for axis, value, one in zip("xyz", mean[3:], noise[3:], strict=True):
        result.found[f"rate at rest {axis} [rad/s]"] = Number(float(value), float(one) / math.sqrt(len(rest)))
    for key, one in (("noise_mps2", float(noise[:3].mean())), ("noise_radps", float(noise[3:].mean()))):
        result.found[f"{key} [{'m/s^2' if key == 'noise_mps2' else 'rad/s'}]"] = Number(
            one, one / math.sqrt(6 * len(rest))
        )
        result.sheet[key] = float(f"{one:.3g}")
    return result


def calibrate_joints(
    record: Recorded, rig: Rig, turned: Recorded | None = None, angles_deg: Mapping[str, float] | None = None
) -> Alignment:
    """Zeros of the joints' encoders, their noise, and their sense.

    Args:
        record: of a run in which the rover stood on level ground.
        rig: of the run.
        turned: of a run in which it stood with some joints turned; None: the senses stay as the config says.
        angles_deg: about what angles these joints had then, by name [deg].

    Raises:
        CalibrationError: the records lack what is needed.
    """
    config = rig.config
    if config.joints is None:
        raise CalibrationError("the rig has no instrument of that role (section joints)")
    _level(config.ground)
    rest = np.degrees(at_rest(new_readings(record.tick, "joints"), _standing(record), "a joint"))
    zeros, noise = rest.mean(axis=0), noise_of(rest)
    names, wheels = [encoder.joint for encoder in config.encoders], rig.layout.wheels
    reversed_ = {encoder.joint: encoder.reversed for encoder in config.encoders}
    if turned is not None:
        with_angle = np.degrees(at_rest(new_readings(turned.tick, "joints"), _standing(turned), "a joint")).mean(axis=0)
        for name, angle in (angles_deg or {}).items():
            reversed_[name] = _falls(name, angle, float((with_angle - zeros)[names.index(name)]))
    result = Alignment()
    for name, zero, one in zip(names, zeros, noise, strict=True):
        if name in wheels:  # where a wheel stands is not known
            continue
        result.found[f"{name} zero_deg [deg]"] = Number(
            float(zero), math.hypot(float(one) / math.sqrt(len(rest)), _uneven_deg(), config.joints.bias_deg)
        )
    result.found["noise_deg [deg]"] = Number(float(noise.mean()), float(noise.mean()) / math.sqrt(2 * len(rest)))
    result.sheet["noise_deg"] = max(float(f"{noise.mean():.3g}"), 1e-4)
    result.sheet["encoders"] = [
        {
            "joint": name,
            "zero_deg": encoder.zero_deg if name in wheels else round(float(zero), 3),
            "reversed": reversed_[name],
        }
        for name, zero, encoder in zip(names, zeros, config.encoders, strict=True)
    ]
    if not angles_deg:
        result.notes.append("reversed is that of the config: a run with turned joints tells it (--turned, --angle)")
    return result


def _falls(name: str, angle_deg: float, change_deg: float) -> bool:
    """Whether the reading of a joint falls where its angle grows."""
    if not TURNED_SHARE * abs(angle_deg) <= abs(change_deg) <= abs(angle_deg) / TURNED_SHARE:
        raise CalibrationError(
            f"{name}: its reading changed by {change_deg:.2f} deg where --angle says {angle_deg:g}; allowed: half to "
            "twice of it, either way. Is it the encoder of that joint?"
        )
    return change_deg * angle_deg < 0.0


def _level(ground: GroundConfig) -> None:
    if ground.pitch_deg or ground.roll_deg or ground.scan is not None:
        raise CalibrationError("the rover stood on a slope or a scan (section ground), allowed: level ground")


def _uneven_deg() -> float:
    """Standard deviation of the attitude of rover or bogie on a bed as even as EVEN_M over half a metre [deg]."""
    return math.degrees(EVEN_M / 0.5)


def _standing(record: Recorded) -> list[Any]:
    return list(standing(record.tick["t_ns"] * 1e-9, record.tick["wheel_speed_radps"]))


def _sinkage_m(record: Recorded) -> float:
    """Mean sinkage of the wheels at the start, by the twin, which stands there on nominal soil [m]."""
    return float(np.nan_to_num(record.tick["sinkage_m"][0]).mean())


def _wheels(record: Recorded, wheel_radii_m: tuple[float, ...]) -> Travel:
    """Distance of the rims: mean of all wheels."""
    t_ns, first = np.unique(record.tick["drives_t_ns"], return_index=True)
    speed = (record.tick["wheel_speed_radps"][first] * wheel_radii_m).mean(axis=1)
    t_s = t_ns * 1e-9
    way = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(t_s))])
    return Travel(t_s, way, speed)
