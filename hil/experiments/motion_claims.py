"""What a run says of the rover's motion, next to what is known: the truth of a simulated rig, or what is measured.

A difference is allowed that follows from what the twin is not told (decision 111):

- the plant's spread (`plant.spread`), three standard deviations. What mass and soil decide is the way that the wheels
  slip: its deviation is that of the rover's mass, the ground's stiffness and its slip modulus together;
- the accuracy that the observer states, or that the instrument has, likewise three standard deviations;
- a hundredth, within which twin and simulated rig agree on the same rig, and the time between two rows of the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.config.rig import Rig
from hil.experiments.base import FinishedRun, Summary
from hil.experiments.summary import NORMAL, finite, window_mean
from hil.experiments.summary_table import ALONE, MEASURED, SIMULATED, TRUTH_CHECK, Claim
from hil.messages.layout import INSTRUMENTS
from hil.recording.content import Recorded, in_blocks
from models.plant.motion_history import BY_WHEEL, EVERY_NS, PITCH, ROLL, TIME, X, Z

# Standard deviations that are allowed, what twin and simulated rig of one config agree within, and a way [m] and an
# angle [rad] below which their numbers end: a standing rover creeps so far, and the truth is kept to six digits.
DEVIATIONS, EXACT, LEAST_M, LEAST_RAD = 3.0, 0.01, 1e-3, 1e-3
# Rows over which a way is taken as straight: a second.
_STRAIGHT = 1_000_000_000 // EVERY_NS
_OF_OBSERVER = "pose_sd"


def truth_check(run: FinishedRun, claims: Sequence[Claim] | None) -> tuple[Summary, list[str]]:
    """Key `truth_check` as docs/reference/summary.md has it, and the reasons that follow from it.

    What nobody else knows is by the twin alone.

    Args:
        run: that went through or not.
        claims: of its experiment; None: its motion.
    """
    claims = motion_claims(run) if claims is None else claims
    by = source_of(run) if any(one.ok is not None for one in claims) else ALONE if claims else None
    values = [
        {
            "name": one.name,
            "unit": one.unit,
            "claimed": finite(one.claimed),
            "known": finite(one.known),
            "allowed": finite(one.allowed),
            "ok": one.ok,
        }
        for one in claims
    ]
    reasons = [one.words(by or ALONE) for one in claims if one.ok is False] if run.experiment.done else []
    return {TRUTH_CHECK: {"by": by, "values": values}}, reasons


def source_of(run: FinishedRun) -> str:
    """Who knows how the rover moved, but for its twin."""
    return MEASURED if run.config.rig == "real" else SIMULATED


def slip_deviation(rig: Rig) -> float:
    """Standard deviation of the slip, relative, that follows from `plant.spread`: mass, stiffness and slip modulus."""
    spread = rig.config.plant.spread
    return math.sqrt(spread.mass**2 + 2.0 * spread.soil**2)


def motion_claims(run: FinishedRun, *, loads: bool = True) -> list[Claim]:
    """Way, tilt and mean wheel loads while the drives are powered, until the obstacle is hit.

    Args:
        run: with the rover's motion.
        loads: the run gives mean wheel loads, which are the twin's where no leg sensors measure them.

    Returns:
        None of a rover that a winch or a person holds: its experiment takes pull and slip from the rig and not from the
        twin. None where the record has no motion.
    """
    rig, layout = run.rig, run.rig.layout
    if not layout.motion or not layout.wheels or run.config.section.winch is not None:
        return []
    if "pose" not in (run.ticks[:0].dtype.names or ()):  # of an earlier version
        return []
    hit_ns = run.ground_truth.hit_ns if run.config.section.obstacle else None
    true_motion = run.ground_truth.motion
    rows = _driven(run.ticks, None if true_motion is None else true_motion[:, TIME], hit_ns, rig.rate_hz)
    if len(rows) < 2:
        return []
    moved = rows["pose"][:, :3].astype(np.float64)
    rims = rows["wheel_speed_radps"] * np.array(run.config.wheel_radii_m)
    slipped_m = float(np.nan_to_num(np.abs(rows["slip"] * rims)).mean(axis=1).sum()) * 1e-9 * EVERY_NS
    way_m = _way(moved)
    off_m = DEVIATIONS * (slip_deviation(rig) * slipped_m + _of_observer(rows, slice(0, 3)) * math.sqrt(2.0))
    off_m += EXACT * way_m + float(np.abs(rows["speed_mps"]).max()) * 1e-9 * EVERY_NS + LEAST_M
    if run.config.rig == "real":
        return [_measured_way(rig, rows, way_m, off_m)]
    if true_motion is None:
        return [Claim("distance", "m", way_m, math.nan, off_m)]
    times = np.rint(true_motion[:, TIME] * 1e9).astype(np.int64)
    true = true_motion[np.searchsorted(times, rows["t_ns"] - EVERY_NS // 2).clip(0, len(times) - 1)]
    claims = [Claim("distance", "m", way_m, _way(true[:, X : Z + 1]), off_m)]
    claims += _tilts(rig, rows, true, off_m)
    return [*claims, *(_loads(rig, rows, true) if loads and not layout.leg_sensors else [])]


def traction_claims(run: FinishedRun, summary: Summary) -> list[Claim]:
    """What load cell and instruments measured of a traction, next to the simulated rig's own; none of a real rig.

    Allowed are three standard deviations of what each states of itself, and a hundredth. What the twin says of slip and
    speed is not asked: where nothing measures them, they are the simulated rig's.
    """
    known, cell = run.ground_truth.traction, run.config.loads and run.config.loads.load_cell
    if known is None:
        return []
    claims, pull_N = [], summary["pull_N"]
    if cell and pull_N is not None:
        stated_N = math.hypot(cell.sensitivity_u95 * pull_N, cell.zero_u95 * cell.force_N)
        off_N = DEVIATIONS / NORMAL * stated_N + EXACT * abs(pull_N)
        claims.append(Claim("drawbar pull", "N", pull_N, known.pull, off_N))
    for name, unit, key, half, true in (
        ("slip", "", "slip", "slip_u95", known.slip),
        ("forward speed", "m/s", "speed_mps", "speed_u95_mps", known.speed),
    ):
        value, u95 = summary[key], summary.get(half)
        if value is not None and u95 is not None:
            claims.append(Claim(name, unit, value, true, DEVIATIONS / NORMAL * u95 + EXACT * abs(value)))
    return claims


def _driven(
    ticks: Recorded, times_s: NDArray[np.float64] | None, hit_ns: int | None, rate_hz: float
) -> NDArray[np.void]:
    """Rows in which the drives are powered, at the times of the truth or as far apart, before the hit."""
    last_ns = np.iinfo(np.int64).max if hit_ns is None else hit_ns
    period_ns, kept, before = round(1e9 / rate_hz), [], 0
    for block in in_blocks(ticks):
        if not len(block):
            continue
        t_ns = block["t_ns"]
        if times_s is None:
            places = np.flatnonzero(np.diff(t_ns // EVERY_NS, prepend=before) > 0)
            before = int(t_ns[-1]) // EVERY_NS
        else:  # the tick of that time, which lies in one block
            first_ns = np.rint(times_s * 1e9).astype(np.int64) - period_ns // 2
            places = np.searchsorted(t_ns, first_ns)
            first_ns, places = first_ns[places < len(t_ns)], places[places < len(t_ns)]
            places = places[t_ns[places] < first_ns + period_ns]
        rows = block[places]
        kept.append(rows[(rows["cut"] == 0) & (rows["t_ns"] < last_ns) & np.isfinite(rows["pose"]).all(axis=1)])
    return np.concatenate(kept) if kept else np.zeros(0, ticks[:0].dtype)


def _way(places: NDArray[np.float64]) -> float:
    """Length of a path (n, 3) [m], its stretches of a second taken as straight."""
    corners = np.concatenate([places[:-1:_STRAIGHT], places[-1:]])
    return float(np.linalg.norm(np.diff(corners, axis=0), axis=1).sum())


def _of_observer(rows: NDArray[np.void], which: slice) -> float:
    """Largest standard deviation that the observer states of the pose; 0: there is none."""
    if _OF_OBSERVER not in (rows.dtype.names or ()):
        return 0.0
    stated = rows[_OF_OBSERVER][:, which]
    return float(np.nanmax(stated)) if np.isfinite(stated).any() else 0.0


def _tilts(rig: Rig, rows: NDArray[np.void], true: NDArray[np.float64], off_m: float) -> Iterator[Claim]:
    """Largest pitch and roll: axles that are elsewhere by so much turn the body by that over their distance."""
    x, y, z, w = rows["pose"][:, 3:].T.astype(np.float64)
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    rover = rig.nominal.make_rover()
    places = rover.wheel_positions(rover.neutral())
    for name, found, column, axis in (("largest pitch", pitch, PITCH, 0), ("largest roll", roll, ROLL, 1)):
        base_m = float(np.ptp(places[:, axis]))
        if base_m > 0.0:
            known = np.degrees(true[:, column])
            allowed = math.atan2(off_m, base_m) + LEAST_RAD + DEVIATIONS * _of_observer(rows, slice(3, 5))
            yield Claim(name, "deg", _extreme(np.degrees(found)), _extreme(known), math.degrees(allowed))


def _extreme(values: NDArray[np.float64]) -> float:
    return float(values[np.abs(values).argmax()])


def _loads(rig: Rig, rows: NDArray[np.void], true: NDArray[np.float64]) -> Iterator[Claim]:
    """Mean load of each wheel; masses decide it, and means of loads that scatter are as uncertain as their scatter."""
    mean_N = float(true[:, BY_WHEEL + len(rig.layout.wheels) :].mean())
    for wheel, name in enumerate(rig.layout.wheels):
        claimed, known = rows["normal_force_N"][:, wheel].astype(np.float64), true[:, wheel - len(rig.layout.wheels)]
        scatter = window_mean(claimed - known).u95
        allowed = DEVIATIONS * rig.config.plant.spread.mass * mean_N + EXACT * mean_N + scatter
        yield Claim(f"load of {name.replace('_', ' ')}", "N", float(claimed.mean()), float(known.mean()), allowed)


def _measured_way(rig: Rig, rows: NDArray[np.void], way_m: float, off_m: float) -> Claim:
    """The way by the readings of the instrument alone, whatever its axes; a point off the base turns with it."""
    motion = rig.config.motion
    if motion is None:
        return Claim("distance", "m", way_m, math.nan, off_m)
    read: NDArray[Any] = rows[f"{INSTRUMENTS[0]}_reading"][:, :3]  # what follows is a turn
    read = read[(rows[f"{INSTRUMENTS[0]}_t_ns"] >= 0) & np.isfinite(read).all(axis=1)]
    if len(read) < 2:
        return Claim("distance", "m", way_m, math.nan, off_m)
    seconds = len(rows) / _STRAIGHT + 1.0
    off_m += DEVIATIONS * motion.noise_m * math.sqrt(2.0 * seconds)
    x, y, z, w = rows["pose"][:, 3:].T.astype(np.float64)
    yaw = np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))
    off_m += math.hypot(*motion.point_m) * float(np.abs(np.diff(yaw)).sum())
    return Claim("distance", "m", way_m, _way(read.astype(np.float64)), off_m)
