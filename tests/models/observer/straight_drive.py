"""A filter beside a twin that drives straight, and readings of a rover that deviates from it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from models.observer.model import (
    ANGLES,
    POSE,
    TURN,
    VELOCITY,
    ImuModel,
    JointsModel,
    MotionModel,
    Observer,
    ProcessModel,
    SourceLimits,
    make_observer,
)
from models.observer.ring import begin, close_step, take_reading

STEP_NS = 5_000_000
JOINTS_COUNT = 3
SPEED_MPS = 0.07
# Noise of a place [m], of an attitude [rad], of a force [m/s^2], of a rate [rad/s], of a joint's angle [rad].
PLACE, ATTITUDE, FORCE, RATE_NOISE, ANGLE = 5e-4, 2e-3, 0.05, 0.003, 1e-3
POINT, UNIT = np.array([0.1, -0.05, 0.4]), np.array([0.05, 0.1, 0.3])


def turn(x: float, y: float, z: float) -> np.ndarray:
    """Matrix of a turn by yaw, pitch, roll."""
    from scipy.spatial.transform import Rotation

    return np.ascontiguousarray(Rotation.from_euler("ZYX", (z, y, x)).as_matrix())


def process(**changed: object) -> ProcessModel:
    """With everything uncertain."""
    uneven = np.array([1e-3, 2e-3, 2e-3, *[3e-3] * JOINTS_COUNT])
    usual = ProcessModel(
        slip=0.11, slip_walk=0.02, speed_walk=2e-3, follow=0.02, ripple=5e-3, half_track=0.4, fast_time=0.1,
        curvature_walk=0.01, crab_walk=1e-3, uneven_length=0.3, uneven=uneven, apart=1.5 * uneven, bias_walk=1e-2,
        bias=np.array([1e-3, 0.02]) ** 2, shaken=0.3, shaken_tilt=0.2, shaken_time=0.3,
    )  # fmt: skip
    return usual._replace(**changed)


START = np.array([0.02, 0.02, 0.0, 0.03, 0.02, 0.0, 0.05, 0.0, 0.01, 0.0, 0.0, 1e-3, 0.02, 0.02])


def limits(channels: int = 7, **changed: object) -> SourceLimits:
    from scipy.stats import chi2

    most = np.array([0.0, *(chi2.ppf(0.9999, n) for n in range(1, channels + 1))])
    usual = SourceLimits(most, np.full(channels + 1, 3.0), 1.5, 0.02, 10.0, np.full(3, 20.0), 0.005)
    return usual._replace(**changed)


def observer(*, nodes: int = 40, start: np.ndarray = START, **parts: object) -> Observer:
    """A filter with all instruments, whose axes are turned against those of rig and rover."""
    motion = MotionModel(
        POSE, POINT, np.array([0.3, -0.2, 0.1]), turn(0.2, -0.3, 0.7), turn(-0.4, 0.1, 1.2), np.array([1.0, 0.0, 0.0]),
        np.array([[-20.0, 20.0]] * 3), PLACE**2, ATTITUDE**2,
    )  # fmt: skip
    imu = ImuModel(turn(0.1, 0.2, -0.5), UNIT, FORCE**2, RATE_NOISE**2, 0.02**2, 1e-3**2, 5e-3, 9.81)
    joints = JointsModel(
        np.array([2, 0, 1], dtype=np.int64), np.array([0.1, -0.2, 0.3]), np.array([1.0, -1.0, 1.0]), ANGLE**2
    )
    given = {"process": process(), "motion": motion, "imu": imu, "joints": joints, "limits": limits()} | parts
    return make_observer(**given, apart=start, nodes=nodes)


def row_at(t_s: float, speed: float = SPEED_MPS, slip: float = 0.025) -> np.ndarray:
    """The twin at a time: straight ahead at a heading of 0.2, a little tilted."""
    row = np.zeros(ANGLES + JOINTS_COUNT)
    row[:3] = np.cos(0.2) * speed * t_s, np.sin(0.2) * speed * t_s, -0.006
    row[TURN + 2], row[TURN + 3] = np.sin(0.1), np.cos(0.1)
    row[VELOCITY], row[13], row[14] = speed, slip, slip
    row[ANGLES:] = 0.01, -0.02, 0.005
    return row


@dataclass
class Filter:
    """A filter that is stepped with a twin that drives straight."""

    observer: Observer = field(default_factory=observer)
    t_ns: int = 0

    def __post_init__(self) -> None:
        begin(self.observer, 0, row_at(0.0))

    def step(self, count: int = 1) -> None:
        """End so many steps."""
        for _ in range(count):
            self.t_ns += STEP_NS
            close_step(self.observer, self.t_ns, row_at(self.t_ns * 1e-9))

    def take(self, t_ns: int, role: int, values: np.ndarray) -> None:
        """Hand it a reading."""
        reading = np.zeros(self.observer.now.last.shape[1])
        reading[: len(values)] = values
        take_reading(self.observer, t_ns, role, reading)
