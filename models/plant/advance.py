"""The compiled core of the plant: many sub-steps and all samples between two ticks, in one call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from models.actuators.compressible import Gas, fill_with_gas
from models.actuators.pneumatic import NO_CYLINDERS, Cylinder, CylinderMounts, fill_cylinders
from models.kernels.bound import BoundApart, BoundArguments, call_at, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.plant.plate_truth import make_plate_truth, note_plate
from models.sensors.disturbance import SensorDisturbances, SnapBack, disturb, snapped
from models.sensors.piezo import TRIANGLE, Piezo, PiezoState, sample, sample_links, sample_pair
from models.vehicle import Scene, VehicleState

RING = 1 << 14  # samples kept, half a second at 30 kHz
PORT, STARBOARD = 0, 1  # rows of the front wheels in the obstacle's readings

# slots of Log.counts and Log.truth
SAMPLES, HIT, HIT_NS = 0, 1, 2
PEAK, HIT_SPEED = 0, 1


class Sensing(NamedTuple):
    """Piezo channels and their position.

    Attributes:
        piezo: channels.
        state: their filters.
        origin: (2,) where the triangle's origin lies on the plate [m]: across (world y), up from the plane's foot.
        rate_hz: samples a second.
        noise: (RING, channels) standard normal numbers, renewed as they are used; with a disturbance (RING,
            2 channels), the second half for the disturbance.
        disturbance: of the channels, or None.
        snap_back: of the shields when a wheel slips off the plate, or None.
    """

    piezo: Piezo
    state: PiezoState
    origin: FloatArray
    rate_hz: int
    noise: FloatArray
    disturbance: SensorDisturbances | None = None
    snap_back: SnapBack | None = None


class Log(NamedTuple):
    """Samples and results of the plant.

    Attributes:
        volts: (RING, channels) newest samples; sample n lies in row n % RING and was taken at n / rate_hz.
        counts: samples taken, whether the obstacle was hit, and when [ns].
        ground_truth: peak of the contact force over both wheels [N], forward speed when hit [m/s].
        hit_q: configuration when the obstacle was hit, as models.vehicle.VehicleState has it.
        hit_v: velocity then.
        plate: true load of the sensors, see models.plant.plate_truth.
    """

    volts: FloatArray
    counts: IntArray
    ground_truth: FloatArray
    hit_q: FloatArray
    hit_v: FloatArray
    plate: FloatArray


class PlantParts(NamedTuple):
    """Parts of the plant: what is stepped, by its address, then what fills cylinders and takes samples.

    Of the vehicle they have only what that reads, so that vehicles on all kinds of ground share one kernel. Without
    gas, the chambers fill and vent as `cylinder` has it.

    Attributes:
        scene: what is stepped.
        state: of it, without that of servos.
        wheel_body: (wheels,) as models.rover.reduction.Chain has it.
        cylinder: and its valve.
        sensing: sensors, or None.
        log: samples and results.
        gas: compressible gas in the chambers, or None.
        mounts: of the cylinders; used with gas.
    """

    scene: BoundApart[Scene]
    state: VehicleState
    wheel_body: IntArray
    cylinder: Cylinder
    sensing: Sensing | None
    log: Log
    gas: Gas | None = None
    mounts: CylinderMounts = NO_CYLINDERS


@kernel
def advance(parts: BoundArguments[PlantParts], run: int, from_ns: int, to_ns: int, steps: int) -> None:
    """Move the rig from `from_ns` to `to_ns` in equal sub-steps and take every sample that falls between.

    `run` is what address_of_run gives for their scene.
    """
    scene, state, wheel_body, cylinder, sensing, log, gas, mounts = unpack(parts)
    dt = (to_ns - from_ns) * 1e-9 / steps
    last_left, last_right = state.obstacle.force[PORT], state.obstacle.force[STARBOARD]
    for i in range(steps):
        begin = from_ns + (to_ns - from_ns) * i // steps
        end = from_ns + (to_ns - from_ns) * (i + 1) // steps
        _fill(gas, cylinder, mounts, state, dt)
        call_at(run, scene, 1, dt)
        _note_contact(state, log, end)
        _note_plate(sensing, state, log, last_left, last_right, end, dt)
        _take_samples(sensing, wheel_body, state, log, last_left, last_right, begin, end)
        last_left, last_right = state.obstacle.force[PORT], state.obstacle.force[STARBOARD]


@kernel
def _fill(gas: Gas | None, cylinder: Cylinder, mounts: CylinderMounts, state: VehicleState, dt: float) -> None:
    if gas is None:
        fill_cylinders(cylinder, state.cylinders, dt)
    else:
        fill_with_gas(gas, mounts, state.cylinders, state.q, dt)


@kernel
def _take_samples(
    sensing: Sensing | None,
    wheel_body: IntArray,
    state: VehicleState,
    log: Log,
    last_left: float,
    last_right: float,
    begin: int,
    end: int,
) -> None:
    """Take the samples within a sub-step; forces change linearly from its start to its end."""
    if sensing is not None:
        left, right = state.obstacle.force[PORT], state.obstacle.force[STARBOARD]
        across = state.obstacle.point[STARBOARD, 0] - sensing.origin[0]
        up = state.obstacle.point[STARBOARD, 1] - sensing.origin[1]
        taken_at = log.counts[SAMPLES] * 1_000_000_000 // sensing.rate_hz
        while taken_at <= end:
            row = log.counts[SAMPLES] % RING
            noise, volts, since = sensing.noise[row], log.volts[row], 1.0 / sensing.rate_hz
            _disturb(sensing.disturbance, wheel_body, state, log, taken_at, since, noise)
            force = last_right + (right - last_right) * (taken_at - begin) / (end - begin)
            force = snapped(sensing.snap_back, STARBOARD, force, taken_at * 1e-9, since)
            if volts.size == TRIANGLE:
                sample(sensing.piezo, sensing.state, force, across, up, since, noise, volts, sensing.disturbance)
            elif sensing.piezo.rear_reach > 0.0:
                lever, drag = state.obstacle.point[STARBOARD, 1], state.obstacle.drag[STARBOARD]
                sample_links(
                    sensing.piezo, sensing.state, force, across, lever, since, noise, volts, sensing.disturbance, drag
                )
            else:
                other = last_left + (left - last_left) * (taken_at - begin) / (end - begin)
                other = snapped(sensing.snap_back, PORT, other, taken_at * 1e-9, since)
                sample_pair(sensing.piezo, sensing.state, other, force, since, noise, volts, sensing.disturbance)
            log.counts[SAMPLES] += 1
            taken_at = log.counts[SAMPLES] * 1_000_000_000 // sensing.rate_hz


@kernel
def _disturb(
    disturbance: SensorDisturbances | None,
    wheel_body: IntArray,
    state: VehicleState,
    log: Log,
    taken_at: int,
    dt: float,
    noise: FloatArray,
) -> None:
    """Disturb the sample that is about to be taken."""
    if disturbance is not None:
        total = 0.0
        for body in wheel_body:
            total += state.v[5 + body]
        speed, touched = total / wheel_body.size, log.counts[HIT] == 1
        disturb(disturbance, taken_at * 1e-9, dt, speed, touched, noise[disturbance.force.size :])


@kernel
def _note_plate(
    sensing: Sensing | None, state: VehicleState, log: Log, last_left: float, last_right: float, end: int, dt: float
) -> None:
    if sensing is not None and log.counts[HIT] != 0:
        across = state.obstacle.point[STARBOARD, 0] - sensing.origin[0]
        up = state.obstacle.point[STARBOARD, 1] - sensing.origin[1]
        loads, last = (state.obstacle.force[PORT], state.obstacle.force[STARBOARD]), (last_left, last_right)
        note_plate(log.plate, sensing.piezo, across, up, loads, last, end * 1e-9, dt)


@kernel
def _note_contact(state: VehicleState, log: Log, t_ns: int) -> None:
    total = 0.0
    for force in state.obstacle.force:
        total += force
    log.ground_truth[PEAK] = max(log.ground_truth[PEAK], total)
    if total > 0.0 and log.counts[HIT] == 0:
        log.counts[HIT], log.counts[HIT_NS] = 1, t_ns
        log.ground_truth[HIT_SPEED] = state.v[0]
        for a in range(log.hit_q.size):
            log.hit_q[a] = state.q[a]
        for a in range(log.hit_v.size):
            log.hit_v[a] = state.v[a]


def make_log(state: VehicleState, channels: int) -> Log:
    """Allocate the log of a plant with this vehicle."""
    hit = np.zeros_like(state.q), np.zeros_like(state.v)
    return Log(np.zeros((RING, channels)), np.zeros(3, np.int64), np.zeros(2), *hit, make_plate_truth(channels))
