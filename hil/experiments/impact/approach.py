"""Before an impact: the posture of the rover, and how it comes near the obstacle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.config.schema.trial import PLACES
from hil.control.motions.geometry import Floats, Geometry
from hil.control.motions.steering import reach
from hil.control.motions.timeline import PaceLimits, Programme, Timeline
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.summary import finite
from hil.messages.fault import Check
from hil.messages.stages import SOURCE_STATES
from hil.recording.content import per_part
from hil.signals.impact import UncertainValue
from models.impact import effective_kinetic_energy
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.sensors.rear_frame import REAR_LINK_M, contact_lever, rear_link_angle

# Angles that are tried: so far apart [rad], and so far within a servo's range.
STEP_RAD = math.radians(3.0)
# Between two wheels of a side [m].
BETWEEN_M = 0.02
# Part of the servos' and drives' limits that the legs take on their way.
OF_LIMITS = 0.5


class Posture(NamedTuple):
    """A posture of the driven joints."""

    angles: Floats  #: (servos,) [rad]
    energy_J: float  #: T_c of both front wheels at the trial's speed, driven joints held
    start_J: float  #: the same with the angles of the start
    ahead_m: float  #: how far the front wheels come forward in the base frame


def least_energy_posture(rig: Rig) -> Posture:
    """The level posture of least T_c within the servos' ranges, legs of one axle alike.

    The body is level where all legs bend by one angle, each forward or backward: these are tried. Wheels of a side do
    not touch. Raises ValueError: a wheel without a driven walking joint.
    """
    config = rig.config
    rover, _, _ = rig.nominal.assemble()
    geometry = Geometry(rover.tree, config.layout.servos)
    joints = config.driven_joints
    start: Floats = np.array([joint.start_rad for joint in joints])
    low, high = (np.array([getattr(joint, name) for joint in joints]) for name in ("low_rad", "high_rad"))
    angle, speed_mps = math.radians(config.trial.angle_deg), config.trial.speed_mps
    found = start, _energy_J(rover, config.layout.servos, start, angle, speed_mps)
    first = found[1]
    axles = list(dict.fromkeys(_axle(name) for name in geometry.wheels))
    legs = _legs(geometry, start)
    for ways in itertools.product((-1.0, 1.0), repeat=len(axles)):
        for bent in np.arange(0.0, 0.5 * math.pi, STEP_RAD):
            angles = start.copy()
            for name, leg in zip(geometry.wheels, legs, strict=True):
                angles[leg.place] = leg.angle(bent, ways[axles.index(_axle(name))])
            if np.any(angles < low) or np.any(angles > high):
                break
            if _touch(geometry, angles):
                continue
            energy = _energy_J(rover, config.layout.servos, angles, angle, speed_mps)
            if energy < found[1]:
                found = angles, energy
    ahead = geometry.frames(found[0]).centre[0, :2, 0] - geometry.frames(start).centre[0, :2, 0]
    return Posture(found[0], found[1], first, float(ahead.max()))


def posture_timeline(rig: Rig, posture: Posture) -> Timeline:
    """How the legs come to a posture: the body stays where it is, and the wheels roll."""
    config = rig.config
    pace = PaceLimits(
        OF_LIMITS * min(joint.rate_radps for joint in config.driven_joints),
        OF_LIMITS * min(joint.acceleration_radps2 for joint in config.driven_joints),
        OF_LIMITS * config.limits.wheel_acceleration_radps2,
    )
    geometry = Geometry(config.rover_parameters().tree(), config.layout.servos)
    start = np.array([joint.start_rad for joint in config.driven_joints])
    programme = Programme(geometry, pace, start)
    programme.pose(posture.angles)
    return programme.timeline()


def posture_check(rig: Rig, posture: Posture) -> Check:
    """Room for the front wheels in front of the obstacle."""
    trial = rig.config.trial
    left_m = trial.start_distance_m - posture.ahead_m
    needed_m = 0.5 * trial.speed_mps * trial.ramp_s
    found = f"T_c {posture.energy_J:.3g} J in place of {posture.start_J:.3g} J, {left_m:.3f} m to the obstacle"
    allowed = f"at least {needed_m:.3f} m, for trial.ramp_s"
    return Check("posture", left_m > needed_m, found, allowed, "a larger trial.start_distance_m")


class _Leg(NamedTuple):
    """A leg of `length` [m]; place and sense of its joint; `zero`: how far back it hangs at joint angle 0 [rad]."""

    place: int
    sense: float
    length: float
    zero: float
    shortest: float

    def angle(self, bent: float, way: float) -> float:
        """Joint angle [rad] at which it is as high as the shortest leg bent by an angle [rad], back (1) or forward."""
        rise = self.shortest * (1.0 - math.cos(bent))
        return self.sense * (way * math.acos(1.0 - rise / self.length) - self.zero)


def _legs(geometry: Geometry, angles: Floats) -> list[_Leg]:
    """Of all wheels. Raises ValueError: one without a driven walking joint."""
    joints = [joint for joint in geometry.walking if joint is not None]
    if len(joints) < len(geometry.wheels):
        raise ValueError("a wheel without a driven walking joint, allowed: servos on the walking joints of all wheels")
    each = [reach(geometry, angles, wheel)[:2] for wheel in range(len(joints))]
    shortest = min(length for length, _ in each)
    return [
        _Leg(geometry.index(joint), geometry.sense(joint), *one, shortest)
        for joint, one in zip(joints, each, strict=True)
    ]


def _axle(wheel: str) -> str:
    return "_".join(word for word in wheel.split("_") if word not in ("left", "right"))


def _touch(geometry: Geometry, angles: Floats) -> bool:
    """Whether two wheels of a side meet."""
    centre, radius = geometry.frames(angles).centre[0], geometry.radius
    for one, other in itertools.combinations(range(len(radius)), 2):
        apart = centre[one] - centre[other]
        if (
            centre[one, 1] * centre[other, 1] > 0.0
            and np.hypot(apart[0], apart[2]) < radius[one] + radius[other] + BETWEEN_M
        ):
            return True
    return False


def _energy_J(rover: Rover, driven: tuple[str, ...], angles: Floats, inclination: float, speed_mps: float) -> float:
    """T_c of both front wheels, driven joints held at these angles."""
    q, v = rover.neutral(), np.zeros(rover.nv)
    places = [rover.joint_names.index(name) for name in driven]
    q[[7 + place for place in places]], v[0] = angles, speed_mps
    kept = np.setdiff1d(np.arange(rover.nv), [6 + place for place in places])
    mass, rows = rover.mass_matrix(q), rover.impact_jacobian(q, inclination)
    return effective_kinetic_energy(mass[np.ix_(kept, kept)], rows[:, kept], v[kept])


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
        if role in layout.correcting and state not in _CORRECTS
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
