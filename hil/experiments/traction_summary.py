"""What was measured of the traction of a rover: pull, slip, speed and wheel loads, means of the measurement.

On a rig that measures its motion, slip, speed and pull are measured, with intervals, and what a simulated rig knows
stands beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hil.config.schema.traction import ThrottleConfig
from hil.experiments.base import Finished, Summary
from hil.experiments.field_means import FieldMeans
from hil.experiments.measured_motion import MeasuredWindow, with_interval
from hil.experiments.summary import finite
from hil.experiments.summary_table import loop_rows, quantity, verdict_rows
from hil.experiments.throttle import MEASURE
from hil.recording.stored_rows import in_blocks
from models.plant.towing import Traction


def traction_of(run: Finished, throttle: ThrottleConfig) -> Summary:
    """Keys as docs/reference/summary.md lists them, without a judgement; None for what was not measured.

    Pull: of the load cell, or the simulated rig's own. Slip and speed: measured, where an instrument measures the
    rover's way, or else the simulated rig's own, or the twin's. Wheel loads: of the leg sensors, or the twin's. The
    twin knows none of them where it does not know what pulls the rover.
    """
    config, layout = run.config, run.config.layout
    known = run.ground_truth.traction
    twin = None if config.pull_unknown else "twin"
    loads_from, field = ("leg sensors", "wheel_load_N") if layout.leg_sensors else (twin, "normal_force_N")
    ticks = FieldMeans(
        {field: 0, "slip": None, "speed_mps": None, "wheel_speed_radps": None}
        | ({"pull_N": None} if layout.load_cell else {})
    )
    measured = MeasuredWindow(config, run.source.drift) if layout.motion_channels else None
    for rows in in_blocks(run.ticks):
        ticks.add(rows[rows["state"] == MEASURE])
        if measured is not None:
            measured.add(rows[rows["state"] == MEASURE])
    loads = ticks.mean(field) if ticks.count else np.full(len(layout.wheels), math.nan)
    pull = float(ticks.mean("pull_N")) if layout.load_cell and ticks.count else known.pull if known else math.nan
    slip = known.slip if known else float(ticks.mean("slip")) if ticks.count else math.nan
    speed = known.speed if known else float(ticks.mean("speed_mps")) if ticks.count else math.nan
    total = float(loads.sum())
    found: Summary = {
        "mode": throttle.mode,
        "duty": throttle.duty,
        "speed_set_mps": None if throttle.duty is not None else throttle.speed_mps,
        "pull_N": finite(pull),
        "pull_from": "load cell" if layout.load_cell else "simulated rig" if known else None,
        "slip": finite(slip),
        "speed_mps": finite(speed),
        "slip_from": "simulated rig" if known else twin,
        "wheels": list(layout.wheels),
        "wheel_speed_radps": finite(float(ticks.mean("wheel_speed_radps"))) if ticks.count else None,
        "load_N": [finite(float(load)) for load in loads] if loads_from else None,
        "load_from": loads_from,
        "spread": finite(float(loads.std()) / float(loads.mean())) if ticks.count and total > 0.0 else None,
        "pitch_deg": config.ground.pitch_deg,
        "roll_deg": config.ground.roll_deg,
    }
    if known and math.isfinite(known.sinkage):  # records of earlier versions do not have it
        found |= {"sinkage_m": known.sinkage, "sinkage_from": "simulated rig"}
    if measured is None:
        return found
    towed = known or Traction(math.nan, math.nan, math.nan)
    return {
        **found,
        **measured.summary(),
        "slip_from": "measured motion",
        "true_pull_N": finite(towed.pull),
        "true_slip": finite(towed.slip),
        "true_speed_mps": finite(towed.speed),
    }


def traction_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same for the terminal, the verdict first."""
    duty = summary.get("duty")
    unknown = "not known: what pulls is not measured (loads.load_cell)"
    throttle = f"speed {quantity(summary.get('speed_set_mps'), 'm/s', 3)}" if duty is None else f"duty {duty:g}"
    return [
        *verdict_rows(summary),
        ("wheel loads", str(summary.get("mode"))),
        ("throttle", throttle),
        (f"slip, {summary.get('slip_from') or unknown}", with_interval(summary, "slip", "slip_u95", "", 3)),
        (
            f"speed, {summary.get('slip_from') or unknown}",
            with_interval(summary, "speed_mps", "speed_u95_mps", "m/s", 4),
        ),
        (
            f"drawbar pull, {summary.get('pull_from') or 'not measured'}",
            with_interval(summary, "pull_N", "pull_u95_N", "N", 1),
        ),
        (f"wheel loads, {summary.get('load_from') or unknown}", quantity(summary.get("load_N"), "N", 0)),
        ("spread of the loads", quantity(summary.get("spread"), "", 3)),
        ("wheels, in this order", ", ".join(name.replace("_", " ") for name in summary.get("wheels") or [])),
        *loop_rows(summary),
    ]
