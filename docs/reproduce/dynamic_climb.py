"""A rover on wheels of one size drives against a step or onto a plate and climbs it, or is stuck: its motion in time.

Drives and ground are those of `rig_configs/sim_step.yaml`, with the whole vehicle of `models.vehicle`: contact by a
law, friction that holds, drives with speed controllers. A climb ends when its outcome is certain.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from quasi_static_climb import BOGIES, LOAD_HEIGHT_M, LOAD_KG, Posture, first_angle

import hil
from hil.config.rig import Rig
from models.impact import effective_kinetic_energy
from models.kernels.bound import BoundArguments, call_at, unpack
from models.kernels.compiled import FloatArray, kernel
from models.plant.parameters import RigParameters
from models.rover import ParametricParameters
from models.terrain.profile import make_profile
from models.terrain.shapes import ended, faces_from
from models.vehicle import address_of_run, settle
from models.vehicle.loads import CubePayload
from models.vehicle.step import Scene

# More than any climb asks for, so that friction decides and not the drives [N m].
TORQUE_LIMIT_NM = 150.0
# Distance of the front wheels' rims to the obstacle's foot at the start [m], and how fast the drives start [m/s^2].
START_M, RAMP_MPS2 = 0.05, 1.0
STEP_S = 5e-4
# Between two looks at the pose [s].
LOOK_S = 0.05
# So long after front wheels touch the obstacle [s], a force on them is one of the hit.
HIT_S = 0.1
_SETTLE_S = 0.5
# A climb is stuck when its wheels on average advance, along the ground and upwards, by less than this [m] in this time
# [s]. It has overturned at this pitch [rad].
STUCK_M, STUCK_S, OVERTURNED_RAD = 0.01, 1.5, 1.2
# After so many times what it would take at its speed on level ground it is stuck in any case.
SLOWEST = 4.0
# Friction of the climbs whose energy and forces are noted; the least that is looked for, and the largest that is tried.
REFERENCE, LEAST, MOST = 0.8, 0.15, 1.6
HALVINGS = 6


class Obstacle(NamedTuple):
    """What is climbed, and how fast.

    Attributes:
        height_m: of its top over the ground.
        angle_rad: of its face to the ground.
        speed_mps: of the wheels' rims.
    """

    height_m: float
    angle_rad: float
    speed_mps: float


class Motion(NamedTuple):
    """What came of one climb.

    Attributes:
        climbed: whether all wheels stand on top.
        time_s: until that was certain, or that it is stuck.
        energy_J: work of the drives, where they drive.
        hit_N: largest force ahead on both front wheels in the first tenth of a second after they touch.
        peak_N: largest force on one wheel.
    """

    climbed: bool
    time_s: float
    energy_J: float
    hit_N: float
    peak_N: float


class Found(NamedTuple):
    """What the climbs of one posture over one obstacle gave.

    Attributes:
        friction: least coefficient with which it climbs, within 3 %; infinite: it does not with 1.6.
        too_little: the largest that was tried and is too little.
        climbs: simulated for this.
        T_c_J: effective kinetic energy at first contact.
        climbed, time_s, energy_J, hit_N, peak_N: of the climb with a friction of 0.8, see `Motion`.
    """

    friction: float
    too_little: float
    climbs: int
    T_c_J: float
    climbed: int
    time_s: float
    energy_J: float
    hit_N: float
    peak_N: float


@cache
def _nominal() -> RigParameters:
    return Rig(hil.load("sim_step", {"rover.type": "parametric"})).nominal


class Climber:
    """A rover in a posture before an obstacle, at rest.

    Args:
        posture: of the rover.
        obstacle: before it.
        step_s: of time, in which the motion is integrated.
    """

    def __init__(self, posture: Posture, obstacle: Obstacle, step_s: float = STEP_S) -> None:
        self.obstacle, self._step_s = obstacle, step_s
        corners = faces_from([(obstacle.height_m / math.sin(obstacle.angle_rad), obstacle.angle_rad)])
        nominal = _nominal()
        parameters = replace(
            nominal,
            rover=ParametricParameters(walking_angle=posture.walking_rad),
            grouser_heights=(0.0,) * len(nominal.grouser_heights),
            payload=CubePayload(LOAD_KG, (posture.load_x_m, 0.0, LOAD_HEIGHT_M)),
            ground=replace(nominal.ground, profile=make_profile(ended(corners, "plateau"), 1.0, 0.0)),
            drive=nominal.drive._replace(torque_limit=TORQUE_LIMIT_NM),
            start_distance=START_M,
            cylinder_joints=(),
        )
        self.rover, self.vehicle, self.state = parameters.assemble()
        profile = self.vehicle.compliant.profile if self.vehicle.compliant else None
        assert profile is not None
        self._friction, self._stretch, self._face = profile.profile.friction, profile.stretch, profile.face
        self._top_m = float(profile.profile.point[2, 0])
        for name in BOGIES:
            self.state.torque[5 + 1 + self.rover.tree_joint_names.index(name)] = posture.bogie_Nm
        self.state.drives.cut[:] = 0.0  # the axles are held
        settle(self.vehicle, self.state, _SETTLE_S)
        self.state.drives.wound[:] = 0.0
        self._start = [array.copy() for array in self._variable]
        self._scene = BoundArguments(Scene(self.vehicle, self.state))
        self._run = address_of_run(self.vehicle, self.state)
        self._radius_m = float(self.rover.chain.wheel_radius[0])
        # how far the base has driven when the front wheels touch
        before = distance_at_contact(obstacle, self._radius_m)
        self._touches_m = float(self.state.q[0]) + START_M + self._radius_m - before - 1e-3

    @property
    def _variable(self) -> tuple[NDArray[Any], ...]:
        state = self.state
        return state.q, state.v, state.drives.wound, self._stretch, self._face

    def climb(self, friction: float) -> Motion:
        """From rest, with that friction on ground and obstacle."""
        for array, at_rest in zip(self._variable, self._start, strict=True):
            array[...] = at_rest
        self._friction[:] = friction
        sums = np.array([0.0, 0.0, 0.0, HIT_S])
        places, ways = self._wheels(), list[float]()
        length = self._top_m - float(places[:, 0].min()) + self.obstacle.height_m
        speed, window = self.obstacle.speed_mps, round(STUCK_S / LOOK_S)
        t_s, climbed = 0.0, False
        while t_s < SLOWEST * length / speed:
            _drive(
                self._scene, self._run, round(LOOK_S / self._step_s), self._step_s, t_s, speed, self._touches_m, sums
            )
            t_s, places = t_s + LOOK_S, self._wheels()
            climbed = bool(
                places[:, 0].min() > self._top_m and places[:, 2].min() > self.obstacle.height_m + 0.9 * self._radius_m
            )
            x, y = self.state.q[3:5].tolist()
            if climbed or 1.0 - 2.0 * (x * x + y * y) < math.cos(OVERTURNED_RAD):
                break
            ways.append(float((places[:, 0] + places[:, 2]).mean()))
            if len(ways) > window and max(ways) - max(ways[:-window]) < STUCK_M:
                break
        return Motion(climbed, round(t_s, 3), *sums[:3].tolist())

    def _wheels(self) -> FloatArray:
        return self.rover.wheel_positions(self.rover.own_configuration(self.state.q))


def climbs_of(posture: Posture, obstacle: Obstacle) -> Found:
    """Climb with a friction of 0.8, and look for the least with which it succeeds, by halving in its logarithm."""
    climber = Climber(posture, obstacle)
    reference = climber.climb(REFERENCE)
    low, high, climbs = (LEAST, REFERENCE, 1) if reference.climbed else (REFERENCE, MOST, 2)
    if reference.climbed or climber.climb(MOST).climbed:
        for _ in range(HALVINGS):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if climber.climb(middle).climbed else (middle, high)
        climbs += HALVINGS
    else:
        low, high = MOST, math.inf
    return Found(high, low, climbs, energy_at_contact(posture, obstacle), int(reference.climbed), *reference[1:])


def distance_at_contact(obstacle: Obstacle, radius_m: float) -> float:
    """Of a wheel's axle before the obstacle's foot [m], when the wheel touches the face, or the edge if that is low."""
    angle = obstacle.angle_rad
    if obstacle.height_m < radius_m * (1.0 - math.cos(angle)):  # the edge is below the place where it would touch
        edge = obstacle.height_m / math.tan(angle)
        return radius_m * math.sin(first_angle(obstacle.height_m, radius_m)) - edge
    return radius_m * math.tan(0.5 * angle)


def energy_at_contact(posture: Posture, obstacle: Obstacle) -> float:
    """T_c [J] where the front wheels first touch: the face, or the edge of an upright one that is low."""
    rover = posture.rover()
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = obstacle.speed_mps
    radius = float(rover.chain.wheel_radius[0])
    angle = min(obstacle.angle_rad, first_angle(obstacle.height_m, radius))
    return effective_kinetic_energy(rover.mass_matrix(q), rover.impact_jacobian(q, angle), v)


@kernel
def _drive(
    scene: BoundArguments[Scene],
    run: int,
    steps: int,
    dt: float,
    t_s: float,
    speed: float,
    touches: float,
    sums: FloatArray,
) -> None:
    """Take so many steps, and bring `sums` up to date.

    These are work [J], largest force of the hit and of a wheel [N], and for how long a force counts as one of the hit.
    """
    vehicle, state, _ = unpack(scene)
    chain, drives, ground = vehicle.chain, state.drives, state.ground
    for step in range(steps):
        set_speed = min(RAMP_MPS2 * (t_s + step * dt), speed)
        for wheel in range(chain.wheel_radius.size):
            drives.set_speed[wheel] = set_speed / chain.wheel_radius[wheel]
        call_at(run, scene, 1, dt)
        for wheel in range(chain.wheel_radius.size):
            sums[0] += dt * max(drives.torque[wheel] * state.v[5 + chain.wheel_body[wheel]], 0.0)
            sums[2] = max(sums[2], math.hypot(ground.vertical[wheel], ground.pull[wheel]))
        if sums[3] > 0.0 and state.q[0] > touches:
            sums[1] = max(sums[1], -ground.pull[0] - ground.pull[1])  # the front wheels come first
            sums[3] -= dt
