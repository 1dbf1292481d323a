"""Readings of the instruments of motion in a record, and fits that align them with rig and rover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.spatial.transform import Rotation
from scipy.special import gammaincinv

from hil.messages.layout import Layout
from hil.signals.calibration_fits import CalibrationError

Floats = NDArray[np.float64]
Rows = NDArray[np.void]
Triple = tuple[float, float, float]


class Readings(NamedTuple):
    """Each reading once."""

    t_s: Floats  # (n,) when it was taken, 0 at the start of the run [s]
    values: Floats  # (n, channels) in the instrument's own axes, SI
    rows: NDArray[np.int64]  # (n,) the tick in which it was there first


def new_readings(tick: Rows, role: str) -> Readings:
    """The readings of an instrument: one where its time is not that of the tick before."""
    t_ns: NDArray[np.int64] = tick[f"{role}_t_ns"]
    rows = np.flatnonzero((np.diff(t_ns, prepend=-1) != 0) & (t_ns >= 0))
    return Readings(np.asarray(t_ns[rows] * 1e-9, float), np.asarray(tick[f"{role}_reading"][rows], float), rows)


def rotation(turns_deg: Iterable[float]) -> Rotation:
    """The rotation by roll, pitch, yaw [deg], about x first, then y, then z of axes that do not turn."""
    roll, pitch, yaw = turns_deg
    return Rotation.from_euler("ZYX", (yaw, pitch, roll), degrees=True)


def turns_of(turned: Rotation) -> Triple:
    """Roll, pitch, yaw of a rotation [deg]."""
    yaw, pitch, roll = turned.as_euler("ZYX", degrees=True).tolist()
    return roll, pitch, yaw


def unit(direction: Sequence[float]) -> Floats:
    """A vector of that direction, of length 1."""
    vector = np.asarray(direction, float)
    return np.asarray(vector / np.linalg.norm(vector))


def place_in_rig(readings: Readings, section: Any) -> Floats:
    """Where an instrument outside the rover saw the base of the rover, in the rig's axes (n, 3) [m].

    Of a position the body is taken to be turned as at the start, of a distance only its component along its direction
    is known: it is taken to be straight ahead, and y and z are NaN.
    """
    values, origin, point = readings.values, np.asarray(section.origin_m), np.asarray(section.point_m)
    if section.measures == "distance":
        along = unit(section.direction)
        ahead = (values[:, 0] + origin @ along - point @ along) / along[0] if along[0] else np.full(len(values), np.nan)
        return np.column_stack([ahead, np.full((len(values), 2), np.nan)])
    turn = rotation(section.turn_deg)
    places: Floats = origin + turn.apply(values[:, :3])
    if section.measures == "pose" and len(values):
        return np.asarray(places - base_turned(readings, section).apply(point))
    return np.asarray(places - point)


def base_turned(readings: Readings, section: Any) -> Rotation:
    """How the base of the rover was turned in the rig's axes at each reading of a pose."""
    body = Rotation.from_quat(_whole(readings.values[:, 3:7]))
    return rotation(section.turn_deg) * body * rotation(section.body_turn_deg).inv()


def _whole(quaternions: Floats) -> Floats:
    """Those that are not finite as no rotation: their place is not finite either."""
    good = np.isfinite(quaternions).all(axis=1) & (np.linalg.norm(quaternions, axis=1) > 0.5)
    return np.where(good[:, None], quaternions, [0.0, 0.0, 0.0, 1.0])


def speed_of(t_s: Floats, way: Floats, over_s: float) -> Floats:
    """Speed at each time from distances there (n,) [m/s]: slope of a straight line through the readings of that span.

    Times (n,) rise; ways that are not finite give NaN around them.
    """
    first = np.searchsorted(t_s, t_s - 0.5 * over_s - 1e-9)
    end = np.searchsorted(t_s, t_s + 0.5 * over_s + 1e-9)
    counts = end - first

    def sums(values: Floats) -> Floats:
        total = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(total[end] - total[first])

    centre = float(t_s.mean()) if len(t_s) else 0.0
    t, x = t_s - centre, way - (np.nanmean(way) if np.isfinite(way).any() else 0.0)
    bad = sums((~np.isfinite(x)).astype(float)) > 0
    x = np.nan_to_num(x)
    spread = sums(t * t) - sums(t) ** 2 / counts
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = (sums(t * x) - sums(t) * sums(x) / counts) / spread
    slope[bad | (counts < 3)] = np.nan
    return np.asarray(slope)


# A reading is believed if its squared normalised innovation is in this part of its chi-square distribution.
BELIEVED = 0.9999


def innovation_bound(values: int) -> float:
    """Largest squared normalised innovation of a reading that is believed, over its number of independent values."""
    return float(2.0 * gammaincinv(0.5 * values, BELIEVED)) / values


def independent_values(layout: Layout, role: str) -> int:
    """Of a reading, as a source: a quaternion's four numbers are three turns, and the turn of a wheel is none."""
    channels = [name for name in layout.parts(role) if name not in layout.wheels]
    return len(channels) - 1 if role == "motion" and len(channels) > 3 else max(len(channels), 1)


# Wheels stand below this speed [rad/s] and so many standard deviations of an encoder's noise; a stretch begins and ends
# so long after and before they moved [s].
STANDS_RADPS, STANDS_NOISES, SETTLES_S = 0.005, 5.0, 0.3
LEAST_STANDING_S, LEAST_READINGS = 1.0, 20
# The way that a straight drive needs [m], and the largest delay that is looked for, either way [s].
LEAST_WAY_M, LARGEST_DELAY_S = 0.2, 0.3
# Windows whose means are compared with each other, and with the wheels' acceleration [s].
WINDOW_S = 0.1
# The ground under the wheels is taken to be even within so much from wheel to wheel (standard deviation) [m].
EVEN_M = 0.001


class Number(NamedTuple):
    """A number and its standard deviation."""

    value: float
    sd: float


class _Stretch(NamedTuple):
    """A time in which all wheels stood [s]."""

    begin_s: float
    end_s: float

    def has(self, t_s: Floats) -> NDArray[np.bool_]:
        """Which of these times are in it."""
        return (t_s >= self.begin_s) & (t_s <= self.end_s)


class Travel(NamedTuple):
    """What the wheels drove: t_s (n,) [s], way_m (n,) [m], speed_mps (n,) [m/s], at the rim."""

    t_s: Floats
    way_m: Floats
    speed_mps: Floats


def standing(t_s: Floats, wheel_speed_radps: Floats) -> list[_Stretch]:
    """The times in which all wheels stood for `LEAST_STANDING_S`, without `SETTLES_S` at their ends.

    Speeds (n, wheels) at rising times (n,).
    """
    # A speed is read less often than there are ticks. The second differences leave out what a ramp changes.
    read = wheel_speed_radps[(np.diff(wheel_speed_radps, axis=0, prepend=np.nan) != 0.0).any(axis=1)]
    bends = np.abs(np.diff(read, n=2, axis=0))
    noise = np.nanmedian(bends, axis=0) / (0.6745 * math.sqrt(6.0)) if len(bends) else 0.0
    stands = (np.abs(wheel_speed_radps) < STANDS_RADPS + STANDS_NOISES * noise).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], stands, [False]]).astype(int)))
    found = []
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        begin_s = t_s[first] + (SETTLES_S if first else 0.0)
        end_s = t_s[end - 1] - (SETTLES_S if end < len(t_s) else 0.0)
        if end_s - begin_s >= LEAST_STANDING_S:
            found.append(_Stretch(float(begin_s), float(end_s)))
    return found


def at_rest(readings: Readings, stretches: Sequence[_Stretch], what: str) -> Floats:
    """The readings while the rover stood at first.

    Raises CalibrationError: it did not stand, there are too few readings, or they moved.
    """
    if not stretches:
        raise CalibrationError(f"the wheels did not stand for {LEAST_STANDING_S:g} s: let the rover stand at the start")
    values = readings.values[stretches[0].has(readings.t_s)]
    values = values[np.isfinite(values).all(axis=1)]
    if len(values) < LEAST_READINGS:
        raise CalibrationError(f"{len(values)} readings of {what} while it stood, allowed: {LEAST_READINGS} or more")
    noise, parts = noise_of(values), np.array([part.mean(axis=0) for part in np.array_split(values, 4)])
    # The means of two quarters differ by sqrt(8 / n) of the noise; six times that is no chance.
    moved = np.ptp(parts, axis=0) > 6.0 * noise * math.sqrt(8.0 / len(values)) + 1e-12
    if moved.any():
        worst = int(np.argmax(np.ptp(parts, axis=0) / (noise + 1e-12)))
        raise CalibrationError(
            f"{what} moved while the wheels stood: channel {worst + 1} by {np.ptp(parts[:, worst]):.3g} with "
            f"{noise[worst]:.2g} of noise; let nothing touch rover or instrument"
        )
    return values


def noise_of(values: Floats) -> Floats:
    """Standard deviation of each channel of readings (n, channels), from the differences of neighbours."""
    return np.asarray(np.diff(values, axis=0).std(axis=0) / math.sqrt(2.0))


class StraightDrive(NamedTuple):
    """A straight drive as an instrument saw it."""

    direction: Floats  # (channels,) of the way at its beginning, in the instrument's axes, of length 1
    scale: Number  # way of the instrument by that of the wheels
    late_s: Number  # how much later than the wheels the readings are
    cross_sd: float  # of the direction, across it [rad]


def straight_drive(readings: Readings, wheels: Travel) -> StraightDrive:
    """Direction, scale and delay of the places (n, channels) of a straight drive, against the wheels' distance.

    The places are fitted by A + d w(t - late) + c w(t - late)^2, where w is the distance that the wheels drove: d is
    the tangent at the start, so that a rover that veers evenly does not turn it.

    Raises CalibrationError: the wheels did not drive far enough, or the readings did not follow them.
    """
    good = np.isfinite(readings.values).all(axis=1)
    t, places = readings.t_s[good], readings.values[good]
    far = float(np.ptp(wheels.way_m)) if len(wheels.way_m) else 0.0
    if far < LEAST_WAY_M:
        raise CalibrationError(f"the wheels drove {far:.3g} m at most, allowed: {LEAST_WAY_M:g} m or more, straight")
    inside = (t > wheels.t_s[0] + LARGEST_DELAY_S) & (t < wheels.t_s[-1] - LARGEST_DELAY_S)
    t, places = t[inside], places[inside]
    if len(t) < LEAST_READINGS:
        raise CalibrationError(f"{len(t)} readings in the drive, allowed: {LEAST_READINGS} or more")

    def design(late_s: float) -> Floats:
        way = np.interp(t - late_s, wheels.t_s, wheels.way_m)
        return np.column_stack([np.ones(len(t)), way, way * way])

    def solved(late_s: float) -> tuple[Floats, Floats]:
        columns = design(late_s)
        solution = np.linalg.lstsq(columns, places, rcond=None)[0]
        return solution, places - columns @ solution

    best = minimize_scalar(
        lambda late_s: float((solved(late_s)[1] ** 2).sum()),
        bounds=(-LARGEST_DELAY_S, LARGEST_DELAY_S),
        method="bounded",
        options={"xatol": 1e-6},
    )
    late_s = float(best.x)
    solution, left = solved(late_s)
    slope, scale = solution[1], float(np.linalg.norm(solution[1]))
    if scale < 0.2 or scale > 5.0:
        raise CalibrationError(f"the instrument saw {scale:.3g} of the wheels' distance, allowed: 0.2 to 5")
    direction = slope / scale
    # Neighbours' residuals are alike where the model is not exact: as many numbers count as their correlation leaves.
    columns, spread = design(late_s), math.sqrt(float((left**2).mean()) * _alike(left))
    rate = np.interp(t - late_s, wheels.t_s, wheels.speed_mps) * scale
    jacobian = np.column_stack([columns, -rate])
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * spread**2
    return StraightDrive(
        direction,
        Number(scale, math.sqrt(covariance[1, 1])),
        Number(late_s, math.sqrt(covariance[3, 3])),
        math.sqrt(covariance[1, 1]) / scale,
    )


def sheared(late_s: Number, least_s: float, most_s: float) -> Number:
    """A delay without that by which the soil is sheared before the rover follows its wheels.

    By how much is not known: by anything from `least_s` to `most_s`, each as likely.
    """
    shear_sd = (most_s - least_s) / math.sqrt(12.0)
    return Number(late_s.value - 0.5 * (least_s + most_s), math.hypot(late_s.sd, shear_sd))


def _alike(left: Floats) -> float:
    """By how much fewer residuals (n, channels) are independent than there are."""
    centred = left - left.mean(axis=0)
    power = float((centred**2).sum())
    if power == 0.0:
        return 1.0
    factor = 1.0
    for lag in range(1, len(left) // 4):
        correlation = float((centred[lag:] * centred[:-lag]).sum()) / power
        if correlation < 0.05:
            break
        factor += 2.0 * correlation
    return factor


def turn_from_drive(direction: Floats, roll_deg: float) -> Triple:
    """Roll, pitch, yaw [deg] of an instrument's axes in the rig's, whose x is the way that it saw.

    The way (3,) is in the axes of the instrument. The roll is known, of a levelled instrument: a straight way does not
    tell it.
    """
    x, y, z = Rotation.from_euler("x", roll_deg, degrees=True).apply(direction).tolist()
    return roll_deg, math.degrees(math.atan2(z, x)), math.degrees(math.atan2(-y, math.hypot(x, z)))


def levelled(force: Floats, up: Floats, yaw_deg: float) -> Triple:
    """Roll, pitch, yaw [deg] of a unit's axes in those of the body, from the mean specific force while it stands.

    The force (3,) is in the axes of the unit [m/s^2], `up` (3,) the unit vector against gravity in those of the body;
    the yaw is known.
    """
    x, y, z = (force / np.linalg.norm(force)).tolist()
    wanted = Rotation.from_euler("z", -yaw_deg, degrees=True).apply(up)
    roll = math.atan2(y, z) - math.asin(min(max(float(wanted[1]) / math.hypot(y, z), -1.0), 1.0))
    along = y * math.sin(roll) + z * math.cos(roll)
    pitch = math.atan2(float(wanted[0]), float(wanted[2])) - math.atan2(x, along)
    return math.degrees(roll), math.degrees(pitch), yaw_deg


def yaw_from_drive(readings: Readings, mean_force: Floats, level: Triple, wheels: Travel) -> Number:
    """Yaw of a unit's axes [deg] from the accelerations of a straight drive, against those of the wheels.

    `mean_force` (3,) is that while it stood; `level` has roll and pitch of its axes, its yaw 0 [deg].

    Raises CalibrationError: there are no accelerations to compare.
    """
    force = rotation(level).apply(readings.values[:, :3] - mean_force)
    begin, end = max(readings.t_s[0], wheels.t_s[0]), min(readings.t_s[-1], wheels.t_s[-1])
    edges = np.arange(begin, end, WINDOW_S)
    place = np.searchsorted(readings.t_s, edges)
    counts = np.diff(place)
    full = counts > 0
    if len(edges) < LEAST_READINGS or not full.any():
        raise CalibrationError("too few readings for an acceleration")
    sums = np.diff(np.concatenate([np.zeros((1, 2)), np.cumsum(force[:, :2], axis=0)])[place], axis=0)[full]
    means = sums / counts[full][:, None]
    wanted = (np.diff(np.interp(edges, wheels.t_s, wheels.speed_mps)) / WINDOW_S)[full]
    power = float(wanted @ wanted)
    if power == 0.0:
        raise CalibrationError("the wheels did not change their speed: no acceleration gives the yaw of the unit")
    along, across = (wanted @ means / power).tolist()
    left = means - np.outer(wanted, [along, across])
    size = math.hypot(along, across)
    sd = math.sqrt(float((left**2).mean()) / power) / max(size, 1e-9)
    return Number(math.degrees(math.atan2(-across, along)), math.degrees(sd))


def standing_attitude(quaternions: Floats) -> tuple[Rotation, float]:
    """Mean attitude while the rover stood, and the standard deviation of one reading about an axis [deg]."""
    each = Rotation.from_quat(quaternions)
    mean = each.mean()
    off = (mean.inv() * each).as_rotvec(degrees=True)
    return mean, float(np.sqrt((noise_of(off) ** 2).mean()))


def relative_turn(outer: Rotation, inner: Rotation) -> Triple:
    """Roll, pitch, yaw [deg] of one rotation after another."""
    return turns_of(outer * inner)
