"""Leg force-torque sensors, a drawbar load cell and a strain-gauge bridge at a slow data acquisition."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.checks import Range, finite_array, problem, refuse
from models.contact.obstacle import Obstacle
from models.contact.wheel_slots import LEFT, SIDE
from models.kernels.bound import BoundArguments, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.dynamics import Workspace, make_work, place_bodies
from models.rover.points import body_position, cross, dot, to_base, vector
from models.rover.reduction import Chain
from models.rover.rover import Rover
from models.terrain import Terrain
from models.terrain.surface import contact_plane
from models.vehicle import VehicleModel, VehicleState

DRAWBAR = -1  # in place of a wheel: the channel of the load cell
FRAME = -2  # likewise: that of the strain gauges on the links of the obstacle's frame
STARBOARD = 1  # the front wheel that hits this obstacle
RING = 1 << 12  # samples kept


class LoadSensors(NamedTuple):
    """Channels of leg sensors (MacMahon 2016, 4.1: force and moment about the axes of the leg), load cell and frame.

    A reading is in volts, or in newtons and newton metres where the device itself converts; V stands for either below.

    Attributes:
        wheel: (channels,) index of the wheel under the leg; DRAWBAR for the load cell, FRAME for the strain gauges.
        axis: (channels,) index of fx, fy, fz, mx, my, mz; 0 of the load cell and of the strain gauges.
        full: (6,) largest force [N] and moment [N m] of each axis.
        gain: (channels, 6) [V/N] and [V/(N m)] for force and moment in leg axes; off its own axis it is cross-talk. Of
            the load cell column 0 alone; of the strain gauges columns 0 to 2, for the load of the plate: normal force
            [N], its moment about the plate's foot [N m], friction up along the plate [N].
        bias: (channels,) [V] reading without load.
        drift: (channels,) [V/s] at which the bias moves.
        noise: (channels,) standard deviation of each sample [V].
        range: (channels,) [V] full scale, either sign.
        step: (channels,) [V] one count of the converter.
        height: [m] of a sensor over the contact of its wheel.
        lifted: [s] the rover is lifted, and its legs hang, for so long from the start.
        rate_hz: samples a second.
        bandwidth: of the strain gauges' amplifier, a first-order low-pass [Hz].
    """

    wheel: IntArray
    axis: IntArray
    full: FloatArray
    gain: FloatArray
    bias: FloatArray
    drift: FloatArray
    noise: FloatArray
    range: FloatArray
    step: FloatArray
    height: float
    lifted: float
    rate_hz: int
    bandwidth: float = 1e9

    def perturbed(
        self, zero: float, drift: float, gain: float, cross_talk: float, random: np.random.Generator
    ) -> LoadSensors:
        """Sensors that differ at random; standard deviations.

        Args:
            zero: of each bias, a share of full scale: what zeroing leaves.
            drift: of each drift, a share of full scale in a minute.
            gain: of each channel, relative.
            cross_talk: of the reading, as a share of full scale, at the full load of each other axis.
            random: source of the differences.
        """
        own = np.arange(6) == self.axis[:, None]
        scale = np.where(own, 1.0 + gain * random.standard_normal(self.gain.shape), 1.0)
        scale = np.where(self.wheel[:, None] == FRAME, scale[:, :1], scale)  # one bridge, one gain
        others = np.where(own | (self.wheel[:, None] < 0), 0.0, self.range[:, None] / self.full)
        talk = cross_talk * others * random.standard_normal(self.gain.shape)
        return self._replace(
            gain=self.gain * scale + talk,
            bias=self.bias + zero * self.range * random.standard_normal(len(self.bias)),
            drift=self.drift + drift * self.range / 60.0 * random.standard_normal(len(self.bias)),
        )


def check_load_sensors(sensors: LoadSensors, wheels: int) -> None:
    """Raises ValueError with what is out of range for a rover with so many wheels."""
    channels, any_number = len(sensors.wheel), Range(-math.inf, math.inf, "")
    not_negative, positive = Range(0.0, math.inf, ""), Range(0.0, math.inf, "", open_low=True)
    shapes = {"gain": (channels, 6), **dict.fromkeys(("bias", "drift", "noise", "range", "step"), (channels,))}
    limits = {**dict.fromkeys(shapes, any_number), "noise": not_negative, "range": positive, "step": positive}
    for name, allowed in limits.items():
        shape = finite_array("load sensors", name, getattr(sensors, name), allowed).shape
        refuse(
            "load sensors", [None if shape == shapes[name] else f"{name} has shape {shape}, allowed: {shapes[name]}"]
        )
    known = ((sensors.wheel >= FRAME) & (sensors.wheel < wheels)).all()
    refuse(
        "load sensors",
        [
            *(problem(name, getattr(sensors, name), positive) for name in ("rate_hz", "bandwidth")),
            *(problem(name, getattr(sensors, name), not_negative) for name in ("height", "lifted")),
            None if known else f"wheel is {sensors.wheel.tolist()}, allowed: {FRAME} to {wheels - 1}",
        ],
    )


class _LoadParts(NamedTuple):
    """What the samples are taken from.

    Attributes:
        chain: of the rover.
        state: of the vehicle.
        obstacle: in front of it, or None.
        terrain: shape of the ground.
        sensors: the channels.
        upright: (wheels, 3, 3) axes of the carrying body from those of the leg; these are the base's at zero joint
            angles.
        wrench: (2, wheels + 1, 6) on each wheel in its leg's axes at the sensor, and the plate's load as `gain` has it
            [N, N m], before and after the last advance.
        passed: (channels,) what the strain gauges' amplifier gives [V].
        volts: (RING, channels) newest samples; sample n lies in row n % RING and was taken at n / rate_hz.
    """

    chain: Chain
    state: VehicleState
    obstacle: Obstacle | None
    terrain: Terrain
    sensors: LoadSensors
    upright: FloatArray
    wrench: FloatArray
    passed: FloatArray
    volts: FloatArray


@kernel
def take_load_samples(
    parts: BoundArguments[_LoadParts], first: int, noise: FloatArray, from_ns: int, to_ns: int, pull: float
) -> None:
    """Take samples first, first + 1, ... while the rig has moved from `from_ns` to `to_ns`.

    Loads change linearly meanwhile. The weight of wheel and leg under a sensor is part of its bias, because the sensor
    is zeroed with the legs hanging (MacMahon 2016, 6.2.4); how it turns with the leg, and its inertia, are left out.
    The frame bears by statics what the wheel presses on the plate: its own vibration and its shield's are left out.

    Args:
        parts: see there.
        first: number of the first sample.
        noise: (samples, channels) standard normal numbers.
        from_ns: time before the advance [ns].
        to_ns: present time of the state [ns].
        pull: drawbar pull of the rover [N], positive where it pulls forward.
    """
    chain, state, obstacle, terrain, sensors, upright, wrench, passed, volts = unpack(parts)
    plate, follow = chain.wheel_body.size, 1.0 - math.exp(-2.0 * math.pi * sensors.bandwidth / sensors.rate_hz)
    for borne in range(plate + 1):
        for a in range(6):
            wrench[0, borne, a] = wrench[1, borne, a]
    if obstacle is not None:
        force = state.obstacle.force[STARBOARD]
        wrench[1, plate, 0], wrench[1, plate, 1] = force, force * state.obstacle.point[STARBOARD, 1]
        wrench[1, plate, 2] = state.obstacle.drag[STARBOARD]
    for wheel in range(plate):
        _load_leg(chain, state, terrain, sensors.height, upright[wheel], wheel, wrench[1, wheel])
    for n in range(noise.shape[0]):
        t_ns = (first + n) * 1_000_000_000 // sensors.rate_hz
        t, share = t_ns * 1e-9, min(max((t_ns - from_ns) / max(to_ns - from_ns, 1), 0.0), 1.0)
        row = volts[(first + n) % RING]
        for c in range(row.size):
            wheel, load = sensors.wheel[c], 0.0
            if wheel == DRAWBAR:
                load = sensors.gain[c, 0] * pull
            else:
                borne = plate if wheel == FRAME else wheel
                for a in range(6):
                    load += sensors.gain[c, a] * (
                        wrench[0, borne, a] + share * (wrench[1, borne, a] - wrench[0, borne, a])
                    )
            if wheel == FRAME:
                passed[c] += follow * (load - passed[c])
                load = passed[c]
            if t < sensors.lifted:
                load = 0.0
            reading = load + sensors.bias[c] + sensors.drift[c] * t + sensors.noise[c] * noise[n, c]
            reading = min(max(reading, -sensors.range[c]), sensors.range[c])
            row[c] = sensors.step[c] * np.rint(reading / sensors.step[c])


@kernel
def _load_leg(
    chain: Chain,
    state: VehicleState,
    terrain: Terrain,
    height: float,
    upright: FloatArray,
    wheel: int,
    out: FloatArray,
) -> None:
    """Force of ground and obstacle on a wheel, and its moment about the leg's sensor, in leg axes (6,).

    Those of the obstacle are the step's own. Forces of the ground to the side are known on soil only.
    """
    work, contact, body = state.work, state.ground, chain.wheel_body[wheel]
    _, normal = contact_plane(terrain, body_position(state.q, work, body), wheel)
    up = to_base(work, normal[0], normal[1], normal[2])
    ahead = cross(vector(work.screw[body], 3), up)
    level = 1.0 / max(math.sqrt(dot(ahead, ahead)), 1e-9)
    left, side = vector(contact.scratch[wheel], LEFT), contact.scratch[wheel, SIDE]
    turn = work.turn[chain.parent[body]]
    for a in range(3):
        out[a] = 0.0
    for i in range(3):
        force = contact.vertical[wheel] * up[i] + contact.pull[wheel] * level * ahead[i] + side * left[i]
        for j in range(3):  # base axes, then those of the carrying body, then those of the leg
            for k in range(3):
                out[k] += upright[j, k] * turn[i, j] * force
    out[3], out[4], out[5] = height * out[1], -height * out[0], 0.0
    if wheel < state.obstacle.wrench.shape[0]:
        push = state.obstacle.wrench[wheel]
        _add_push(work, turn, upright, push, chain.wheel_radius[wheel] - height, out)


@kernel
def _add_push(
    work: Workspace, turn: FloatArray, upright: FloatArray, push: FloatArray, centre: float, out: FloatArray
) -> None:
    """Add what the obstacle applies to a wheel, whose centre is `centre` [m] above the sensor, to (6,) in leg axes."""
    force, moment = to_base(work, push[0], push[1], push[2]), to_base(work, push[3], push[4], push[5])
    for k in range(3):
        along, about = 0.0, 0.0
        for i in range(3):
            for j in range(3):
                turned = upright[j, k] * turn[i, j]
                along += turned * force[i]
                about += turned * moment[i]
        out[k] += along
        out[3 + k] += about
        if k == 0:
            out[4] += centre * along
        elif k == 1:
            out[3] -= centre * along


def make_load_parts(rover: Rover, vehicle: VehicleModel, state: VehicleState, sensors: LoadSensors) -> _LoadParts:
    """Parts for a vehicle. Raises ValueError: sensors that it cannot have."""
    wheels = len(rover.wheel_names)
    check_load_sensors(sensors, wheels)
    neutral = make_work(rover.chain)
    place_bodies(rover.chain, rover.tree_configuration(rover.neutral()), neutral)
    carriers = rover.chain.parent[rover.chain.wheel_body]
    upright = np.ascontiguousarray(neutral.turn[carriers].transpose(0, 2, 1))
    channels = len(sensors.wheel)
    wrench, passed, volts = np.zeros((2, wheels + 1, 6)), np.zeros(channels), np.zeros((RING, channels))
    return _LoadParts(rover.chain, state, vehicle.obstacle, vehicle.terrain, sensors, upright, wrench, passed, volts)
