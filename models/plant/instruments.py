"""Instruments of motion on a plant: what they read of its state, with their noise and their faults."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

from models.gravity import EARTH_GRAVITY
from models.kernels.compiled import FloatArray
from models.rover.rover import Rover
from models.rover.ties import Vector
from models.vehicle import VehicleState

Turns = tuple[float, float, float]
Number = tuple[int, int, tuple[float, ...]]  # of a reading, time of measurement [ns], values
# Readings that an instrument keeps for those who read it later.
KEPT = 64
_NO_TURN: Turns = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class InstrumentParameters:
    """An instrument of motion.

    Attributes:
        measures: place of a point on the base as distance, position or pose; imu: specific force and rates; joints.
        rate_hz: readings a second.
        noise: (channels,) standard deviation of each value; of a pose: of its place, and of its turns about x, y, z.
        point: on the base, in its axes [m].
        body_turn: roll, pitch, yaw of the measured body's axes in those of the base [rad]; of an imu: of its axes.
        origin: of the instrument's axes in the world [m].
        turn: roll, pitch, yaw of the instrument's axes in the world [rad].
        direction: unit vector on which a distance grows, world axes.
        joints: names of measured joints, and of wheels whose turn about their axles is measured.
        zero: (joints,) reading at angle 0 [rad].
        sign: (joints,) 1, or -1 where the reading falls as the angle grows.
        bias: (channels,) standard deviation of each channel's offset, as `noise`; `perturbed` draws the offsets.
        offset: (channels,) of each channel; empty: none.
        drop_outs: share of the readings that are lost.
        fault: frozen, jump, biased or swapped (of two channels), from `fault_at` [s] on; none.
        fault_size: of a jump, and growth a second of a bias, in the unit of the channels.
        late_ns: readings come this much later than their times say [ns].
    """

    measures: Literal["distance", "position", "pose", "imu", "joints"]
    rate_hz: float
    noise: tuple[float, ...]
    point: Vector = (0.0, 0.0, 0.0)
    body_turn: Turns = _NO_TURN
    origin: Vector = (0.0, 0.0, 0.0)
    turn: Turns = _NO_TURN
    direction: Vector = (1.0, 0.0, 0.0)
    joints: tuple[str, ...] = ()
    zero: tuple[float, ...] = ()
    sign: tuple[float, ...] = ()
    bias: tuple[float, ...] = ()
    offset: tuple[float, ...] = ()
    drop_outs: float = 0.0
    fault: Literal["none", "frozen", "jump", "biased", "swapped"] = "none"
    fault_at: float = math.inf
    fault_size: float = 0.0
    late_ns: int = 0

    def perturbed(self, random: np.random.Generator) -> InstrumentParameters:
        """The same with offsets drawn."""
        return replace(self, offset=tuple((np.array(self.bias) * random.standard_normal(len(self.bias))).tolist()))


@dataclass
class InstrumentOnRig:
    """One instrument on a plant; its times are the plant's.

    Attributes:
        rate_hz: readings a second.
    """

    parameters: InstrumentParameters
    rover: Rover
    state: VehicleState
    random: np.random.Generator
    rate_hz: float = field(init=False)

    def __post_init__(self) -> None:
        """Work out what does not change."""
        p = self.parameters
        self.rate_hz = p.rate_hz
        self._readings: deque[Number] = deque(maxlen=KEPT)
        self._to_come: deque[Number] = deque()
        self._sequence = 0
        self._frozen: tuple[float, ...] = ()
        self._turn, self._body_turn = (Rotation.from_euler("ZYX", turns[::-1]) for turns in (p.turn, p.body_turn))
        place = {name: 7 + number for number, name in enumerate(self.rover.tree_joint_names)}
        place |= dict(zip(self.rover.wheel_names, (6 + self.rover.chain.wheel_body).tolist(), strict=True))
        self._places = [place[name] for name in p.joints]
        self._gravity = np.array(EARTH_GRAVITY)
        self._before_ns, self._velocity_before = 0, self._velocity()

    def take(self, t_ns: int) -> None:
        """Take a reading if one is due by that time of the plant [ns].

        It has the time of the state that it reads, and `late_ns` more: until then it is kept back.
        """
        self._measure(t_ns)
        while self._to_come and self._to_come[0][1] <= t_ns:
            self._readings.append(self._to_come.popleft())

    def _measure(self, t_ns: int) -> None:
        due = int(t_ns * 1e-9 * self.rate_hz)
        if due <= self._sequence:
            return
        self._sequence = due
        value = self._read(t_ns)
        p, t_s = self.parameters, t_ns * 1e-9
        if p.drop_outs > 0.0 and self.random.random() < p.drop_outs:
            return
        if t_s >= p.fault_at:
            value = self._spoilt(value, t_s - p.fault_at)
        self._frozen = value
        self._to_come.append((due, t_ns + p.late_ns, value))

    def since(self, sequence: int) -> Sequence[Number]:
        """Readings after a number, oldest first: number, time of measurement [ns], values; `KEPT` at most."""
        return [reading for reading in self._readings if reading[0] > sequence]

    def _read(self, t_ns: int) -> tuple[float, ...]:
        p, q = self.parameters, self.state.q
        noise = np.array(p.noise) * self.random.standard_normal(len(p.noise))
        if p.offset:
            noise += p.offset
        if p.measures == "joints":
            values: FloatArray = np.array(p.zero) + np.array(p.sign) * q[self._places] + noise
        elif p.measures == "imu":
            values = self._inertial(t_ns) + noise
        else:
            base = Rotation.from_quat(q[3:7])
            place = q[:3] + base.apply(p.point) - p.origin
            if p.measures == "distance":
                return (float(place @ np.array(p.direction) + noise[0]),)
            place = self._turn.inv().apply(place) + noise[:3]
            if p.measures == "position":
                values = place
            else:
                attitude = Rotation.from_rotvec(noise[3:]) * self._turn.inv() * base * self._body_turn
                values = np.concatenate([place, attitude.as_quat()])
        return tuple(values.tolist())

    def _velocity(self) -> FloatArray:
        """Of the point, world axes [m/s]."""
        q, v = self.state.q, self.state.v
        velocity: FloatArray = Rotation.from_quat(q[3:7]).apply(v[:3] + np.cross(v[3:6], self.parameters.point))
        return velocity

    def _inertial(self, t_ns: int) -> FloatArray:
        """Mean specific force since the last reading, and rates of turn now, in the axes of the unit."""
        velocity, span_s = self._velocity(), (t_ns - self._before_ns) * 1e-9
        force = (velocity - self._velocity_before) / span_s - self._gravity
        self._before_ns, self._velocity_before = t_ns, velocity
        base = Rotation.from_quat(self.state.q[3:7])
        own = self._body_turn.inv()
        values: FloatArray = np.concatenate([own.apply(base.inv().apply(force)), own.apply(self.state.v[3:6])])
        return values

    def _spoilt(self, value: tuple[float, ...], for_s: float) -> tuple[float, ...]:
        """A value of an instrument that is at fault for so long [s]."""
        p = self.parameters
        if p.fault == "frozen":
            return self._frozen or value
        if p.fault == "swapped" and len(value) > 1:
            return (value[1], value[0], *value[2:])
        shift = {"jump": p.fault_size, "biased": p.fault_size * for_s, "swapped": -2.0 * value[0]}.get(p.fault, 0.0)
        return (value[0] + shift, *value[1:])
