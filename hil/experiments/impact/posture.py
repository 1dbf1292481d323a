"""The posture of driven legs with the least T_c at the hit (MacMahon 2016, 2.1): the body level, legs bent alike."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from hil.config.rig import Rig
from hil.control.motions.geometry import Floats, Geometry
from hil.control.motions.steering import reach
from hil.control.motions.timeline import PaceLimits, Programme, Timeline
from hil.messages.fault import Check
from models.impact import effective_kinetic_energy
from models.rover.rover import Rover

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
