"""The best spread of a run against an independent solution: other equations, another solver, other code for the wheels.

Each wheel's force is `models.wheel.traction.moving_forces` at its speeds. Rover and forces meet in
`Rover.driven_dynamics`, which is checked against Pinocchio elsewhere: steady is where nothing accelerates. Pose, joint
angles and speeds are unknown; scipy.root finds them, and scipy.least_squares the torques.
"""

from __future__ import annotations

import json
import math
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.optimize import least_squares, root
from scipy.spatial.transform import Rotation

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from hil.config.rig import Rig, best_state, steady_drive
from models.statics import NoSteadyStateError, SteadyRover, spread_of, unevenness
from models.wheel import RigidWheel
from models.wheel.traction import moving_forces

pytestmark = pytest.mark.slow

GRAVITY = (0.0, 0.0, -9.81)
LEVER_Nm = 207e3 * math.pi / 4.0 * 0.0381**2 * 0.25  # of a cylinder at its full pressure
JOINTS = {"rcp": ("left_bogie", "right_bogie", "rear_bogie"), "rocker_bogie": ("left_bogie", "right_bogie")}


def drawn(number):
    """Overrides of one of the random cases, all drawn with its number."""
    chance = np.random.default_rng([20, number])
    rover = ("rcp", "rcp", "exomars_like", "rocker_bogie")[number % 4]
    joints = JOINTS.get(rover, JOINTS["rcp"])
    cylinders = [joint for joint in joints if chance.random() < 0.75] or list(joints[:1])
    payload = {"mass_kg": chance.uniform(0, 25), "x_m": chance.uniform(-0.1, 0.1), "y_m": chance.uniform(-0.1, 0.1)}
    drawbar = {"pull_N": chance.uniform(100, 400), "x_m": -0.6, "y_m": chance.uniform(-0.1, 0.1), "z_m": 0.1}
    return {
        "rover.type": rover,
        "cylinders.joints": cylinders,
        "rover.payload": {**payload, "z_m": 0.9},
        "rover.drawbar": drawbar,
        "ground.pitch_deg": chance.uniform(-4, 4),
        "ground.roll_deg": chance.uniform(-4, 4),
    }


def config_of(number):
    given = [f"{key}={json.dumps(value)}" for key, value in drawn(number).items()]
    exact = ("plant.spread.mass=0", "plant.spread.soil=0", "telemetry.endpoint=''")
    return load_config("sim_normal_force", [*exact, *given])


class Independent:
    """Steady states of a rig by its rover's accelerations."""

    def __init__(self, config):
        rig = nominal_rig(config)
        self.rover = rig.payload.on(rig.rover.build(locks=dict.fromkeys(rig.rover.rig_locks(), 0.0)))
        self.slip_speed = config.soil.slip_speed_mps
        mounts = self.rover.tree.wheels
        self.wheels = [np.array(RigidWheel(one.radius, one.width, rig.ground.soil).parameters) for one in mounts]
        self.radius = np.array([one.radius for one in mounts])
        self.speed = config.normal_force.speed_mps
        pitch, roll = rig.ground.pitch, rig.ground.roll
        self.slope = Rotation.from_euler("y", -pitch) * Rotation.from_euler("x", roll)
        self.pull_N, self.pull_m = np.array(rig.drawbar.force), np.array(rig.drawbar.place)
        names = list(self.rover.joint_names)
        self.spins = [6 + names.index(name) for name in self._axles()]
        self.bogies = [6 + k for k in range(len(names)) if 6 + k not in self.spins]
        self.cylinders = [6 + names.index(joint) for joint in config.layout.joints]
        self.start = np.array([-0.5, 0.0, 0.0, *[0.0] * len(self.bogies), 0.8, 0.0, 0.0])

    def _axles(self):
        """The joints that turn the wheels: their centres stay where they are."""
        rover, found = self.rover, []
        q = rover.neutral()
        for wheel in range(len(rover.wheel_names)):
            for k, name in enumerate(rover.joint_names):
                turned = q.copy()
                turned[7 + k] = 0.3
                still = np.allclose(rover.wheel_positions(turned), rover.wheel_positions(q), atol=1e-9)
                if still and name not in found and name.startswith(rover.wheel_names[wheel]):
                    found.append(name)
        assert len(found) == len(rover.wheel_names)
        return found

    def state(self, x, torque):
        """Accelerations that are left, and loads, for unknowns in units of cm, 0.1 rad and the rims' speed."""
        rover, bogies = self.rover, self.bogies
        turn = self.slope * Rotation.from_euler("YX", (0.1 * x[2], 0.1 * x[1]))
        ahead, left, normal = self.slope.as_matrix().T
        q, v = rover.neutral(), np.zeros(rover.nv)
        q[:3], q[3:7] = 0.01 * x[0] * normal, turn.as_quat()
        q[[1 + k for k in bogies]] = 0.1 * x[3 : 3 + len(bogies)]
        speeds = self.speed * x[3 + len(bogies) :]
        velocity, turning = speeds[0] * ahead + speeds[1] * left, speeds[2] * normal
        v[:3], v[3:6] = turn.inv().apply(velocity), turn.inv().apply(turning)
        v[self.spins] = self.speed / self.radius
        centres, wrenches, loads = rover.wheel_positions(q), [], []
        for p, radius, centre, axle in zip(self.wheels, self.radius, centres, self._axle_directions(q), strict=True):
            heading = np.cross(axle, normal)
            heading /= np.linalg.norm(heading)
            side = np.cross(normal, heading)
            at = velocity + np.cross(turning, centre - q[:3])
            f_x, f_y, f_z, moment = moving_forces(
                p, float(radius - centre @ normal), float(at @ heading), float(at @ side), self.speed, self.slip_speed
            )
            # F_n along the wheel's radius: it has no moment about the axle; the shear force has R F_t; F_y acts below
            tilt = self._tilt(p, float(radius - centre @ normal), float(at @ heading))
            down = -radius * (math.cos(tilt) * normal - math.sin(tilt) * heading)
            wrenches.append(
                [*(f_x * heading + f_y * side + f_z * normal), *(np.cross(down, f_y * side) - moment * side)]
            )
            loads.append(f_z)
        tau = np.zeros(rover.nv)
        tau[self.cylinders] = torque
        tau[:3] += self.pull_N
        tau[3:6] += np.cross(self.pull_m, self.pull_N)
        acceleration, _ = rover.driven_dynamics(q, v, tau, np.zeros(len(self.spins)), np.array(wrenches), GRAVITY)
        return acceleration[[*range(6), *bogies]], np.array(loads)

    def _tilt(self, p, sinkage, forward):
        from models.wheel.kernels import normal_resultants

        vertical, against = normal_resultants(p, sinkage)
        return math.atan2(against * forward / math.hypot(forward, self.slip_speed), vertical) if vertical else 0.0

    def _axle_directions(self, q):
        """Each wheel's axle in the world; only a rear bogie, which turns about the axis ahead, turns it in the base."""
        base, names = Rotation.from_quat(q[3:7]), list(self.rover.joint_names)
        rear = Rotation.from_euler("x", q[7 + names.index("rear_bogie")] if "rear_bogie" in names else 0.0)
        wheels = [rear if name.startswith("rear") else Rotation.identity() for name in self.rover.wheel_names]
        return [(base * one).apply((0.0, 1.0, 0.0)) for one in wheels]

    def loads(self, torque):
        """Wheel loads [N] in the steady state; None: there is none."""
        for start in (self.start, np.array([-0.5, *[0.0] * (2 + len(self.bogies)), 0.8, 0.0, 0.0])):
            found = root(lambda x: self.state(x, torque)[0], start, method="hybr", tol=1e-12)
            left, loads = self.state(found.x, torque)
            if np.abs(left).max() < 1e-6 and loads.min() > 0.0:
                self.start = found.x
                return loads
        return None


def best_of(config):
    """Torques with the least spread of the independent states, and that spread."""
    one = Independent(config)

    def apart(part):
        loads = one.loads(LEVER_Nm * part)
        return np.full(len(one.wheels), 10.0) if loads is None else loads / loads.mean() - 1.0

    found = least_squares(apart, np.zeros(len(one.cylinders)), bounds=(-1.0, 1.0), diff_step=1e-4, xtol=1e-6)
    return LEVER_Nm * found.x, float(np.sqrt(np.mean(found.fun**2)))


@pytest.mark.ci_cases("0", "1", "2")
@pytest.mark.parametrize("number", [*range(3), *(pytest.param(one, marks=pytest.mark.slow) for one in range(3, 20))])
def test_the_best_is_that_of_an_independent_solution(number):
    config = config_of(number)
    torque, spread = best_of(config)
    drive = steady_drive(Rig(config), nominal_rig(config))
    by_joint = dict(zip(config.layout.joints, torque, strict=True))
    same = drive.at([by_joint.get(joint, 0.0) for joint in drive.joint_names])
    assert same.load == pytest.approx(Independent(config).loads(torque), abs=0.1)
    assert float(spread_of(best_state(Rig(config), drive, unevenness).load)) == pytest.approx(spread, abs=0.002)


@pytest.mark.ci_cases("6-537")
@pytest.mark.parametrize(("roll_deg", "first_N"), [(0, 590), (3, 565), (6, 537), (12, 475)])
def test_the_pull_at_which_a_wheel_lifts_is_that_of_an_independent_solution(roll_deg, first_N):
    """The pull grows until the other solution ends. There the two differ by what a wheel that leans over slides."""
    config = load_config("sim_normal_force", [f"ground.roll_deg={roll_deg}", f"rover.drawbar.pull_N={first_N - 60}"])
    one, back = Independent(config), np.array((-1.0, 0.0, 0.0))
    pull_N, last_N = float(first_N - 60), 0.0
    while one.loads(np.zeros(3)) is not None:
        last_N = pull_N
        pull_N += 2.0 if pull_N < first_N - 2 else 0.25
        one.pull_N = pull_N * back
    rig = nominal_rig(config)
    rover, vehicle, _ = rig.assemble()
    for pull_N, stands in ((last_N - 2.0, True), (last_N + 2.0, False)):
        with nullcontext() if stands else pytest.raises(NoSteadyStateError):
            SteadyRover(rover, vehicle, one.speed, pull_N * rig.drawbar.backwards()).at()
