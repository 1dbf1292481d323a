"""Force sensors under a plate in the ground: what may stand on it, and the force of each axle that hits it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.crossing.judgement import PHASES, Course, Floats
from hil.experiments.summary import finite
from hil.experiments.summary_table import SummaryKey
from hil.messages.fault import Check, Fault
from hil.recording.content import Recorded, in_blocks, packed, per_part
from models.contact.profile_contact import SensedFace
from models.rover.locks import held_rover
from models.sensors.piezo import bearing_shares
from models.statics import NoSteadyStateError

# A contact begins where a wheel is nearer than this to the plate [m]: the twin's wheels are pressed in by less.
_NEAR_M = 1e-4
# The speed at a hit is the slope of a parabola through the path over this time before it [s]: a wheel that falls gains
# 0.2 m/s in it, which the parabola has.
_SPEED_S = 0.02
# A hit's peak lies within this time after it [s], and the twin may be late by the second. What stands there before it
# is the least mean over the third, a period of the plate's ring: another axle may leave just before.
_PEAK_S, _LATE_S, _MEAN_S = 0.3, 0.1, 0.05
_EVERY = 10  # ticks between the poses in which a hit is first looked for
_STEPS = 200  # places of the rover along the plate at which its sensors' static load is worked out

RESULTS = (
    SummaryKey("plate_hit_axle", "axles (`front`, `middle`, `rear`, or numbers) in the order in which they come to the "
        "plate of `ground.profile.plate`, by the twin; this and the next keys only with such a plate", "axles on the "
        "plate", when="plate_hit_s"),
    SummaryKey("plate_hit_s", "when each did", "they come at", 2, "s", when="plate_hit_s"),
    SummaryKey("plate_hit_energy_J", "T_c of all wheels of that axle then, along the plate's normal, of the twin",
        "T_c, twin", 4, "J", when="plate_hit_s"),
    SummaryKey("plate_hit_energy_true_J", "that of the first, of the simulated rig", "T_c of the first, simulated rig",
        4, "J", when="plate_hit_s"),
    SummaryKey("plate_hit_force_N", "largest rise of the sum of the sensors from 0.1 s before it to 0.3 s after",
        "force at each hit", 0, "N", when="plate_hit_s"),
    SummaryKey("plate_peak_N", "largest sum of the sensors", "largest force on the plate", 0, "N", when="plate_hit_s"),
    SummaryKey("plate_left_N", "sum of the sensors at the end, if by the twin no wheel is on the plate; over "
        "`crossing.left_share` of the largest the run is not accepted", "force left on the empty plate", 1, "N",
        when="plate_hit_s"),
)  # fmt: skip


class _Approach(NamedTuple):
    """An axle that comes to the plate."""

    axle: str
    t_s: float
    energy_J: float  #: T_c of its wheels


def static_load_checks(rig: Rig) -> list[Check]:
    """The largest force of the resting wheel loads on each sensor, wherever they stand, against its range."""
    config, daq = rig.config, rig.config.daq
    plate = rig.nominal.ground.sensed_under(rig.nominal.make_rover())
    if plate is None or daq is None:
        return []
    to_do = "put the sensors farther apart, or take ones of a larger range (daq.channels, daq.range_V)"
    checks = []
    for name, load_N, sensitivity in zip(
        config.layout.channels, _static_N(rig, plate).tolist(), config.sensitivities_mVpN, strict=True
    ):
        full_N = 1e3 * daq.range_V / sensitivity
        limit_N = min(full_N, rig.limits.sensor_force_N or math.inf)
        key = "limits.sensor_force_N" if limit_N < full_N else "daq.range_V over its sensitivity"
        found, allowed = f"{load_N:.0f} N of weight alone", f"at most {limit_N:.4g} N ({key})"
        checks.append(Check(f"standing wheels on sensor {name}", load_N <= limit_N, found, allowed, to_do))
    return checks


def _static_N(rig: Rig, plate: SensedFace) -> Floats:
    """(channels,) largest part of the resting loads on each sensor while the wheels pass over the plate [N]."""
    daq, rover = rig.config.daq, rig.nominal.make_rover()
    assert daq is not None
    try:
        loads = np.array(rig.resting_loads_N)
    except NoSteadyStateError:
        return np.zeros(len(daq.channels))
    places, sensors = rover.wheel_positions(rover.neutral()), np.array(daq.places_m)
    largest, under = np.zeros(len(sensors)), plate.under == 1
    ahead, left, weight = places[under, 0], places[under, 1], loads[under] * max(math.cos(plate.angle), 0.0)
    for at in np.linspace(plate.first - np.ptp(ahead), plate.last + np.ptp(ahead), _STEPS):
        up = at + ahead - ahead.mean()
        on = (plate.first <= up) & (up <= plate.last)
        if on.any():
            load = float(weight[on].sum())
            across, along = (np.array([left[on], up[on]]) * weight[on]).sum(axis=1) / load - plate.middle
            largest = np.maximum(largest, load * np.array(bearing_shares(sensors, across, along)))
    return largest


def plate_results(run: FinishedRun, course: Course) -> Summary:
    """`RESULTS` of a run; no keys without a plate."""
    plate = run.rig.nominal.ground.sensed_under(course.rover)
    if plate is None:
        return {}
    approaches, empty = _approaches(run.rig, course, plate, run.ticks)
    rows = [packed(block, ["t_ns", "force_sum_N"]) for block in in_blocks(run.ticks)]
    force = np.concatenate(rows) if rows else np.zeros(0, [("t_ns", "i8"), ("force_sum_N", "f8")])
    t_s, total = force["t_ns"] * 1e-9, force["force_sum_N"].astype(np.float64)
    ground_truth = run.ground_truth
    return {
        "plate_hit_axle": [one.axle for one in approaches],
        "plate_hit_s": [finite(one.t_s) for one in approaches],
        "plate_hit_energy_J": [finite(one.energy_J) for one in approaches],
        "plate_hit_energy_true_J": finite(ground_truth.hit_energy) if ground_truth.hit_ns is not None else None,
        "plate_hit_force_N": [_risen_N(t_s, total, one.t_s) for one in approaches],
        "plate_peak_N": finite(float(total.max())) if len(total) else None,
        "plate_left_N": finite(float(total[t_s >= t_s[-1] - _PEAK_S].mean())) if empty and len(total) else None,
    }


def plate_reasons(run: FinishedRun, course: Course, found: Summary) -> list[str]:
    """Why a crossing of a plate would not be accepted by its sensors."""
    if "plate_hit_s" not in found:
        return []
    reasons, logger, share = [], run.cycle.tick_logger, run.config.crossing.left_share
    if logger.saturated or any(event.alarm.fault is Fault.ADC_SATURATED for event in run.cycle.safety.warnings):
        reasons.append("a sensor under the plate reached the end of its range")
    axles = course.rover.axles()
    if len(found["plate_hit_s"]) < len(axles):
        reasons.append(f"{len(found['plate_hit_s'])} of {len(axles)} axles came to the plate")
    left_N, peak_N = found["plate_left_N"], found["plate_peak_N"]
    if left_N is not None and peak_N and abs(left_N) > share * peak_N:
        reasons.append(
            f"{left_N:.1f} N were left on the empty plate, allowed: {share:g} of the largest force, {peak_N:.0f} N "
            "(crossing.left_share): the droop of the AC coupling cannot be inverted"
        )
    return reasons


def _risen_N(t_s: Floats, total: Floats, at_s: float) -> float | None:
    near = total[(t_s >= at_s - _LATE_S - _MEAN_S) & (t_s < at_s + _PEAK_S)]
    if len(near) < 2:
        return None
    stood = np.minimum.accumulate(uniform_filter1d(near, max(round(_MEAN_S / (t_s[1] - t_s[0])), 1)))
    return finite(float((near - stood).max()))


def _approaches(rig: Rig, course: Course, plate: SensedFace, ticks: Recorded) -> tuple[list[_Approach], bool]:
    """Each axle that comes to the plate while the rover drives, in order; and whether none is on it in the end."""
    joints = {"joint_angle_rad"} & set(ticks[:0].dtype.names or ())
    rows = [packed(block, ["t_ns", "state", "pose", *joints]) for block in in_blocks(ticks)]
    rows = [one[np.isin(one["state"], list(PHASES)) & np.isfinite(one["pose"]).all(axis=1)] for one in rows]
    if not sum(map(len, rows)):
        return [], False
    moved, rover = np.concatenate(rows), course.rover
    found, on = [], False
    for number, axle in enumerate(rover.axles()):
        wheels = [rover.wheel_names.index(name) for name in axle]
        under = [wheel for wheel in wheels if plate.under[wheel]]
        if not under:
            continue
        coarse = _gap_m(rig, course, plate, moved[::_EVERY], under)
        on = on or bool(coarse[-1] < _NEAR_M)
        near = np.flatnonzero(coarse < _NEAR_M)
        if not len(near):
            continue
        first = max(int(near[0]) * _EVERY - _EVERY, 0)
        fine = _gap_m(rig, course, plate, moved[first : first + _EVERY + 1], under)
        at = first + int(np.flatnonzero(fine < _NEAR_M)[0])
        energy_J = _energy_J(rig, course, plate, moved[max(at - round(_SPEED_S * rig.rate_hz), 0) : at], axle)
        found.append(_Approach(_axle_name(number, len(rover.axles())), float(moved["t_ns"][at]) * 1e-9, energy_J))
    return sorted(found, key=lambda one: one.t_s), not on


def _axle_name(number: int, count: int) -> str:
    names = {1: ("front",), 2: ("front", "rear"), 3: ("front", "middle", "rear")}.get(count)
    return names[number] if names else str(number + 1)


def _paths(rig: Rig, course: Course, rows: NDArray[Any]) -> Floats:
    poses = rows["pose"].astype(np.float64)
    return course.paths(poses, rig.layout.turning, per_part(rows, "joint_angle_rad"))


def _gap_m(rig: Rig, course: Course, plate: SensedFace, rows: NDArray[Any], wheels: list[int]) -> Floats:
    """Least distance of these wheels' rims to the plate (n,) [m]."""
    paths, radius = _paths(rig, course, rows), course.rover.chain.wheel_radius
    begin, along = course.line[plate.face], np.array([math.cos(plate.angle), math.sin(plate.angle)])
    gaps = []
    for wheel in wheels:
        place = paths[wheel][:, [0, 2]] - begin
        up = (place @ along).clip(plate.first, plate.last)
        gaps.append(np.linalg.norm(place - up[:, None] * along, axis=1) - radius[wheel])
    least: Floats = np.min(gaps, axis=0)
    return least


def _energy_J(rig: Rig, course: Course, plate: SensedFace, rows: NDArray[Any], axle: tuple[str, ...]) -> float:
    """T_c (MacMahon 2016 (3.27)) of an axle at the end of these rows, by the change of its wheels' places.

    Spin does not enter: J v of (3.24) is the speed of the wheels' centres along the plate's normal.
    """
    if len(rows) < 5:
        return math.nan
    paths, names = _paths(rig, course, rows), course.rover.wheel_names
    t_s = (rows["t_ns"] - rows["t_ns"][-1]).astype(np.float64) * 1e-9
    toward = np.array([math.sin(plate.angle), 0.0, -math.cos(plate.angle)])
    moved = np.stack([paths[names.index(name)] @ toward for name in axle], axis=1)
    speed = np.polyfit(t_s, moved - moved[-1], 2)[1]
    q = course.configuration(rows["pose"][-1], rig.layout.turning, per_part(rows, "joint_angle_rad")[-1])
    rover, q, _ = held_rover(course.rover, q, np.zeros(course.rover.nv), rig.layout.servos)
    jacobian = rover.impact_jacobian(q, plate.angle, axle)
    mobility = jacobian @ np.linalg.solve(rover.mass_matrix(q), jacobian.T)
    return 0.5 * float(speed @ np.linalg.pinv(mobility, hermitian=True) @ speed)
