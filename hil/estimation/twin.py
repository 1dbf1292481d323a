"""The rover twin: the nominal model, driven by the measured wheel speeds of the rig; and that of a space arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from hil.messages.stages import ByServo, ByWheel, Estimate, Prediction, Samples
from models.actuators.drive import Drive
from models.actuators.servo import JointServos
from models.contact.constraints import effective_kinetic_energy_on_ground
from models.contact.obstacle import Obstacle
from models.impact import pair_energy_on
from models.kernels.bound import BoundApart, BoundArguments, call_at, unpack
from models.kernels.compiled import FloatArray, IntArray, compile_for, kernel
from models.plant import RigParameters
from models.plant.grapple import Grapple
from models.rover.arm_names import GRAPPLE
from models.rover.locks import held_rover
from models.rover.reduction import Chain
from models.terrain.surface import Stand, level_configuration
from models.validity import TILT, VALIDITIES
from models.vehicle import Scene, VehicleState, address_of_run
from models.vehicle.invariants import Invariants, check_invariants, make_invariants

# The longest integration step of the twin, but on soil before an impact, where it is the plant's in a steady drive
# unless it is towed or walks, for then pull or posture changes from tick to tick. Its fastest oscillation, a leg on the
# obstacle, is about 30 times slower. Stiffer contacts need a shorter step (hil.config.integration).
LONGEST_STEP_NS = 500_000
# Places in the results of what comes before the wheels' values.
_T_C, _TIME_LEFT, _SPEED, _SPOILT, _OUTSIDE = range(5)
_BY_WHEEL = 7
_WAY, _GAP, _POSE, _JOINTS = 0, 1, 2, 9  # of the rover's motion, behind the wheels' values
# The twin's wheels have the measured speeds of the rig. A servo lags by torque over gain: 2.5e-7 rad/s at
# 250 N m. Soil and firm ground bound the traction, so noise of the speeds cannot make large forces.
FOLLOW = Drive(
    gain=1e9, integral_gain=0.0, torque_limit=math.inf, gear_friction=0.0, friction_speed=1.0,
    coast_damping=0.0, brake_damping=0.0, brakes_on_cut=0.0,
)  # fmt: skip
# Wheels that roll on rigid ground cannot have any speeds: noise of the measured ones contradicts the rolling. There the
# servo yields, so that the rover has their mean, and its integral takes the lag away, with a time of 0.05 s.
FOLLOW_ROLLING = FOLLOW._replace(gain=5000.0, integral_gain=1e5)
# The twin's driven joints turn to the measured angles: readings of a slow or noisy encoder are smoothed over
# 1/FOLLOW_ANGLE, by which the twin's angles are late. A servo gives by torque over both gains, 3e-7 rad at 60 N m.
FOLLOW_ANGLE, FOLLOW_GAIN = 100.0, 2e6


class _ImpactModel(NamedTuple):
    """What T_c and the time to an impact are calculated from: the rover, the obstacle's plane, and scratch (2, nv)."""

    chain: Chain
    angle: float
    stand: Stand
    servos: JointServos | None
    rows: FloatArray


class _Twin(NamedTuple):
    """What is stepped, by its address, its state without that of servos, what the models hold for, and the results.

    Rovers on all kinds of ground have the same types here, so that they share one kernel.

    The results: [T_c, time to impact, speed, 0 if all is finite, code of the range that was left, its value and limit],
    then normal force, sinkage and slip of each wheel; then the motion: way, gap, pose (7), and angle of each joint;
    where loads are controlled also gravity's direction (3), and torque and angle of each cylinder.
    """

    scene: BoundApart[Scene]
    state: VehicleState
    ahead: _ImpactModel | None
    invariants: Invariants
    cylinders: IntArray  # speeds of the joints on which cylinders push
    joints: IntArray  # places in q of the joints whose angles are results
    out: FloatArray


class RoverTwin:
    """Predicts quantities that the rig does not measure: normal forces, sinkage, slip, T_c and the time to impact.

    Its driven joints follow the measured angles; one that is not a number is left out. Its cylinders have the measured
    pressures of the rig; a pressure that is not measured (NaN) counts as vented. The
    drawbar pull that a load cell measures acts on the twin; without one the constant pull of the rig's drawbar does.
    Without an obstacle T_c is NaN and there is no time to impact.

    The position of the obstacle is known only to a few millimetres. So until an impact is measured the twin drives
    through it; at the impact the obstacle is placed at the twin's wheels.

    Args:
        nominal: the rig.
        joints: names of those whose angles are predicted.
        controls_loads: whether a prediction has what a controller of the wheels' loads needs.
        pull_unknown: something else pulls the rover, and nobody measures it: normal forces, sinkage, slip, speed and
            motion of each prediction are NaN.
        longest_step_s: of its integration, as far as its contacts ask for one [s].
        tilt_deg: largest tilt of the main body [deg].

    Attributes:
        standing_N: sum of the wheels' normal forces at rest, at the start.
        weight_N: along the ground's normal; 0 without ground.
        energy_at_impact_J: T_c at the impact; NaN before.
        energy_at_impact_sd_J: its standard deviation; NaN before, and where nothing measures the rover's motion.
    """

    def __init__(
        self,
        nominal: RigParameters,
        *,
        joints: Sequence[str] = (),
        controls_loads: bool = False,
        pull_unknown: bool = False,
        longest_step_s: float = math.inf,
        tilt_deg: float = VALIDITIES[TILT].limit,
    ) -> None:
        longest_ns = max(LONGEST_STEP_NS, 0 if nominal.towing or nominal.servos else nominal.step_lengths.steady)
        self._longest_ns = math.floor(min(longest_step_s * 1e9, longest_ns))
        self._rover, vehicle, self._state = nominal.build()
        self.standing_N = float(self._state.ground.vertical.sum())
        # the twin does not know to the millimetre where it hits, so its obstacle has no edges
        self._obstacle = None if vehicle.obstacle is None else vehicle.obstacle._replace(plate=None)
        self._hit = self._obstacle is None
        self._state.drives.cut[:] = 0.0
        self._driven = [servo.joint for servo in nominal.servos]
        self._back, self._pull_unknown = nominal.drawbar.backwards(), pull_unknown
        self._pressure_Pa: Sequence[Sequence[float]] = ()
        self._angles_rad: ByServo = ()
        self.energy_at_impact_J = self.energy_at_impact_sd_J = math.nan
        self._q_at_impact, self._v_at_impact = np.zeros_like(self._state.q), np.zeros_like(self._state.v)
        self._wheels = self._state.ground.vertical.size
        self._speeds_radps: ByWheel = ()
        self._set_speeds = Struct(f"{self._wheels}d").pack_into
        self._speeds_bytes = self._state.drives.set_speed.view(np.uint8).data
        self._take_speeds((0.0,) * self._wheels)
        ends = [_BY_WHEEL + count * self._wheels for count in range(4)]
        angles = ends[3] + _JOINTS
        motion = ends[3], slice(ends[3] + _POSE, angles), slice(angles, angles + len(joints))
        self._places = slice(*ends[:2]), slice(*ends[1:3]), slice(*ends[2:]), *motion, angles + len(joints)
        self._nothing = (math.nan,) * self._places[-1]
        passable = None if self._obstacle is None else self._obstacle._replace(stiffness=0.0, damping=0.0)
        rolling = vehicle.rigid is not None and vehicle.rigid.per_wheel > 1
        invariants = make_invariants(self._rover, vehicle, self._state, tilt_deg)
        self.weight_N = invariants.weight
        self._vehicle = vehicle._replace(
            drive=FOLLOW_ROLLING if rolling else FOLLOW, obstacle=passable, servos=_following(vehicle.servos)
        )
        rows, servos = np.zeros((2, self._state.v.size)), self._vehicle.servos
        self._twin = _Twin(
            BoundApart(Scene(self._vehicle, self._state)),
            self._state._replace(servos=None),
            passable and _ImpactModel(vehicle.chain, passable.angle, passable.stand, servos, rows),
            invariants,
            vehicle.cylinders.speed,
            np.array([7 + self._rover.tree_joint_names.index(joint) for joint in joints], dtype=np.int64),
            np.zeros(self._places[-1] + (3 + 2 * len(self._state.cylinders.torque)) * controls_loads),
        )
        self._bound = BoundArguments(self._twin)
        if self._obstacle is not None:
            # the same with the obstacle, made before the run: at the impact only its position is set
            self._placed, other = (BoundApart(self._before(self._obstacle, foot)) for foot in (0.0, 1.0))
            self._foot = self._placed.slot(other)
            self._touching = BoundArguments(self._twin._replace(scene=self._placed))
        self._t_ns = 0

    @cached_property
    def _run(self) -> int:
        return address_of_run(self._vehicle, self._state)

    def compile(self) -> None:
        """Compile what a prediction runs, without the steps of the vehicle."""
        _ = self._advance

    def warm_up(self) -> None:
        """Compile or load what a prediction runs, without moving the twin."""
        self._advance(self._bound, self._run, 0, 0.0)

    @cached_property
    def _advance(self) -> Callable[[BoundArguments[_Twin], int, int, float], None]:
        """`_predict` for the types of its arguments, which never change: to look at them in each tick takes 2 us."""
        if self._obstacle is not None and self._placed.kind is not self._twin.scene.kind:
            raise TypeError("the twin with and without its obstacle are of two types for numba")
        return compile_for(_predict, self._bound, 0, 0, 0.0, inlined=False)

    def predict(self, samples: Samples, estimate: Estimate) -> Prediction:
        """Advance the twin to the time of these samples."""
        span = samples.t_ns - self._t_ns
        if estimate.wheel_speed_radps is not self._speeds_radps:
            self._take_speeds(estimate.wheel_speed_radps)
        if samples.servos is not None and samples.servos.angle_rad is not self._angles_rad:
            self._take_angles(samples.servos.angle_rad)
        if samples.valves.pressure_Pa != self._pressure_Pa:
            self._take_pressures(samples.valves.pressure_Pa)
        if estimate.pull_N and math.isfinite(estimate.pull_N[0]):  # NaN before the first sample
            np.multiply(self._back, estimate.pull_N[0], out=self._state.pull)
        steps = max(-(-span // self._longest_ns), 0)
        self._advance(self._bound, self._run, steps, span * 1e-9 / max(steps, 1))
        self._t_ns = samples.t_ns
        out = tuple(self._twin.out.tolist())
        energy, time_left, speed, spoilt, outside, value, limit = out[:_BY_WHEEL]
        if estimate.impact_ns is not None and not self._hit:
            self._meet_obstacle(energy)
        loads, sinkage, slip, way, pose, joints, rest = self._places
        known = out
        if self._pull_unknown:
            known, speed = self._nothing, math.nan
        return Prediction(
            normal_force_N=known[loads],
            sinkage_m=known[sinkage],
            slip=known[slip],
            speed_mps=speed,
            effective_kinetic_energy_J=energy,
            time_to_impact_s=time_left,
            finite=spoilt == 0.0,
            outside=outside,
            outside_value=value,
            outside_limit=limit,
            way_m=known[way],
            gap_m=known[way + _GAP],
            pose=known[pose],
            joint_angle_rad=known[joints],
            servo_torque_Nm=self._torques(),
            gravity=out[rest : rest + 3],
            cylinder_torque_Nm=out[rest + 3 :: 2],
            cylinder_angle_rad=out[rest + 4 :: 2],
        )

    def energy_on_ground_at_impact_J(self) -> float:
        """T_c at the impact with the ground's active constraints [J], to be asked for after the run.

        The ground counts as rigid and even (MacMahon 2016, 5.4-5.5), whatever the rover stands on. NaN as long as
        `energy_at_impact_J` is, and on a height map, which is not even.
        """
        if self._obstacle is None or not math.isfinite(self.energy_at_impact_J):
            return math.nan
        rover, q, v = held_rover(self._rover, self._q_at_impact, self._v_at_impact, self._driven)
        stand = self._obstacle.stand
        if stand is not None:
            if stand[:, 0].any():
                return math.nan
            q = level_configuration(stand[0], q)
        return effective_kinetic_energy_on_ground(rover, q, v, self._obstacle.angle)[0]

    def _take_speeds(self, speeds_radps: ByWheel) -> None:
        """Use the measured speeds; others than finite ones are left out."""
        if math.isfinite(sum(speeds_radps)):
            self._speeds_radps = speeds_radps
            self._set_speeds(self._speeds_bytes, 0, *speeds_radps)  # assigning to the array takes twice as long

    def _take_angles(self, angles_rad: ByServo) -> None:
        """Use the measured angles of the driven joints; others than finite ones are left out."""
        if self._state.servos is not None and math.isfinite(sum(angles_rad)):
            self._angles_rad = angles_rad
            self._state.servos.angle[:] = angles_rad

    def _torques(self) -> ByServo:
        """On the driven joints [N m]; NaN while something that nobody measures pulls the rover."""
        servos = self._state.servos
        if servos is None:
            return ()
        return (math.nan,) * len(self._driven) if self._pull_unknown else tuple(servos.torque.tolist())

    def _take_pressures(self, pressure_Pa: Sequence[Sequence[float]]) -> None:
        """Use the measured gauge pressures: one row a cylinder, its (extend, retract) chambers."""
        self._pressure_Pa = pressure_Pa
        cylinders = self._state.cylinders.pressure
        for cylinder, chambers in enumerate(pressure_Pa[: len(cylinders)]):  # no array is made: this is in the tick
            for chamber, pressure in enumerate(chambers):
                cylinders[cylinder, chamber] = 0.0 if math.isnan(pressure) else pressure

    def _meet_obstacle(self, energy_J: float) -> None:
        """At the impact of the rig: place the obstacle at the twin's nearer wheel."""
        assert self._obstacle is not None
        self._hit, self._longest_ns = True, min(self._longest_ns, LONGEST_STEP_NS)
        self.energy_at_impact_J = energy_J
        self._q_at_impact[:], self._v_at_impact[:] = self._state.q, self._state.v
        gap = float(self._state.obstacle.gap.min())
        foot = self._obstacle.foot - gap / math.sin(self._obstacle.angle)
        self._placed.set_number(self._foot, foot)
        self._bound = self._touching

    def _before(self, obstacle: Obstacle, foot: float) -> Scene:
        """The twin in front of this obstacle, whose foot is at this position [m]."""
        return Scene(self._vehicle._replace(obstacle=obstacle._replace(foot=foot)), self._state)


def _following(servos: JointServos | None) -> JointServos | None:
    """Servos that turn the twin's joints to the measured angles, whatever it takes."""
    if servos is None:
        return None
    endless, none = np.full(servos.speed.size, math.inf), np.zeros(servos.speed.size)
    return servos._replace(
        position_gain=np.full_like(endless, FOLLOW_ANGLE),
        velocity_gain=np.full_like(endless, FOLLOW_GAIN),
        rate=endless,
        torque_limit=endless.copy(),
        gear_friction=none,
    )


@kernel
def _predict(twin: BoundArguments[_Twin], run: int, steps: int, dt: float) -> None:
    scene, state, ahead, invariants, cylinders, joints, out = unpack(twin)
    call_at(run, scene, steps, dt)
    ground, wheels = state.ground, state.ground.vertical.size
    motion = _BY_WHEEL + 3 * wheels
    out[motion + _WAY] += 0.5 * (out[_SPEED] + state.v[0]) * steps * dt
    out[motion + _GAP] = np.nan if ahead is None else min(state.obstacle.gap[0], state.obstacle.gap[1])
    for i in range(7):
        out[motion + _POSE + i] = state.q[i]
    for i in range(joints.size):
        out[motion + _JOINTS + i] = state.q[joints[i]]
    out[_T_C], out[_TIME_LEFT] = _impact_ahead(ahead, state)
    out[_SPEED] = state.v[0]
    check_invariants(invariants, steps * dt)
    for i in range(invariants.found.size):
        out[_OUTSIDE + i] = invariants.found[i]
    for wheel in range(wheels):
        out[_BY_WHEEL + wheel] = ground.vertical[wheel]
        out[_BY_WHEEL + wheels + wheel] = ground.sinkage[wheel]
        out[_BY_WHEEL + 2 * wheels + wheel] = ground.slip[wheel]
    if out.size > motion + _JOINTS + joints.size:
        _load_state(cylinders, state, out, motion + _JOINTS + joints.size)
    out[_SPOILT] = 0.0 * out[_SPEED]  # becomes NaN if any value is not finite
    for i in range(state.q.size):
        out[_SPOILT] += 0.0 * state.q[i]
    for wheel in range(wheels):
        out[_SPOILT] += 0.0 * ground.vertical[wheel]
    if ahead is not None:
        out[_SPOILT] += 0.0 * out[_T_C]


@kernel
def _load_state(cylinders: IntArray, state: VehicleState, out: FloatArray, first: int) -> None:
    """Direction of gravity in the base frame, then torque [N m] and joint angle [rad] of each cylinder."""
    x, y, z, w = state.q[3], state.q[4], state.q[5], state.q[6]
    out[first] = 2.0 * (y * w - x * z)
    out[first + 1] = -2.0 * (y * z + x * w)
    out[first + 2] = 2.0 * (x * x + y * y) - 1.0
    for which in range(cylinders.size):
        out[first + 3 + 2 * which] = state.cylinders.torque[which]
        out[first + 4 + 2 * which] = state.q[cylinders[which] + 1]


@kernel
def _impact_ahead(ahead: _ImpactModel | None, state: VehicleState) -> tuple[float, float]:
    """T_c [J] and the time to impact [s]."""
    if ahead is None:
        return np.nan, np.inf
    chain, angle, stand, servos, rows = ahead
    energy = pair_energy_on(chain, state.q, state.v, angle, stand, rows, state.work, servos)
    time_left = np.inf
    for wheel in range(2):
        approach = 0.0
        for a in range(state.v.size):
            approach += rows[wheel, a] * state.v[a]
        if approach > 1e-6:
            time_left = min(time_left, max(state.obstacle.gap[wheel], 0.0) / approach)
    return energy, time_left


# The energy of a capture is worked out once in so many ticks, and at the contact: it takes longer than the tick.
ENERGY_EVERY = 10


class CaptureTwin(RoverTwin):
    """Predicts where the payload is before the grapple, and the energy that a capture would take now.

    Spacecraft and booms move as the arm and the payload make them. Nothing measures the payload, so its place is that
    of the config until the contact, and the grapple closes where its measured way says so.

    Args: as `RoverTwin`; nominal.capture says how the payload comes.
    """

    def __init__(self, nominal: RigParameters, **settings: Any) -> None:
        super().__init__(nominal, **settings)
        if nominal.capture is None:
            raise ValueError("CaptureTwin: parameters have no capture, needed: one")
        self.grapple = Grapple(self._rover, self._vehicle, self._state, nominal.capture)
        self._drive = self._driven.index(GRAPPLE)
        self._ticks, self._gap, self._energy_J = 0, nominal.capture.gap, 0.0

    def warm_up(self) -> None:
        """Compile or load what a prediction runs, at the contact too, without moving the twin."""
        super().warm_up()
        self.grapple.warm_up()

    def predict(self, samples: Samples, estimate: Estimate) -> Prediction:
        """Advance the twin to the time of these samples."""
        prediction, grapple = super().predict(samples, estimate), self.grapple
        way = samples.servos.angle_rad[self._drive] if samples.servos is not None else 0.0
        grapple.update(samples.t_ns, way)  # a way that is not a number closes nothing
        gap, speed = grapple.gap, grapple.closing_speed
        if self._ticks % ENERGY_EVERY == 0 or (gap <= 0.0 < self._gap):
            self._energy_J = 0.0 if grapple.held_ns is not None else grapple.energy_of_capture()
        self._ticks, self._gap = self._ticks + 1, gap
        return replace(
            prediction,
            gap_m=gap,
            time_to_impact_s=max(gap, 0.0) / speed if speed > 1e-6 else float("inf"),
            effective_kinetic_energy_J=self._energy_J,
        )
