"""The ground that the page draws, a plane, a scan's map or a profile, and how the obstacle stands on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.config import Config
from hil.config.model_parameters import nominal_rig, obstacle_stand, profile_line, relief_of

# Decimals of a height: the text of a map in a config has steps of 0.1 mm.
_DECIMALS = 4


def ground_shown(config: Config) -> dict[str, Any]:
    """`ground` of GET /api/config: kind, pitch and roll [deg], map of a scan and corners of a profile or None."""
    ground, relief, line = config.ground, relief_of(config.ground), profile_line(nominal_rig(config))
    shown = (
        None
        if relief is None
        else {
            "x_m": relief.x,
            "y_m": relief.y,
            "spacing_m": relief.spacing,
            "steepest": relief.steepest,
            "height_m": np.round(relief.height, _DECIMALS).tolist(),
        }
    )
    plane = {"kind": ground.kind, "pitch_deg": ground.pitch_deg, "roll_deg": ground.roll_deg}
    return {**plane, "map": shown, "profile_m": None if line is None else np.round(line, _DECIMALS).tolist()}


def stands_shown(config: Config) -> list[dict[str, list[Any]]] | None:
    """Where the obstacle stands before each front wheel: origin [m], and axes ahead, left, up; None: level ground."""
    stand = obstacle_stand(nominal_rig(config))
    return None if stand is None else [{"at_m": one[0].tolist(), "axes": one[1:].tolist()} for one in stand]
