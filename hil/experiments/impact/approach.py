"""How the rover came to the obstacle, by its instruments of motion, and how the obstacle's frame stands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from hil.config.schema.trial import PLACES
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.summary import finite
from hil.messages.stages import SOURCE_STATES
from hil.recording.content import per_part
from hil.signals.impact import UncertainValue
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.sensors.rear_frame import REAR_LINK_M, contact_lever, rear_link_angle

# The obstacle that has the sensors stands before this wheel.
WHEEL = "front_right"
# States of a source that corrects the observer: a single reading may be rejected.
_CORRECTS = ("used", "rejected")
_STEP = 1e-4  # of the differences for the standard deviations [m, rad]
KEYS = (
    "impact_speed_sd_mps",
    "approach_angle_deg",
    "approach_angle_sd_deg",
    "hit_across_m",
    "hit_across_sd_m",
    "hit_height_m",
    "hit_height_sd_m",
    "judged_without",
)


class Approach(NamedTuple):
    """State of the observer in the last tick before the impact; the rules judge by it."""

    speed_sd_mps: float  #: standard deviation of the rover's speed
    measured: bool  #: the rover is measured from outside, so that its speed is
    #: between heading and the obstacle's normal, seen from above; positive: the rover points to port. None, as the next
    #: two: no instrument says it
    angle_rad: UncertainValue | None
    #: how far to port of where it hits if all is straight the wheel before the sensors was
    across_m: UncertainValue | None
    #: of that wheel's point of contact over the rig's origin, of a smooth wheel on the plate
    height_m: UncertainValue | None
    without: tuple[str, ...]  #: sources that did not correct the observer then, in words


def measured_approach(run: FinishedRun) -> Approach | None:
    """The approach of a trial; None: the rig has no instruments of motion, or there was no impact."""
    impact_ns, layout, config = run.cycle.tick_logger.impact_ns, run.config.layout, run.config
    if impact_ns is None or not layout.instruments:
        return None
    before = run.ticks[run.ticks["t_ns"] < impact_ns]
    if not len(before):
        return None
    row = before[-1]
    states = [SOURCE_STATES[code] for code in np.atleast_1d(row["source"]).tolist()]
    without = tuple(
        f"{role}: {state.replace('_', ' ')} at the impact"
        for role, state in zip(layout.instruments, states, strict=True)
        if state not in _CORRECTS
    )
    motion = config.motion
    measured = motion is not None and states[layout.instruments.index("motion")] in _CORRECTS
    place: dict[str, UncertainValue] = {}
    if measured and motion is not None and motion.measures in PLACES:
        place = _place(run.rig.nominal.make_rover(), layout.turning, row, math.radians(config.trial.angle_deg))
    return Approach(
        float(row["speed_sd_mps"]),
        measured,
        place.get("angle"),
        place.get("across"),
        place.get("height"),
        without,
    )


def approach_keys(approach: Approach | None) -> Summary:
    """`KEYS` of the summary; None without instruments, and what no instrument says."""
    if approach is None:
        return dict.fromkeys(KEYS)
    angle, across, height = approach.angle_rad, approach.across_m, approach.height_m
    values: list[Any] = [finite(approach.speed_sd_mps)]
    for found, scale in ((angle, math.degrees(1.0)), (across, 1.0), (height, 1.0)):
        values += [None, None] if found is None else [finite(scale * one) for one in found]
    return dict(zip(KEYS, (*values, list(approach.without)), strict=True))


def _place(rover: Rover, turning: Sequence[str], row: np.void, angle: float) -> dict[str, UncertainValue]:
    """Heading, and place of the wheel across and of its contact, from pose and joint angles of a tick."""
    wheel = rover.wheel_names.index(WHEEL)
    neutral = rover.neutral()
    straight = float(rover.wheel_positions(neutral)[wheel, 1])
    joints = [7 + rover.tree_joint_names.index(name) for name in turning]
    radius = rover.tree.wheels[wheel].radius
    pose, angles = np.array(row["pose"], float), per_part(row, "joint_angle_rad").astype(float)
    pose[3:] /= np.linalg.norm(pose[3:])  # it is recorded in single precision

    def found(off: FloatArray) -> FloatArray:
        """Heading [rad], across and height [m] at these offsets: place, turns about the base's axes, joints."""
        attitude = Rotation.from_quat(pose[3:]) * Rotation.from_rotvec(off[3:6])
        q = rover.tree_configuration(neutral)
        q[:3], q[3:7], q[joints] = pose[:3] + off[:3], attitude.as_quat(), angles + off[6:]
        centre = rover.wheel_positions(rover.own_configuration(q))[wheel]
        forward = attitude.apply((1.0, 0.0, 0.0))
        return np.array(
            [math.atan2(forward[1], forward[0]), centre[1] - straight, centre[2] - radius * math.cos(angle)]
        )

    sd = np.concatenate([np.array(row["pose_sd"], float), per_part(row, "joint_angle_sd_rad").astype(float)])
    values, spread = found(np.zeros(sd.size)), np.sqrt(_variance(found, sd))
    names = "angle", "across", "height"
    return {name: UncertainValue(*pair) for name, *pair in zip(names, values.tolist(), spread.tolist(), strict=True)}


def _variance(found: Callable[[FloatArray], FloatArray], sd: FloatArray) -> FloatArray:
    """Of each value, with the errors of place, attitude and joints taken as independent."""
    ways = _STEP * np.eye(sd.size)
    slopes = np.array([(found(way) - found(-way)) / (2.0 * _STEP) for way in ways])
    total: FloatArray = ((slopes * sd[:, None]) ** 2).sum(axis=0)
    return total


# Under this angle a wheel meets the plate so near the ground that a rover driven into it cannot be measured (MacMahon
# 2016, 6.2.3 and 6.2.4) [deg]. Computing such an impact is fine; arming a real rig for it is not.
LEAST_ANGLE_DEG = 40.0
LARGEST_ANGLE_DEG = 90.0


class _FrameSettings(NamedTuple):
    """What to set on the frame for an angle."""

    bottom_link_m: float  #: L_3, the length to set between the feet of the two links [m]
    rear_angle_deg: float  #: alpha, of the rear link to the ground [deg]
    contact_height_m: float  #: d, of the contact point of a smooth wheel over the ground [m]
    along_plate_m: float  #: the same point, from the foot of the plate along the plate [m]


def frame_settings(angle_deg: float, wheel_radius_m: float) -> _FrameSettings:
    """Frame and sensors of the obstacle at an angle.

    The three links are a triangle with the plate's angle beta opposite the rear link L_2, alpha opposite the front link
    L_1 and theta opposite the bottom link L_3.

    Args:
        angle_deg: beta, of the plate to the ground [deg], above 0 and at most 90.
        wheel_radius_m: rolling radius of the wheel [m].
    """
    beta = math.radians(angle_deg)
    alpha, along_m = rear_link_angle(beta), contact_lever(beta, wheel_radius_m)
    bottom_link_m = REAR_LINK_M * math.sin(alpha + beta) / math.sin(beta)
    return _FrameSettings(bottom_link_m, math.degrees(alpha), along_m * math.sin(beta), along_m)
