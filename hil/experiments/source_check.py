"""Whether the instrument outside can be believed: whether it drifts, and whether its times are right.

While the rover drives, a drift of a few mm/s looks like wheels that are larger than the config says. At rest only a
rover that still creeps, or a body that settles, looks like it. What is found bounds the drift; it makes no run invalid.

A reading that is later than its time says shows where the wheels start and stop: there the path of the readings is held
against that of the rims, with a factor between them, for the slip. The observer, which the readings have moved, has
no part in it but for the tilt of the body. A run whose readings are late, or early, beyond chance is not accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from hil.config.rig import Rig
from hil.config.schema.instruments import MotionConfig
from hil.messages.layout import INSTRUMENTS
from hil.recording.content import Recorded, in_blocks
from hil.signals.alignment import SETTLES_S, Floats, Number, Readings, Travel, rotation, sheared, straight_drive, unit
from hil.signals.calibration_fits import CalibrationError

# Time recorded after a drive, drives cut; where the way is measured it is long enough for a drift to show itself.
_AFTER_NS, _STANDS_NS = 200_000_000, 3_000_000_000
# A rover has settled on its ground so long after the last rim was faster than this [m/s], within the distance [m] that
# it still creeps. Soil that was sheared by a pull or a stop goes on giving way for a moment.
_RIM_MPS, _SETTLES_NS, _CREEPS_M = 0.005, 1_000_000_000, 1e-4
# Shorter than this [s], or with fewer readings, a rest says nothing.
_LEAST_S, _LEAST_READINGS = 0.5, 8
# The rims' speed is taken so often [ns], and over so long a way around a start or a stop [m]. It changes until it has
# been this share of its largest one.
_EVERY_NS, _BESIDE_M, _RAMP = 10_000_000, 0.25, 0.9
# A delay further from 0 than so many standard deviations is no chance, as in `hil.experiments.motion_claims`.
_CHANCE = 3.0


class Drift(NamedTuple):
    """How fast the readings of a standing rover move."""

    rate_mps: float
    sd_mps: float


class SourceCheck(NamedTuple):
    """What a run says of its instrument outside."""

    drift: Drift | None = None  #: at the end of the run; None: not known, as where the rover did not stand there
    late_s: Number | None = None  #: how much later than their times say the readings are; None: not known
    unseen: str = ""  #: why it is not known

    def reasons(self) -> list[str]:
        """Why the run is not accepted."""
        if self.late_s is None or abs(self.late_s.value) <= _CHANCE * self.late_s.sd:
            return []
        late_ms, sd_ms = 1e3 * self.late_s.value, 1e3 * self.late_s.sd
        return [
            f"the readings of motion are {abs(late_ms):.0f} ms {'later' if late_ms > 0.0 else 'earlier'} than their "
            f"times say, where the wheels start and stop (standard deviation {sd_ms:.1f}); allowed: "
            f"{_CHANCE * sd_ms:.0f} ms, which is chance. Measured places are off by that times the speed: find "
            "motion.delay_ms with hil calibrate motion, set it, and drive again"
        ]


def rest_ns(motion: MotionConfig | None) -> int:
    """How long the drives are cut at the end of a run in which the rover may be measured by `motion`."""
    return _AFTER_NS if motion is None else _STANDS_NS


def source_check(rig: Rig, ticks: Recorded) -> SourceCheck:
    """Look through the rows of a record once.

    Nothing is said of a rover whose cylinders distribute the wheels' loads: they give way after the cut, and move the
    body. Nor is without wheels, for then nothing says whether the rover stands.
    """
    motion, radii_m = rig.config.motion, np.array(rig.config.wheel_radii_m)
    if motion is None or not len(radii_m):
        return SourceCheck(unseen="there are no wheels to hold it against")
    if rig.layout.controls_loads:
        return SourceCheck(unseen="its cylinders move the body against the wheels")
    name, count = INSTRUMENTS[0], 1 if motion.measures == "distance" else 3
    read, rims, newest = [np.zeros((0, 5 + count))], [np.zeros((0, 2))], [-1, -1]
    moved_ns = -_SETTLES_NS
    for rows in in_blocks(ticks):
        if not len(rows):
            continue
        speeds = rows["wheel_speed_radps"] * radii_m
        moves = rows["t_ns"][(np.abs(speeds).max(axis=1) > _RIM_MPS) | (rows["cut"] == 0)]
        moved_ns = int(moves[-1]) if len(moves) else moved_ns
        read_ns, turned_ns = rows[f"{name}_t_ns"], rows["drives_t_ns"]
        fresh, turned = (
            np.diff(times, prepend=last) != 0
            for times, last in zip((read_ns, turned_ns // _EVERY_NS), newest, strict=True)
        )
        newest = [int(read_ns[-1]), int(turned_ns[-1]) // _EVERY_NS]
        at = np.searchsorted(rows["t_ns"], read_ns[fresh]).clip(0, len(rows) - 1)
        found = [read_ns[fresh] * 1e-9, rows["pose"][at, 3:], rows[f"{name}_reading"][fresh, :count]]
        read.append(np.column_stack(found))
        rims.append(np.column_stack([turned_ns * 1e-9, speeds.mean(axis=1)])[turned & (turned_ns >= 0)])
    whole = np.concatenate(read)
    whole = whole[np.isfinite(whole).all(axis=1) & (whole[:, 0] >= 0.0)]
    t_s, values = whole[:, 0], whole[:, 5:]
    rests = t_s > (moved_ns + _SETTLES_NS) * 1e-9
    drift = _drift(t_s[rests], values[rests], motion.noise_m)
    try:
        return SourceCheck(drift, _late_s(rig, motion, whole, np.concatenate(rims)))
    except CalibrationError as error:
        return SourceCheck(drift, unseen=str(error))


def _drift(t_s: Floats, values: Floats, noise_m: float) -> Drift | None:
    """The slope of the readings (n, count) of a rest."""
    if len(t_s) < _LEAST_READINGS or np.ptp(t_s) < _LEAST_S:
        return None
    span_s, t_s, centred = float(np.ptp(t_s)), t_s - t_s.mean(), values - values.mean(axis=0)
    rates = t_s @ centred / (t_s @ t_s)
    left = centred - np.outer(t_s, rates)
    scatter = math.sqrt(float((left**2).sum()) / (values.shape[1] * (len(t_s) - 2)))
    sd = math.hypot(max(scatter, noise_m) / math.sqrt(float(t_s @ t_s)), _CREEPS_M / span_s)
    return Drift(float(np.linalg.norm(rates)), sd)


def _late_s(rig: Rig, motion: MotionConfig, read: Floats, rims: Floats) -> Number:
    """The weighted mean of start and stop; as uncertain as they contradict each other (Birge 1932).

    Args:
        rig: that ran.
        motion: its section.
        read: (n, 5 + count) time [s], quaternion of the body, values.
        rims: (n, 2) time [s], mean speed [m/s].

    Raises:
        CalibrationError: neither tells anything.
    """
    if rig.section.winch is not None:
        raise CalibrationError("what pulls the rover changes its slip while the wheels start and stop")
    if rig.config.driven:
        raise CalibrationError("driven joints move the body against the wheels")
    arms = Rotation.from_quat(read[:, 1:5]).apply(motion.point_m)
    if motion.measures == "distance":
        along = unit(motion.direction)
        places = read[:, 5:] - (arms @ along)[:, None]
    else:
        places = rotation(motion.turn_deg).apply(read[:, 5:]) - arms
    found, why = [], "the wheels did not start from a rest that was measured"
    readings = Readings(read[:, 0], places, np.arange(len(read)))
    for begin_s, end_s, starts in _ends(rig, readings.t_s, rims):
        inside = (readings.t_s > begin_s) & (readings.t_s < end_s)
        try:
            window = Readings(readings.t_s[inside], places[inside], readings.rows[inside])
            found.append(_beside(rig, motion, window, arms[inside], rims, starts=starts))
        except CalibrationError as error:
            why = str(error)
    if not found:
        raise CalibrationError(why)
    values, sds = np.array(found).T
    weights = sds**-2.0
    mean, sd = float(values @ weights / weights.sum()), float(weights.sum() ** -0.5)
    contradiction = math.sqrt(float(((values - mean) ** 2 @ weights) / max(len(found) - 1, 1)))
    return Number(mean, sd * max(contradiction, 1.0))


def _ends(rig: Rig, t_s: Floats, rims: Floats) -> Iterator[tuple[float, float, bool]]:
    """Times from and to, of the start and of the stop, each with a rest [s]; and whether it is the start.

    A rover that hits an obstacle stops by that, and not by its wheels.
    """
    (moves,) = np.nonzero(np.abs(rims[:, 1]) > _RIM_MPS)
    if not len(moves):
        raise CalibrationError("the wheels did not turn")
    way_m = np.concatenate([[0.0], np.cumsum(np.abs(rims[:-1, 1]) * np.diff(rims[:, 0]))])
    starts_s, stops_s = rims[moves[0], 0], rims[moves[-1], 0]
    first = np.searchsorted(way_m, way_m[moves[0]] + _BESIDE_M)
    if (t_s < starts_s).sum() >= _LEAST_READINGS:
        yield -math.inf, min(rims[min(first, len(rims) - 1), 0], stops_s), True
    settled_s = stops_s + 1e-9 * _SETTLES_NS
    if not rig.layout.channels and ((t_s > stops_s) & (t_s < settled_s)).sum() >= _LEAST_READINGS:
        yield rims[np.searchsorted(way_m, way_m[moves[-1]] - _BESIDE_M), 0], settled_s, False


def _beside(rig: Rig, motion: MotionConfig, readings: Readings, arms: Floats, rims: Floats, *, starts: bool) -> Number:
    """How late the readings around a start or a stop are.

    What the fit does not know is in the standard deviation: how far the soil is sheared, one way before the start, both
    ways after the stop; the slip while the speed changes, from none to twice that next to it; and, of a point that is
    not at the ground, the tilt of the body by wheels that sink in otherwise than the twin's (`estimation`).
    """
    config, (turned_s, speed) = rig.config, rims.T
    along = unit(motion.direction)
    apart_s = 2.0 * SETTLES_S  # before and after the record the wheels stand
    t_s = np.concatenate([[turned_s[0] - apart_s], turned_s, [turned_s[-1] + apart_s]])
    speed = np.concatenate([[0.0], speed, [0.0]])
    way_m = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(t_s))])
    drive = straight_drive(readings, Travel(t_s, way_m, speed))
    inside = (t_s >= readings.t_s[0]) & (t_s <= readings.t_s[-1])
    way_m, speed = way_m[inside], np.abs(speed[inside])
    (fast,) = np.nonzero(speed >= _RAMP * speed.max())
    ramp_m = abs(way_m[fast[0]] - way_m[0] if starts else way_m[-1] - way_m[fast[-1]])
    slipped_m = abs(1.0 - drive.scale.value) * ramp_m / math.sqrt(3.0)
    sinks = 0.8 * math.hypot(config.estimation.mass, config.estimation.soil)  # relative: docs/explanation/observer.md
    leans_m = sinks * float(np.ptp(arms @ (drive.direction if len(drive.direction) > 1 else along)))
    late_s = drive.late_s._replace(sd=math.hypot(drive.late_s.sd, math.hypot(slipped_m, leans_m) / speed.max()))
    shear_s = (config.soil.shear_displacement_m if config.ground.on_soil else 0.0) / float(speed.max())
    return sheared(late_s, 0.0 if starts else -shear_s, shear_s)
