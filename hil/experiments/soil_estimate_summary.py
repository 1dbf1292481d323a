"""What a drive told of the soil, and which soil the goal max_traction was worked out for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hil.experiments.base import Finished, Summary
from hil.experiments.summary import finite
from hil.messages.layout import SOIL_PARAMETERS
from hil.messages.loads import LoadMode
from hil.messages.stages import SOIL_STATES
from hil.recording.stored_rows import Recorded, in_blocks

_NORMAL = 1.959964
# A combination is observable where its standard deviation is below this share of that before the drive.
_OBSERVABLE = 0.5
_PAIRS = ((0, 1), (0, 2), (1, 2))


def soil_estimate_summary(run: Finished) -> Summary:
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
