"""Asks in each tick whether a vehicle is still within what its models hold for (models.validity)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.actuators.stops import JointStops
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.rover.points import body_position
from models.rover.rover import Rover
from models.terrain.height_map import HeightMap
from models.terrain.surface import beyond
from models.validity import (
    CODES,
    DEPTH,
    EDGE,
    LIFTED,
    LOADS,
    LOADS_OVER_S,
    ROTATION,
    SINKAGE,
    SLID,
    SLOWEST_RIM_MPS,
    SPEED,
    STANDS_MPS,
    STANDS_RADPS,
    STOPPED,
    TILT,
    TRAVEL,
    VALIDITIES,
    WITHIN,
)
from models.vehicle.model import VehicleModel, VehicleState

# Slots of Invariants.state: whether the rover has moved yet, and the mean deviation of the loads' sum.
MOVED, DEVIATION = 0, 1


class Invariants(NamedTuple):
    """What a vehicle is checked with in each tick: of it only what is looked at, so that all kinds share one kernel.

    Attributes:
        limit: (CODES,) of each range.
        for_s: (CODES,) how long a value may lie outside [s].
        since_s: (CODES,) how long each value has been outside [s].
        lifted_s: (wheels,) how long each wheel has been off the ground [s].
        normal: (3,) of the ground, world axes.
        weight: of the rover along it [N]; 0: no weight or no ground, and loads mean nothing.
        state: slots MOVED and DEVIATION.
        found: (3,) code of the range that was left, the value and its limit; WITHIN: none.
        deep: range of the wheels' sinkage: SINKAGE on soil, else DEPTH.
        wheel_radius: (wheels,) [m].
        wheel_body: (wheels,) as models.rover.reduction.Chain has it.
        stops: of the suspension joints.
        driven: (servos,) speeds of the driven joints.
        relief: the height map on which it stands, or None.
        vehicle: its state, without that of servos.
    """

    limit: FloatArray
    for_s: FloatArray
    since_s: FloatArray
    lifted_s: FloatArray
    normal: FloatArray
    weight: float
    state: FloatArray
    found: FloatArray
    deep: int
    wheel_radius: FloatArray
    wheel_body: IntArray
    stops: JointStops
    driven: IntArray
    relief: HeightMap | None
    vehicle: VehicleState


def make_invariants(
    rover: Rover, vehicle: VehicleModel, state: VehicleState, tilt_deg: float = VALIDITIES[TILT].limit
) -> Invariants:
    """Those of a vehicle that stands, whose state the caller changes; its main body may tilt by so much."""
    limit, for_s = np.full(CODES, np.inf), np.zeros(CODES)
    for code, validity in VALIDITIES.items():
        limit[code], for_s[code] = validity.limit, validity.for_s
    limit[TILT] = tilt_deg
    terrain = vehicle.terrain
    meshed = terrain is not None and terrain.given is not None and terrain.given.mesh is not None
    if vehicle.hard is not None or meshed or (vehicle.compliant is not None and vehicle.compliant.profile is not None):
        for_s[LIFTED] = limit[LOADS] = np.inf  # wheels that climb or fall bear less, or nothing, for a while
    normal = np.array((0.0, 0.0, 1.0) if vehicle.terrain is None else vehicle.terrain.normal)
    mass = sum(body.mass for body in rover.tree.bodies)
    grounded = vehicle.ground is not None or vehicle.compliant is not None or not vehicle.yields
    weight = -mass * float(vehicle.gravity @ normal) if grounded else 0.0
    return Invariants(
        limit, for_s, np.zeros(CODES), np.zeros(len(rover.wheel_names)), normal, weight, np.zeros(2), np.zeros(3),
        SINKAGE if vehicle.ground is not None else DEPTH, vehicle.chain.wheel_radius, vehicle.chain.wheel_body,
        vehicle.stops, np.zeros(0, np.int64) if vehicle.servos is None else vehicle.servos.speed,
        None if vehicle.terrain is None else vehicle.terrain.relief, state._replace(servos=None),
    )  # fmt: skip


@kernel
def check_invariants(invariants: Invariants, span: float) -> None:
    """Look at a vehicle after it has moved for `span` [s]; the result is in `invariants.found`.

    Nothing counts before the rover has moved for the first time: how it stands is judged before it is armed.
    """
    state = invariants.vehicle
    ground, wheels = state.ground, state.ground.vertical.size
    if invariants.state[MOVED] == 0.0:
        invariants.state[MOVED] = _moves(invariants, state)
        return
    invariants.found[0] = WITHIN
    deepest, rim = 0.0, 0.0
    for wheel in range(wheels):
        radius = invariants.wheel_radius[wheel]
        deepest = max(deepest, ground.sinkage[wheel] / radius)
        rim += radius * state.v[5 + invariants.wheel_body[wheel]] / wheels
    touched = 0.0
    for force in state.obstacle.force:
        touched += force
    _note(invariants, invariants.deep, deepest, span)
    if invariants.weight > 0.0:
        _note_loads(invariants, state, span)
        x, y = state.q[3], state.q[4]
        _note(invariants, TILT, math.degrees(math.acos(min(max(1.0 - 2.0 * (x * x + y * y), -1.0), 1.0))), span)
    _note_edge(invariants, invariants.relief, state, span)
    _note(invariants, STOPPED, math.degrees(_beyond_stops(invariants.stops, state.q, 0)), span)
    _note(invariants, SLID, 1e3 * _beyond_stops(invariants.stops, state.q, 1), span)
    driven = touched == 0.0 and abs(rim) > SLOWEST_RIM_MPS and not _turned_by_servos(invariants.driven, state.v)
    _note(invariants, TRAVEL, 1.0 - state.v[0] / rim if driven else 0.0, span)
    _note(invariants, SPEED, _length(state.v, 0), span)
    _note(invariants, ROTATION, _length(state.v, 3), span)


@kernel
def _turned_by_servos(driven: IntArray, v: FloatArray) -> bool:
    """Whether a driven joint turns: legs then move the body in addition to the wheels, and its slip says nothing."""
    turned = False
    for speed in driven:
        turned = turned or abs(v[speed]) > STANDS_RADPS
    return turned


@kernel
def _moves(invariants: Invariants, state: VehicleState) -> float:
    moved = 1.0 if abs(state.v[0]) > STANDS_MPS else 0.0
    for body in invariants.wheel_body:
        if abs(state.v[5 + body]) > STANDS_RADPS:
            moved = 1.0
    return moved


@kernel
def _note_loads(invariants: Invariants, state: VehicleState, span: float) -> None:
    """Wheels off the ground, and the sum of the loads against what weight, pull and obstacle leave to the ground."""
    total, lifted = 0.0, 0.0
    for wheel in range(state.ground.vertical.size):
        load = state.ground.vertical[wheel]
        total += load
        on_obstacle = wheel < state.obstacle.force.size and state.obstacle.force[wheel] > 0.0
        invariants.lifted_s[wheel] = invariants.lifted_s[wheel] + span if load <= 0.0 and not on_obstacle else 0.0
        lifted = max(lifted, invariants.lifted_s[wheel])
    if lifted > invariants.for_s[LIFTED]:
        _find(invariants, LIFTED, 0.0)
    up = invariants.normal
    x, y, z, w = state.q[3], state.q[4], state.q[5], state.q[6]
    # the ground's normal in base axes
    a = (1.0 - 2.0 * (y * y + z * z)) * up[0] + 2.0 * (x * y + w * z) * up[1] + 2.0 * (x * z - w * y) * up[2]
    b = 2.0 * (x * y - w * z) * up[0] + (1.0 - 2.0 * (x * x + z * z)) * up[1] + 2.0 * (y * z + w * x) * up[2]
    c = 2.0 * (x * z + w * y) * up[0] + 2.0 * (y * z - w * x) * up[1] + (1.0 - 2.0 * (x * x + y * y)) * up[2]
    total += a * state.pull[0] + b * state.pull[1] + c * state.pull[2] - invariants.weight
    for push in state.obstacle.wrench:
        total += up[0] * push[0] + up[1] * push[1] + up[2] * push[2]
    deviation = abs(total) / invariants.weight
    invariants.state[DEVIATION] += (deviation - invariants.state[DEVIATION]) * min(span / LOADS_OVER_S, 1.0)
    _note(invariants, LOADS, invariants.state[DEVIATION], span)


@kernel
def _note_edge(invariants: Invariants, relief: HeightMap | None, state: VehicleState, span: float) -> None:
    """The wheel that is farthest outside a height map; nothing on ground without one."""
    if relief is None:
        return
    farthest = 0.0
    for body in invariants.wheel_body:
        x, y, _ = body_position(state.q, state.work, body)
        farthest = max(farthest, beyond(relief, x, y))
    _note(invariants, EDGE, farthest, span)


@kernel
def _beyond_stops(stops: JointStops, q: FloatArray, slides: int) -> float:
    """How far the farthest joint has turned beyond its stop [rad], or, with `slides` 1, slid beyond it [m]."""
    farthest = 0.0
    for i in range(stops.speed.size):
        if stops.slides[i] == slides:
            at = q[stops.speed[i] + 1]
            farthest = max(farthest, at - stops.high[i], stops.low[i] - at)
    return farthest


@kernel
def _length(values: FloatArray, first: int) -> float:
    return math.sqrt(values[first] ** 2 + values[first + 1] ** 2 + values[first + 2] ** 2)


@kernel
def _note(invariants: Invariants, code: int, value: float, span: float) -> None:
    """Note a value; it is found once it has been beyond its limit for long enough, the first code first."""
    invariants.since_s[code] = invariants.since_s[code] + span if value > invariants.limit[code] else 0.0
    if invariants.since_s[code] > invariants.for_s[code]:
        _find(invariants, code, value)


@kernel
def _find(invariants: Invariants, code: int, value: float) -> None:
    if invariants.found[0] == WITHIN:
        invariants.found[0], invariants.found[1], invariants.found[2] = code, value, invariants.limit[code]
