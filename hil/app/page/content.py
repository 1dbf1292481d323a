"""What the page draws with: the rover, the obstacle, all series, set-points, limits and the fault table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hil.app.check.budgets import bus_loads, cut_latency
from hil.app.console_status import obstacle_shown
from hil.app.page.bands import band
from hil.app.page.ground_shown import ground_shown, stands_shown
from hil.app.page.instruments_shown import instruments_shown
from hil.app.page.rover_shown import rover_shown
from hil.app.page.series import series
from hil.config import Config
from hil.config.rig import Rig
from hil.config.rig_setup import rig_setup
from hil.config.settings import settings_shown
from hil.experiments.base import Experiment
from hil.experiments.registry import BUILT_IN, experiment_named
from hil.messages.check import Check
from hil.messages.layout import Layout
from hil.messages.loads import load_modes
from hil.safety.cylinder_limits import cylinder_checks
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes


def page_content(
    config: Config, plan: Mapping[str, Any] | None, given: Config | None = None, plans: Sequence[str] = ()
) -> dict[str, Any]:
    """The answer to GET /api/config (docs/reference/page.md).

    Args:
        config: of rig and experiment, as it is now.
        plan: of a campaign that operators may start: name, and trials with their settings; None: none is chosen.
        given: config that the rig was opened with first; None: it is the same.
        plans: names of the plans that operators may choose.
    """
    rig, layout, times = Rig(config), config.layout, ReactionTimes(config)
    return {
        "name": config.name,
        "rig": config.rig,
        "clock": config.clock,
        "experiment": config.experiment,
        "states": [state.name.lower() for state in experiment_named(config.experiment).states],
        "rover": rover_shown(rig),
        "obstacle": _obstacle(config),
        "ground": ground_shown(config),
        "series": [one | {"band": band(one["name"], config.limits)} for one in series(layout)],
        "set_points": _set_points(rig),
        "modes": [{"name": mode.name.lower()} for mode in load_modes(config.ground.kind)]
        if layout.controls_loads
        else [],
        "cylinders": [
            {"name": name, "ways": list(layout.ways), "regulator": _regulator(name, layout)}
            for name in layout.cylinders
        ],
        "supply_kPa": config.cylinders.supply_kPa,
        "servos": [
            {
                "name": joint.name,
                "low_deg": round(math.degrees(joint.low_rad), 6),
                "high_deg": round(math.degrees(joint.high_rad), 6),
                "torque_limit_Nm": joint.torque_limit_Nm,
            }
            for joint in config.driven_joints
        ],
        "channels": list(layout.channels),
        "instruments": instruments_shown(config),
        "line_loads": _shown(bus_loads(config.devices, rig_setup(config))),
        "cut_budget": _shown(cut_latency(config)),
        "limits": config.limits.model_dump(mode="json"),
        "detector": {"threshold_N": config.detector.threshold_N} if config.section.obstacle else None,
        "telemetry": bool(config.telemetry.endpoint),
        "main_numbers": {kind.name: kind.main_numbers() for kind in {*BUILT_IN, experiment_named(config.experiment)}},
        "console_lost": config.operator.console_lost,
        "settings": settings_shown(config, given or config),
        "plans": list(plans),
        "plan": plan,
        "faults": {
            str(number): row.as_json() | {"bound_ms": row.bound_for(times)} for number, row in FAULT_TABLE.items()
        },
    }


def fixed_checks(rig: Rig) -> list[dict[str, Any]]:
    """Arming checks that follow from the config alone."""
    return _shown([*cylinder_checks(rig), *_experiment(rig).fixed_checks])


def _shown(checks: Sequence[Check]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(check) for check in checks]


def _regulator(cylinder: str, layout: Layout) -> str | None:
    """The regulator that sets a cylinder's pressure in a run: its own, or the only one; None: nobody moves it."""
    return cylinder if cylinder in layout.regulators else next(iter(layout.regulators), None)


def _experiment(rig: Rig) -> Experiment:
    return experiment_named(rig.config.experiment)(rig, lambda *_: [], attended=True)


def _set_points(rig: Rig) -> list[dict[str, Any]]:
    """Speeds at the rim may be as large as the limiter lets the wheels turn."""
    largest = {"m/s": rig.limits.wheel_speed_radps * rig.config.least_wheel_radius_m}
    return [
        {"name": name, "unit": unit, "lowest": -largest[unit], "highest": largest[unit]}
        if unit in largest
        else {"name": name, "unit": unit, "lowest": None, "highest": None}
        for name, unit in _experiment(rig).set_points.items()
    ]


def _obstacle(config: Config) -> dict[str, Any] | None:
    plate = config.obstacle.plate
    stands = obstacle_shown(config.trial, config.section)
    return stands and {
        **stands,
        "plate": plate.model_dump(mode="json") if plate else None,
        "stands": stands_shown(config),
    }
