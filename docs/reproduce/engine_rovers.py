"""ExoMars in MuJoCo and Bullet, with what acary_runs.py has: torques of the wheels in, speeds of body and rims out."""

from __future__ import annotations

import importlib
import math
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from acary_runs import FRICTION, RADIUS, RESTITUTION, ROVER, STEP_M, WHEELS, Drive
from numpy.typing import NDArray

from models.gravity import GRAVITY_MPS2

FloatArray = NDArray[np.float64]
AXLES = [f"{name}_drive" for name in ROVER.wheel_names]
STEP_X_M = 0.85  # where the step of 0.1 m begins, as in acary_runs.FACE
LEVEL, STEP = "level", "step"
GROUND_M, FAR_M = 0.5, 1000.0  # thickness and half the length of the boxes that are the ground


class Scene(NamedTuple):
    """Where the rover is.

    Attributes:
        ground: level, or with the step.
        friction: of wheels on it.
        slope: by which gravity is tilted back [rad].
        dt: step [s].
    """

    ground: str
    friction: float = FRICTION
    slope: float = 0.0
    dt: float = 0.002

    @property
    def gravity(self) -> FloatArray:
        """(3,) [m/s^2], world axes."""
        return -GRAVITY_MPS2 * np.array((math.sin(self.slope), 0.0, math.cos(self.slope)))

    @property
    def boxes(self) -> list[tuple[float, float, float]]:
        """Begin and end ahead, and top of each box of the ground [m]."""
        if self.ground == LEVEL:
            return [(-FAR_M, FAR_M, 0.0)]
        return [(-5.0, 6.0, 0.0), (STEP_X_M, 6.0, STEP_M)]


class Engine(Protocol):
    """A rover in an engine."""

    def lift(self, height: float) -> None:
        """Put it so far [m] above the ground."""

    def run(self, steps: int, torque: FloatArray) -> None:
        """Take steps with a torque of each wheel (wheels,) [N m]."""

    @property
    def body(self) -> FloatArray:
        """(6,) place of the main body's origin [m] and its velocity [m/s], world axes."""

    @property
    def rims(self) -> FloatArray:
        """(wheels,) speed of the rims against the bogies [m/s]."""


class Ours(Drive):
    """Nonsmooth contact (models.contact.nonsmooth)."""

    def __init__(self, scene: Scene) -> None:
        points = ((-FAR_M, 0.0), (FAR_M, 0.0)) if scene.ground == LEVEL else _profile()
        super().__init__(points, scene.friction, slope=scene.slope)
        self._dt = scene.dt

    def lift(self, height: float) -> None:
        """See `Engine`."""
        self.state.q[2] += height

    def run(self, steps: int, torque: FloatArray) -> None:  # type: ignore[override]
        """See `Engine`."""
        super().run(steps, self._dt, torque)

    @property
    def body(self) -> FloatArray:
        """See `Engine`; the body stays level enough for its axes to be the world's."""
        return np.concatenate((self.state.q[:3], self.state.v[:3]))

    @property
    def rims(self) -> FloatArray:
        """See `Engine`."""
        return np.asarray(self.state.v[WHEELS] * RADIUS)


def _profile() -> list[tuple[float, float]]:
    return [(-5.0, 0.0), (STEP_X_M, 0.0), (STEP_X_M, STEP_M), (6.0, STEP_M)]


class MuJoCo:
    """MuJoCo: soft contacts in a convex problem.

    Args:
        scene: where it is.
        hard: with elliptic cones, friction as stiff as the step allows and without slip afterwards, in place of what
            a file without options has.
        spheres: wheels as spheres, with one contact each, in place of cylinders.
    """

    def __init__(self, scene: Scene, *, hard: bool, spheres: bool = False) -> None:
        import mujoco

        self._mujoco = mujoco
        head, links = ROVER.urdf().split(">", 1)
        world = (
            '<mujoco><compiler fusestatic="true" discardvisual="true"/></mujoco><link name="world"/><joint '
            'name="flying" type="floating"><parent link="world"/><child link="main_body"/></joint>'
        )
        spec = mujoco.MjSpec.from_string(f"{head}>{world}{links}")
        spec.option.timestep, spec.option.gravity = scene.dt, scene.gravity
        if hard:
            spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 100.0
            spec.option.noslip_iterations, spec.option.tolerance = 20, 1e-12
            spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for geom in spec.geoms:
            geom.contype, geom.conaffinity, geom.condim = 1, 0, 3
            geom.friction = (scene.friction, 0.0, 0.0)
            if spheres:
                geom.type, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, (RADIUS, 0.0, 0.0)
            if hard:  # two steps are the shortest time that it takes
                geom.solref, geom.solimp = (2.0 * scene.dt, 1.0), (0.99, 0.999, 0.001, 0.5, 2.0)
        for begin, end, top in scene.boxes:
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX, contype=0, conaffinity=1, friction=(scene.friction, 0.0, 0.0),
                size=(0.5 * (end - begin), 10.0, GROUND_M), pos=(0.5 * (begin + end), 0.0, top - GROUND_M), priority=-1,
            )  # fmt: skip
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._axles = [int(self._model.joint(name).dofadr[0]) for name in AXLES]

    def lift(self, height: float) -> None:
        """See `Engine`."""
        self._data.qpos[2] += height

    def run(self, steps: int, torque: FloatArray) -> None:
        """See `Engine`."""
        self._data.qfrc_applied[self._axles] = torque
        self._mujoco.mj_step(self._model, self._data, nstep=steps)

    @property
    def body(self) -> FloatArray:
        """See `Engine`."""
        return np.concatenate((self._data.qpos[:3], self._data.qvel[:3]))

    @property
    def rims(self) -> FloatArray:
        """See `Engine`."""
        return np.asarray(self._data.qvel[self._axles] * RADIUS)


class Bullet:
    """Bullet: sequential impulses over Featherstone's rover.

    Args:
        scene: where it is.
        hard: with 500 iterations instead of 50, and none of the damping that Bullet adds to every body.
        spheres: as of `MuJoCo`.
    """

    def __init__(self, scene: Scene, *, hard: bool, spheres: bool = False) -> None:
        pybullet: Any = importlib.import_module("pybullet")
        self._bullet, self._client = pybullet, pybullet.connect(pybullet.DIRECT)
        self._to = {"physicsClientId": self._client}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rover.urdf"
            wheel, sphere = f'<cylinder radius="{RADIUS}" length="0.12" />', f'<sphere radius="{RADIUS}" />'
            text = ROVER.urdf()
            file.write_text(text.replace(wheel, sphere) if spheres else text, encoding="utf-8")
            flags = pybullet.URDF_USE_INERTIA_FROM_FILE
            self._rover = pybullet.loadURDF(str(file), flags=flags, **self._to)
        for begin, end, top in scene.boxes:
            half = (0.5 * (end - begin), 10.0, GROUND_M)
            shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, **self._to)
            place = (0.5 * (begin + end), 0.0, top - GROUND_M)
            box = pybullet.createMultiBody(0.0, shape, basePosition=place, **self._to)
            # friction and restitution of a pair are products
            pybullet.changeDynamics(box, -1, lateralFriction=1.0, restitution=1.0, **self._to)
        count = pybullet.getNumJoints(self._rover, **self._to)
        about = [pybullet.getJointInfo(self._rover, joint, **self._to) for joint in range(count)]
        number = {one[1].decode(): joint for joint, one in enumerate(about)}
        self._axles = [number[name] for name in AXLES]
        damping = {"linearDamping": 0.0, "angularDamping": 0.0} if hard else {}
        for link in range(-1, count):
            pybullet.changeDynamics(
                self._rover, link, lateralFriction=scene.friction, restitution=RESTITUTION, spinningFriction=0.0,
                rollingFriction=0.0, activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING, jointDamping=0.0,
                **damping, **self._to,
            )  # fmt: skip
        for joint in range(count):  # without this every joint has a motor that holds it
            pybullet.setJointMotorControl2(self._rover, joint, pybullet.VELOCITY_CONTROL, force=0.0, **self._to)
        pybullet.setGravity(*scene.gravity, **self._to)
        pybullet.setPhysicsEngineParameter(
            fixedTimeStep=scene.dt, numSolverIterations=500 if hard else 50, numSubSteps=0, enableConeFriction=0,
            solverResidualThreshold=1e-12 if hard else 1e-7, **self._to,
        )  # fmt: skip
        self._centre = self._body_centre()

    def lift(self, height: float) -> None:
        """See `Engine`."""
        place, turn = self._bullet.getBasePositionAndOrientation(self._rover, **self._to)
        self._bullet.resetBasePositionAndOrientation(self._rover, (*place[:2], place[2] + height), turn, **self._to)

    def _body_centre(self) -> FloatArray:
        place, _ = self._bullet.getBasePositionAndOrientation(self._rover, **self._to)
        return np.array(place)

    def run(self, steps: int, torque: FloatArray) -> None:
        """See `Engine`."""
        mode, values = self._bullet.TORQUE_CONTROL, np.broadcast_to(torque, len(self._axles)).tolist()
        for _ in range(steps):
            self._bullet.setJointMotorControlArray(self._rover, self._axles, mode, forces=values, **self._to)
            self._bullet.stepSimulation(**self._to)

    @property
    def body(self) -> FloatArray:
        """See `Engine`; of the main body's centre of mass, whose place counts from the start."""
        velocity, _ = self._bullet.getBaseVelocity(self._rover, **self._to)
        return np.concatenate((self._body_centre() - self._centre, velocity))

    @property
    def rims(self) -> FloatArray:
        """See `Engine`."""
        states = self._bullet.getJointStates(self._rover, self._axles, **self._to)
        return np.array([state[1] for state in states]) * RADIUS

    def __del__(self) -> None:
        self._bullet.disconnect(**self._to)
