"""How good the observer was against the true motion, and what a drive told of the soil."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.experiments.base import FinishedRun, Summary
from hil.experiments.source_check import SourceCheck
from hil.experiments.summary import finite
from hil.messages.layout import INSTRUMENTS, SOIL_PARAMETERS
from hil.messages.loads import LoadMode
from hil.messages.stages import SOIL_STATES, SOURCE_STATES
from hil.recording.content import Recorded, in_blocks
from models.plant.motion_history import BY_WHEEL, SPEED, TIME, YAW, X, Y

# Slower than this the rover counts as standing.
_DRIVES_MPS = 0.01
_USED, _REJECTED, _LEFT_OUT, _STALE = (SOURCE_STATES.index(name) for name in ("used", "rejected", "left_out", "stale"))
_FIELDS = ("t_ns", "speed_mps", "speed_sd_mps", "pose", "pose_sd", "slip", "normal_force_N")


def estimation_summary(run: FinishedRun) -> Summary:
    """Key `estimation` as docs/reference/summary.md has it; empty for a rig without instruments of motion.

    Errors are root mean squares over the drive until the impact, at the ticks next to the times of the true motion (10
    a second); a simulated rig at the protocol level has its own times.
    """
    if not run.config.layout.instruments:
        return {}
    errors: dict[str, float | None] = dict.fromkeys(("speed_error_mps", "slip_error", "load_error_N", "nees"))
    true_motion = run.ground_truth.motion
    if true_motion is not None and len(true_motion):
        errors |= _errors(_driven(true_motion, run.ground_truth.hit_ns), run.ticks, run.config.loop.rate_hz)
    sources = _sources(run)
    if run.config.motion is not None:
        sources[INSTRUMENTS[0]] |= _checked(run.source)
    return {"estimation": {**errors, "sources": sources}}


def _checked(found: SourceCheck) -> Summary:
    """Drift and delay of the instrument outside, as far as they are known."""
    drift, late_s, values = found.drift, found.late_s, Summary()
    if drift is not None:
        values |= {"drift_mps": drift.rate_mps, "drift_sd_mps": drift.sd_mps}
    if late_s is None:
        return values | {"late_unseen": found.unseen}
    return values | {"late_ms": 1e3 * late_s.value, "late_sd_ms": 1e3 * late_s.sd}


def _driven(true_motion: NDArray[np.float64], hit_ns: int | None) -> NDArray[np.float64]:
    """Rows of the true motion while the rover drives and has not hit anything."""
    before = np.full(len(true_motion), True) if hit_ns is None else true_motion[:, TIME] < hit_ns * 1e-9
    rows: NDArray[np.float64] = true_motion[before & (np.abs(true_motion[:, SPEED]) > _DRIVES_MPS)]
    return rows


def _next_to(wanted_ns: NDArray[np.int64], t_ns: NDArray[np.int64], rate_hz: int) -> tuple[NDArray[np.intp], ...]:
    """Which of the wanted times have a tick within half a period, and the places of these ticks."""
    after = np.searchsorted(t_ns, wanted_ns).clip(1, len(t_ns) - 1)
    places = after - (wanted_ns - t_ns[after - 1] < t_ns[after] - wanted_ns)
    late_ns, period_ns = t_ns[places] - wanted_ns, 1_000_000_000 // rate_hz
    (which,) = np.nonzero((2 * late_ns > -period_ns) & (2 * late_ns <= period_ns))
    return which, places[which]


def _errors(true_motion: NDArray[np.float64], ticks: Recorded, rate_hz: int) -> dict[str, float | None]:
    wanted_ns = np.rint(true_motion[:, TIME] * 1e9).astype(np.int64)
    found: list[dict[str, NDArray[Any]]] = []
    at: list[NDArray[np.int64]] = []
    for rows in in_blocks(ticks):
        if len(rows) < 2:
            continue
        which, places = _next_to(wanted_ns, rows["t_ns"], rate_hz)
        at.append(which)
        found.append({name: rows[name][places] for name in _FIELDS})
    order = np.concatenate(at) if at else np.zeros(0, np.int64)
    if not len(order):
        return {}
    true, of = true_motion[order], {name: np.concatenate([one[name] for one in found]) for name in _FIELDS}
    way = true[:, SPEED] * (of["t_ns"] - wanted_ns[order]) * 1e-9  # driven from the time of the truth to the tick
    true[:, X] += way * np.cos(true[:, YAW])
    true[:, Y] += way * np.sin(true[:, YAW])
    wheels = of["slip"].shape[1]
    slip, load = true[:, BY_WHEEL : BY_WHEEL + wheels], true[:, BY_WHEEL + wheels :]
    speed_error = of["speed_mps"] - true[:, SPEED]
    apart = of["pose"][:, :3] - true[:, X : X + 3]
    x, y, z, w = of["pose"][:, 3:].T.astype(np.float64)
    heading = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)) - true[:, YAW]
    heading = (heading + np.pi) % (2.0 * np.pi) - np.pi
    sd = np.column_stack([of["pose_sd"][:, [0, 1, 2, 5]], of["speed_sd_mps"]])
    errors = np.column_stack([apart, heading, speed_error])
    with np.errstate(divide="ignore", invalid="ignore"):
        normalised = (errors / sd) ** 2
    return {
        "speed_error_mps": _rms(speed_error),
        "slip_error": _rms(of["slip"] - slip),
        "load_error_N": _rms(of["normal_force_N"] - load),
        "nees": finite(float(normalised.mean())),
    }


def _rms(errors: NDArray[np.floating[Any]]) -> float | None:
    """Root mean square of those that are known; None: none is."""
    known = errors[np.isfinite(errors)]
    return finite(float(np.sqrt(np.mean(known.astype(np.float64) ** 2)))) if known.size else None


def _sources(run: FinishedRun) -> dict[str, Any]:
    """Of each instrument by its role: what became of its readings, their innovation and their age."""
    layout = run.config.layout
    counts = {role: np.zeros(len(SOURCE_STATES), np.int64) for role in layout.instruments}
    sums = {role: np.zeros(3) for role in layout.instruments}  # innovation, age [s], readings
    newest = dict.fromkeys(layout.instruments, -1)
    last = dict.fromkeys(layout.instruments, 0)
    for rows in in_blocks(run.ticks):
        for place, role in enumerate(layout.instruments):
            if not len(rows):
                continue
            read_ns = rows[f"{role}_t_ns"]
            fresh = (np.diff(read_ns, prepend=newest[role]) != 0) & (read_ns >= 0)
            newest[role] = int(read_ns[-1])
            state = rows["source"][:, place]
            last[role] = int(state[-1])
            counts[role] += np.bincount(state[fresh], minlength=len(SOURCE_STATES))
            innovation = rows["innovation"][fresh, place].astype(np.float64)
            known = np.isfinite(innovation)
            age = (rows["t_ns"][fresh] - read_ns[fresh]) * 1e-9
            sums[role] += innovation[known].sum(), age.sum(), fresh.sum()
    return {role: _source(counts[role], sums[role], last[role]) for role in layout.correcting}


def _source(counts: NDArray[np.int64], sums: NDArray[np.float64], last: int) -> Summary:
    innovation, age_s, readings = sums.tolist()
    return {
        "readings": int(readings),
        "used": int(counts[_USED]),
        "rejected": int(counts[_REJECTED]),
        "left_out": last == _LEFT_OUT,
        "stale": last == _STALE,
        "innovation": innovation / readings if readings else None,
        "age_ms": 1e3 * age_s / readings if readings else None,
    }


_NORMAL = 1.959964
# A combination is observable where its standard deviation is below this share of that before the drive.
_OBSERVABLE = 0.5
_PAIRS = ((0, 1), (0, 2), (1, 2))


def soil_estimate_summary(run: FinishedRun) -> Summary:
    """Key `soil_estimate` as docs/reference/summary.md has it; empty for a rig whose soil is not estimated."""
    section = run.config.soil_estimation
    if section is None or not len(run.ticks):
        return {}
    last = run.ticks[len(run.ticks) - 1]
    value, sd = (last[name].astype(np.float64) for name in ("soil_value", "soil_sd"))
    before = np.array([getattr(section, name) for name in SOIL_PARAMETERS])
    actual = None if run.config.rig == "real" else run.rig.simulated.ground.soil
    parameters = {
        name: {
            "value": finite(float(value[i])),
            "low": finite(float(value[i] * math.exp(-_NORMAL * sd[i]))),
            "high": finite(float(value[i] * math.exp(_NORMAL * sd[i]))),
            "config": getattr(run.config.soil, name),
            "observable": bool(sd[i] < _OBSERVABLE * before[i]),
            "ground_truth": None if actual is None else getattr(actual, name),
        }
        for i, name in enumerate(SOIL_PARAMETERS)
    }
    spent, used = _spent(run.ticks, run.config.loop.rate_hz)
    return {
        "soil_estimate": {
            "parameters": parameters,
            "directions": _directions(sd, last["soil_correlation"].astype(np.float64), before),
            "spent_s": spent,
            "max_traction": used,
        }
    }


def _spent(ticks: Recorded, rate_hz: int) -> tuple[dict[str, float], dict[str, float] | None]:
    """Time in each state, and time under max_traction by the soil it was worked out for; None: it was never wanted."""
    counts, aimed = np.zeros(len(SOIL_STATES), np.int64), np.zeros(2, np.int64)
    for rows in in_blocks(ticks):
        counts += np.bincount(rows["soil_state"], minlength=len(SOIL_STATES))
        if "load_mode" in (rows.dtype.names or ()):
            asked = rows["soil_observable"][rows["load_mode"] == LoadMode.MAX_TRACTION]
            aimed += np.bincount(asked, minlength=2)
    config_s, estimate_s = (aimed / rate_hz).tolist()
    spent = dict(zip(SOIL_STATES, (counts / rate_hz).tolist(), strict=True))
    return spent, {"config_s": config_s, "estimate_s": estimate_s} if aimed.any() else None


def _directions(
    sd: NDArray[np.float64], correlation: NDArray[np.float64], before: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Combinations of the logs, from the best known to the worst; parameters that were known before are left out."""
    (free,) = np.nonzero(before > 0.0)
    if not np.isfinite([*sd, *correlation]).all():
        return []
    covariance = np.diag(sd**2)
    for one, (i, j) in zip(correlation, _PAIRS, strict=True):
        covariance[i, j] = covariance[j, i] = one * sd[i] * sd[j]
    relative = covariance[np.ix_(free, free)] / np.outer(before[free], before[free])
    values, vectors = np.linalg.eigh(relative)
    found = []
    for share, vector in zip(np.sqrt(np.maximum(values, 0.0)), vectors.T, strict=True):
        signed = vector * math.copysign(1.0, vector[np.abs(vector).argmax()])
        weights = {SOIL_PARAMETERS[place]: float(one) for place, one in zip(free, signed, strict=True)}
        found.append({"weights": weights, "of_before": float(share), "observable": bool(share < _OBSERVABLE)})
    return found
