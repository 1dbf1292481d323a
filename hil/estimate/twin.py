"""The rover twin: the nominal model, run beside the rig from its measured wheel speeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hil.values import Estimate, Prediction, Samples
from models.actuators.drive import Drive
from models.bound import Bound, content
from models.compiled import FloatArray, kernel
from models.impact import pair_energy
from models.plant import RigParameters
from models.step import Motion, Vehicle, run

# The longest step that the twin takes; its stiffest part, a leg on the obstacle, swings some 30 times slower.
LONGEST_STEP_NS = 500_000
# A servo far stiffer than any drive: the twin's wheels turn as the rig's were measured to.
FOLLOW = Drive(
    gain=5000.0, integral_gain=0.0, torque_limit=math.inf, gear_friction=0.0, friction_speed=1.0,
    coast_damping=0.0, brake_damping=0.0, brakes_on_cut=0.0,
)  # fmt: skip


class _Twin(NamedTuple):
    """The model, scratch for Jacobian rows (2, nv), and what is read off: [T_c, time to impact, 0 if all is finite]."""

    vehicle: Vehicle
    motion: Motion
    rows: FloatArray
    out: FloatArray


class RoverTwin:
    """Predicts what the rig does not measure: normal forces, sinkage, slip, T_c and the time to impact.

    Where the obstacle stands is known to a few millimetres only, so until an impact is measured the twin drives on
    through it; at the impact the obstacle is put where the twin's wheels are.
    """

    def __init__(self, nominal: RigParameters) -> None:
        self._rover, vehicle, self._motion = nominal.build()
        self._obstacle = vehicle.obstacle
        self._hit = False
        self._motion.drives.cut[:] = 0.0
        self.energy_at_impact_J = math.nan
        self._twin = _Twin(
            vehicle._replace(drive=FOLLOW, obstacle=self._obstacle._replace(stiffness=0.0, damping=0.0)),
            self._motion,
            np.zeros((2, self._motion.v.size)),
            np.zeros(3),
        )
        self._bound = Bound(self._twin)
        # the same with the obstacle in the way, made before the run: at the impact only its place is filled in
        self._touching, other = (Bound(self._with_obstacle(foot)) for foot in (0.0, 1.0))
        self._foot = self._touching.slot(other)
        self._t_ns = 0

    def predict(self, samples: Samples, estimate: Estimate) -> Prediction:
        """Move the twin to the time of these samples."""
        motion, span = self._motion, samples.t_ns - self._t_ns
        motion.drives.set_speed[:] = estimate.wheel_speed_radps
        steps = max(-(-span // LONGEST_STEP_NS), 0)
        _predict(self._bound, steps, span * 1e-9 / max(steps, 1))
        self._t_ns = samples.t_ns
        energy, time_left, spoilt = self._twin.out.tolist()
        if estimate.impact_ns is not None and not self._hit:
            self._meet_obstacle(energy)
        normal = tuple(motion.ground.vertical.tolist())
        speed = float(motion.v[0])
        return Prediction(
            normal_force_N=normal,
            sinkage_m=tuple(motion.ground.sinkage.tolist()),
            slip=tuple(motion.ground.slip.tolist()),
            speed_mps=speed,
            effective_kinetic_energy_J=energy,
            time_to_impact_s=time_left,
            finite=math.isfinite(sum(normal) + speed + energy + spoilt),
        )

    def _meet_obstacle(self, energy_J: float) -> None:
        """The rig has hit: put the obstacle where the twin's nearer wheel is."""
        self._hit = True
        self.energy_at_impact_J = energy_J
        gap = float(self._motion.obstacle.gap.min())
        foot = self._obstacle.foot - gap / math.sin(self._obstacle.angle)
        self._touching.set_number(self._foot, foot)
        self._bound = self._touching

    def _with_obstacle(self, foot: float) -> _Twin:
        """The twin before an obstacle that stands there [m]."""
        return self._twin._replace(vehicle=self._twin.vehicle._replace(obstacle=self._obstacle._replace(foot=foot)))


@kernel
def _predict(twin: Bound[_Twin], steps: int, dt: float) -> None:
    vehicle, motion, rows, out = content(twin)
    run(vehicle, motion, steps, dt)
    out[0] = pair_energy(vehicle.chain, motion.q, motion.v, vehicle.obstacle.angle, rows, motion.work)
    out[1] = np.inf
    out[2] = 0.0
    for i in range(motion.q.size):
        out[2] += 0.0 * motion.q[i]  # NaN from whatever is not a finite number
    for wheel in range(2):
        approach = 0.0
        for a in range(motion.v.size):
            approach += rows[wheel, a] * motion.v[a]
        if approach > 1e-6:
            out[1] = min(out[1], max(motion.obstacle.gap[wheel], 0.0) / approach)
