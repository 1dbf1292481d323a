"""The compiled core of the plant: many sub-steps and all samples between two ticks, in one call."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from models.actuators.compressible import Gas, fill_with_gas
from models.actuators.pneumatic import Cylinder, CylinderMounts, fill_cylinders
from models.kernels.bound import BoundApart, BoundArguments, call_at, unpack
from models.kernels.compiled import FloatArray, IntArray, kernel
from models.plant.plate_truth import make_plate_truth, note_plate
from models.sensors.disturbance import SensorDisturbances, SnapBack, disturb, snapped
from models.sensors.piezo import TRIANGLE, Piezo, PiezoState, has_one_plate, sample, sample_links, sample_pair
from models.vehicle import Scene, VehicleState

RING = 1 << 14  # samples kept, half a second at 30 kHz
PORT, STARBOARD = 0, 1  # rows of the front wheels in the obstacle's readings

# slots of Log.counts and Log.truth
SAMPLES, HIT, HIT_NS, LAST_NS = range(4)
PEAK, HIT_SPEED = 0, 1

# A wheel is near the obstacle if it could reach it in so many of the longest steps; a grouser's tip is up to twice as
# fast as its rover.
_STEPS_AHEAD = 4
# A drive has settled if its axle turns as it was told to, within this [rad/s]; a cut one should stand.
_SETTLED = 2e-3
# And if its set speed changes by less than this [rad/s^2]: half a step times a gain of speed is an error of the rover's
# place. Small commands, each followed within its tick, add up; what uneven ground does to an axle does not.
_STEADY = 0.02


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
        counts: samples taken, whether the obstacle was hit, when [ns], and when the last step began [ns].
        ground_truth: peak of the contact force over both wheels [N], forward speed when hit [m/s].
        hit_q: configuration when the obstacle was hit, as models.vehicle.VehicleState has it.
        hit_v: velocity then.
        plate: true load of the sensors, see models.plant.plate_truth.
        rates: (2,) of the forces on the front wheels [N/ns], in the step before the newest.
        set_speed: (wheels,) of the drives when it was last advanced [rad/s].
    """

    volts: FloatArray
    counts: IntArray
    ground_truth: FloatArray
    hit_q: FloatArray
    hit_v: FloatArray
    plate: FloatArray
    rates: FloatArray
    set_speed: FloatArray


class StepLengths(NamedTuple):
    """Limits of a step of time [ns].

    Attributes:
        brief: while a wheel touches the obstacle or is near it, and until the drives have settled.
        steady: otherwise.
    """

    brief: int
    steady: int


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
        driven: wheels that have a motor (models.rover.reduction.Chain.motor_wheel).
        lengths: limits of a step.
    """

    scene: BoundApart[Scene]
    state: VehicleState
    wheel_body: IntArray
    cylinder: Cylinder
    sensing: Sensing | None
    log: Log
    gas: Gas | None
    mounts: CylinderMounts
    driven: IntArray
    lengths: StepLengths


@kernel
def advance(parts: BoundArguments[PlantParts], run: int, from_ns: int, to_ns: int) -> None:
    """Move the rig from `from_ns` to `to_ns` in steps as long as its state allows, and take every sample between.

    `run` is what address_of_run gives for their scene. A step's forces are those at its beginning.
    """
    scene, state, wheel_body, cylinder, sensing, log, gas, mounts, driven, lengths = unpack(parts)
    begin, touched = from_ns, state.obstacle
    ramps = _note_commands(driven, state, log, (to_ns - from_ns) * 1e-9)
    while begin < to_ns:
        left_ns = to_ns - begin
        longest_ns = lengths.brief if ramps else longest_step_ns(lengths, driven, wheel_body, state)
        end = begin + left_ns // -(-left_ns // longest_ns)
        dt, last_ns = (end - begin) * 1e-9, log.counts[LAST_NS]
        before = touched.force[PORT], touched.force[STARBOARD], touched.gap[PORT], touched.gap[STARBOARD]
        _fill(gas, cylinder, mounts, state, dt)
        call_at(run, scene, 1, dt)
        _note_contact(sensing, state, log, before, last_ns, begin)
        _note_plate(sensing, state, log, before, begin, (begin - last_ns) * 1e-9)
        _take_samples(sensing, wheel_body, state, log, before, last_ns, begin, end)
        log.counts[LAST_NS] = begin
        begin = end


@kernel
def longest_step_ns(lengths: StepLengths, driven: IntArray, wheel_body: IntArray, state: VehicleState) -> int:
    """Longest step that the state allows [ns]; a gap to the obstacle is that of the step before.

    `driven` are the wheels that have a motor (models.rover.reduction.Chain.motor_wheel).
    """
    v, drives = state.v, state.drives
    reach = 1e-9 * lengths.steady * _STEPS_AHEAD * (abs(v[0]) + abs(v[1]) + abs(v[2]))
    for gap in state.obstacle.gap:
        if gap < reach:
            return lengths.brief
    for wheel in driven:
        wished = 0.0 if drives.cut[wheel] > 0.0 else drives.set_speed[wheel]
        if abs(wished - v[5 + wheel_body[wheel]]) > _SETTLED:
            return lengths.brief
    return lengths.steady


@kernel
def _note_commands(driven: IntArray, state: VehicleState, log: Log, tick_s: float) -> bool:
    """Keep the set speeds; True: that of a drive has changed since the tick before."""
    ramps = False
    for wheel in driven:
        change = abs(state.drives.set_speed[wheel] - log.set_speed[wheel])
        ramps = ramps or change > _STEADY * tick_s
        log.set_speed[wheel] = state.drives.set_speed[wheel]
    return ramps


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
    before: tuple[float, float, float, float],
    last_ns: int,
    begin: int,
    end: int,
) -> None:
    """Take the samples within a step; forces go on as they have changed in the steps before."""
    if sensing is not None:
        left, right = state.obstacle.force[PORT], state.obstacle.force[STARBOARD]
        left_rate = _steady_rate(log.rates, PORT, left - before[PORT], begin - last_ns)
        right_rate = _steady_rate(log.rates, STARBOARD, right - before[STARBOARD], begin - last_ns)
        across = state.obstacle.point[STARBOARD, 0] - sensing.origin[0]
        up = state.obstacle.point[STARBOARD, 1] - sensing.origin[1]
        taken_at = log.counts[SAMPLES] * 1_000_000_000 // sensing.rate_hz
        while taken_at <= end:
            row = log.counts[SAMPLES] % RING
            noise, volts, since = sensing.noise[row], log.volts[row], 1.0 / sensing.rate_hz
            _disturb(sensing.disturbance, wheel_body, state, log, taken_at, since, noise)
            force = max(right + right_rate * (taken_at - begin), 0.0)
            force = snapped(sensing.snap_back, STARBOARD, force, taken_at * 1e-9, since)
            if volts.size == TRIANGLE:
                sample(sensing.piezo, sensing.state, force, across, up, since, noise, volts, sensing.disturbance)
            elif sensing.piezo.rear_reach > 0.0:
                lever, drag = state.obstacle.point[STARBOARD, 1], state.obstacle.drag[STARBOARD]
                sample_links(
                    sensing.piezo, sensing.state, force, across, lever, since, noise, volts, sensing.disturbance, drag
                )
            else:
                other = max(left + left_rate * (taken_at - begin), 0.0)
                other = snapped(sensing.snap_back, PORT, other, taken_at * 1e-9, since)
                sample_pair(sensing.piezo, sensing.state, other, force, since, noise, volts, sensing.disturbance)
            log.counts[SAMPLES] += 1
            taken_at = log.counts[SAMPLES] * 1_000_000_000 // sensing.rate_hz


@kernel
def _steady_rate(rates: FloatArray, wheel: int, change: float, over_ns: int) -> float:
    """Rate of a force [N/ns]: the smaller of the last two; 0 if their signs differ.

    So a force that jumps, because a grouser touches or slips off, is not taken to go on like that.
    """
    rate = change / over_ns if over_ns > 0 else 0.0
    before, rates[wheel] = rates[wheel], rate
    return math.copysign(min(abs(before), abs(rate)), rate) if before * rate > 0.0 else 0.0


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
    sensing: Sensing | None,
    state: VehicleState,
    log: Log,
    before: tuple[float, float, float, float],
    now_ns: int,
    dt: float,
) -> None:
    if sensing is not None and log.counts[HIT] != 0:
        across = state.obstacle.point[STARBOARD, 0] - sensing.origin[0]
        up = state.obstacle.point[STARBOARD, 1] - sensing.origin[1]
        loads, last = (state.obstacle.force[PORT], state.obstacle.force[STARBOARD]), (before[PORT], before[STARBOARD])
        note_plate(log.plate, sensing.piezo, across, up, loads, last, now_ns * 1e-9, dt)


@kernel
def _note_contact(
    sensing: Sensing | None,
    state: VehicleState,
    log: Log,
    before: tuple[float, float, float, float],
    last_ns: int,
    now_ns: int,
) -> None:
    """The peak of the force, and the first touch: where the gap, linear in time, was 0.

    With one plate of sensors the first touch is that of its wheel: the other wheel may be ahead, on a plate without.
    """
    total = 0.0
    for force in state.obstacle.force:
        total += force
    log.ground_truth[PEAK] = max(log.ground_truth[PEAK], total)
    alone = sensing is not None and has_one_plate(sensing.piezo, log.volts.shape[1])
    watched = range(STARBOARD if alone else PORT, state.obstacle.force.size)
    if log.counts[HIT] == 0:
        touched, since = False, 0.0
        for wheel in watched:
            touched = touched or state.obstacle.force[wheel] > 0.0
            gap, last_gap = state.obstacle.gap[wheel], before[2 + wheel]
            if gap < 0.0 <= last_gap:
                since = max(since, gap / (gap - last_gap))
        if touched:
            log.counts[HIT], log.counts[HIT_NS] = 1, now_ns - int(since * (now_ns - last_ns))
            log.ground_truth[HIT_SPEED] = state.v[0]
            for a in range(log.hit_q.size):
                log.hit_q[a] = state.q[a]
            for a in range(log.hit_v.size):
                log.hit_v[a] = state.v[a]


def make_log(state: VehicleState, channels: int) -> Log:
    """Allocate the log of a plant with this vehicle."""
    hit = np.zeros_like(state.q), np.zeros_like(state.v)
    return Log(
        np.zeros((RING, channels)),
        np.zeros(4, np.int64),
        np.zeros(2),
        *hit,
        make_plate_truth(channels),
        np.zeros(2),
        np.zeros_like(state.drives.set_speed),
    )
