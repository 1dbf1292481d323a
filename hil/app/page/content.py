"""What the page draws with: the rover, the obstacle, all series, set-points, limits and the fault table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from hil.app.check.budgets import bus_loads, cut_latency
from hil.app.page.bands import band
from hil.app.page.series import series
from hil.config import Config
from hil.config.rig import Rig
from hil.config.rig_setup import rig_setup
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.ground_and_obstacle import ObstacleConfig
from hil.config.schema.trial import TrialConfig
from hil.config.settings import settings_shown
from hil.experiments.base import Experiment
from hil.experiments.registry import experiment_type
from hil.messages.check import Check
from hil.messages.layout import Layout
from hil.messages.loads import load_modes
from hil.safety.cylinder_limits import cylinder_checks
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes
from models.rover.tree import Body, Tree


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
        "states": [state.name.lower() for state in experiment_type(config).states],
        "rover": _rover(rig),
        "obstacle": _obstacle(config.obstacle, config.section, config.trial),
        "ground": {
            "kind": config.ground.kind,
            "pitch_deg": config.ground.pitch_deg,
            "roll_deg": config.ground.roll_deg,
        },
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
        "channels": list(layout.channels),
        "line_loads": _shown(bus_loads(config.devices, rig_setup(config))),
        "cut_budget": _shown(cut_latency(config)),
        "limits": config.limits.model_dump(mode="json"),
        "telemetry": bool(config.telemetry.endpoint),
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
    return experiment_type(rig.config)(rig, lambda *_: [], attended=True)


def _set_points(rig: Rig) -> list[dict[str, Any]]:
    """Speeds at the rim may be as large as the limiter lets the wheels turn."""
    largest = {"m/s": rig.limits.wheel_speed_radps * rig.config.wheel_radius_m}
    return [
        {"name": name, "unit": unit, "lowest": -largest[unit], "highest": largest[unit]}
        if unit in largest
        else {"name": name, "unit": unit, "lowest": None, "highest": None}
        for name, unit in _experiment(rig).set_points.items()
    ]


def _obstacle(obstacle: ObstacleConfig, section: ExperimentSection, trial: TrialConfig) -> dict[str, Any] | None:
    if not section.obstacle:
        return None
    plate = obstacle.plate
    return {
        "angle_deg": trial.angle_deg,
        "distance_m": trial.start_distance_m,
        "plate": plate.model_dump(mode="json") if plate else None,
    }


def _rover(rig: Rig) -> dict[str, Any]:
    """The rover as it stands on level ground with all joints at zero; base frame, lengths in m."""
    grousers_m = rig.nominal.grouser_height
    tree = rig.nominal.rover.build().tree
    places = _places(tree)
    carries_wheel = {wheel.body for wheel in tree.wheels}
    return {
        "wheels": [
            {
                "name": wheel.name, **_point(places[wheel.body]),
                "radius_m": wheel.radius + grousers_m, "width_m": wheel.width,
            }
            for wheel in tree.wheels
        ],
        "bodies": [
            {"name": body.name, **_point(places[body.name] + np.array(body.com)), "size_m": _box(body)}
            for body in tree.bodies
            if body.name not in carries_wheel
        ],
        "links": [
            {"name": joint.name, "from": _end(tree, joint.parent, places), "to": places[joint.child].tolist()}
            for joint in tree.joints
        ],
    }  # fmt: skip


def _places(tree: Tree) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Origin of each body in the base frame, all joints at zero (3,) [m]: there all axes are parallel."""
    places = {tree.bodies[0].name: np.zeros(3)}
    waiting = list(tree.joints)
    while waiting:
        joint = waiting.pop(0)
        if joint.parent in places:
            places[joint.child] = places[joint.parent] + np.array(joint.origin)
        else:
            waiting.append(joint)
    return places


def _end(tree: Tree, body: str, places: Mapping[str, np.ndarray[Any, np.dtype[np.float64]]]) -> list[float]:
    """Where a link begins: at the body's joint; at the base, whose origin is on the ground, in its centre of mass."""
    base = tree.bodies[0]
    end = places[body] + np.array(base.com) if body == base.name else places[body]
    return [float(value) for value in end]


def _point(place: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    return {f"{axis}_m": float(value) for axis, value in zip("xyz", place, strict=True)}


def _box(body: Body) -> list[float]:
    """Sides of the uniform box with the same mass and inertia [m]."""
    total = sum(body.inertia)
    return [math.sqrt(max(0.0, 6.0 / body.mass * (total - 2.0 * inertia))) for inertia in body.inertia]
