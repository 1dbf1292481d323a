"""What the page draws with: the rover, the obstacle, all series, set-points, limits and the fault table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hil.analysis.film.skeleton import Floats, Skeleton
from hil.app.check.host import bus_loads, cut_latency
from hil.app.console import obstacle_shown
from hil.config.model_parameters import obstacle_stand, profile_line, relief_of
from hil.config.operator_settings import ChangeableKeys
from hil.config.rig import Rig
from hil.config.schema.equipment import LimitsConfig
from hil.config.schema.experiment_section import ExperimentSection
from hil.config.schema.instruments import ImuConfig, JointEncoder, MotionConfig
from hil.config.schema.rover import tree_on_rig
from hil.experiments.base import Experiment
from hil.experiments.registry import BUILT_IN, experiment_named
from hil.messages.fault import Check
from hil.messages.layout import ROLES, Layout
from hil.messages.loads import load_modes
from hil.messages.signals import TICK, flat, signals_of
from hil.messages.stages import UPRIGHT
from hil.safety.arming import cylinder_checks
from hil.safety.fault_table import FAULT_TABLE, ReactionTimes
from hil.signals.alignment import independent_values, innovation_bound, rotation, unit

Band = tuple[float | None, float | None]


def band(series: str, limits: LimitsConfig) -> Band | None:
    """Lowest and highest value that the limits allow a series, in its unit; None: no limit is about it."""
    field = series.partition("/")[0]
    torque, speed = limits.bogie_torque_Nm, limits.wheel_speed_radps
    force_N, pressure_Pa = limits.sensor_force_N, limits.cylinder_kPa * 1e3
    bands: dict[str, Band] = {
        "daq_age_ns": (None, limits.daq_age_ms * 1e6),
        "load_age_ns": (None, limits.loads_age_ms * 1e6),
        **dict.fromkeys(("set_speed_radps", "wheel_speed_radps"), (-speed, speed)),
        **dict.fromkeys(("cylinder_torque_Nm", "torque_wanted_Nm"), (-torque, torque)),
        **dict.fromkeys(("pressure_Pa", "pressure_wanted_Pa", "regulator_Pa"), (None, pressure_Pa)),
    }
    if force_N is not None:
        bands["force_N"] = (None, force_N)
    if (current_A := limits.motor_current_A) is not None and current_A.safe_above is not None:
        bands["current_A"] = (-current_A.safe_above, current_A.safe_above)  # of its magnitude
    if (supply_V := limits.supply_V) is not None:
        bands["supply_V"] = (supply_V.safe_below, supply_V.safe_above)
    if (gauge_kPa := limits.pressure_kPa) is not None and gauge_kPa.safe_above is not None:
        bands["pressure_Pa"] = (None, gauge_kPa.safe_above * 1e3)
    return bands.get(field)


def _instruments(rig: Rig) -> list[dict[str, Any]]:
    """One a role: channels, rate_hz, stale_ms, bound of its innovation, and what puts its readings into the rig."""
    shown = []
    for role, section in rig.config.instruments.items():
        channels = rig.layout.parts(role)
        about = {
            "role": role,
            "channels": list(channels),
            "rate_hz": section.rate_hz,
            "stale_ms": section.stale_ms,
            "bound": innovation_bound(independent_values(rig.layout, role)),
        }
        shown.append(about | _axes(rig.config.encoders, section))
    return shown


def _axes(encoders: tuple[JointEncoder, ...], section: object) -> dict[str, Any]:
    """Rotations are matrices, by rows; angles of encoders in rad."""
    if isinstance(section, MotionConfig):
        return {
            "measures": section.measures,
            "origin_m": list(section.origin_m),
            "point_m": list(section.point_m),
            "direction": unit(section.direction).tolist(),
            "axes": rotation(section.turn_deg).as_matrix().tolist(),
            "body_axes": rotation(section.body_turn_deg).as_matrix().tolist(),
        }
    if isinstance(section, ImuConfig):
        return {"axes": rotation(section.turn_deg).as_matrix().tolist()}
    return {"encoders": [encoder.model_dump(exclude={"error_deg"}) for encoder in encoders]}


# Decimals of a height: the text of a map in a config has steps of 0.1 mm.
_DECIMALS = 4


def ground_shown(rig: Rig) -> dict[str, Any]:
    """`ground` of GET /api/config: kind, pitch and roll [deg], map of a scan and corners of a profile or None."""
    ground, relief, line = rig.config.ground, relief_of(rig.config.ground), profile_line(rig.nominal)
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


def stands_shown(rig: Rig) -> list[dict[str, list[Any]]] | None:
    """Where the obstacle stands before each front wheel: origin [m], and axes ahead, left, up; None: level ground."""
    stand = obstacle_stand(rig.nominal)
    return None if stand is None else [{"at_m": one[0].tolist(), "axes": one[1:].tolist()} for one in stand]


def rover_shown(rig: Rig) -> dict[str, Any]:
    """The rover as it stands on level ground with all turning joints at zero; base frame, lengths in m."""
    nominal, each = rig.nominal, rig.config.wheels
    tree = tree_on_rig(nominal.rover)
    skeleton = Skeleton(tree, ())
    placed = skeleton.place(UPRIGHT, (), (0.0,) * len(skeleton.wheels))
    return {
        "base": tree.bodies[0].name,
        "wheels": [
            {
                "name": wheel.name, "body": wheel.body, **_point(placed.origin[wheel.body]),
                "radius_m": wheel.radius + each[wheel.name].tips_m, "width_m": wheel.width,
                "grousers": {"count": each[wheel.name].grousers, "height_m": each[wheel.name].tips_m},
            }
            for wheel in tree.wheels
        ],
        "bodies": [
            {
                "name": body.name, **_point(placed.origin[body.name] + placed.axes[body.name] @ np.array(body.com)),
                "com_m": list(body.com), "size_m": list(body.size or body.box),
            }
            for body in tree.bodies
            if body.name not in skeleton.wheels
        ],
        "joints": [
            {
                "name": joint.name, "parent": joint.parent, "child": joint.child, "origin_m": list(joint.origin),
                "axis": list(joint.axis), "locked_rad": joint.locked_at, "slides": joint.slides,
            }
            for joint in skeleton.joints
        ],
    }  # fmt: skip


def _point(place: Floats) -> dict[str, float]:
    return {f"{axis}_m": float(value) for axis, value in zip("xyz", place, strict=True)}


# Units of a joint that slides, by those of one that turns.
_OF_SLIDES = {"rad": "m", "N m": "N"}
# Numbers of the force sensors, and of what the rover comes to; records and telemetry have them in any rig.
_FORCE = ("force_sum_N", "load_point_m")
_IMPACT = ("impact", "time_to_impact_s", "time_to_impact_sd_s")
_APPROACH = ("gap_m", "effective_kinetic_energy_J", "energy_sd_J")


def series(layout: Layout, section: ExperimentSection) -> list[dict[str, Any]]:
    """Every number of a tick that the rig has: name, unit, description, and where telemetry has it.

    Args:
        layout: of the rig; of a device that it does not have nothing is shown.
        section: of the experiment: whether there is an obstacle, or a payload to capture.
    """
    rows: list[dict[str, Any]] = []
    there = {_FORCE: layout.channels, _IMPACT: section.obstacle, _APPROACH: section.obstacle or section.captures}
    without = {name for names, has in there.items() if not has for name in names}
    for signal in TICK:
        role = signal.name.partition("_")[0]
        if not signal.present(layout) or signal.name in without or (role in ROLES and not layout.parts(role)):
            continue
        for index, element in enumerate(signal.names(layout) or ("",)):
            places = [int(place) for place in np.unravel_index(index, signal.shape(layout))]
            path = [signal.name, *([element] if signal.by_name else places)]
            unit = signal.unit_of(element)
            unit = _OF_SLIDES.get(unit, unit) if element in layout.slides else unit
            about = {"unit": unit, "description": signal.description}
            rows.append({"name": "/".join(filter(None, (signal.name, element))), **about, "path": path})
    return rows


def column(rows: NDArray[np.void], name: str, layout: Layout) -> NDArray[np.float64] | None:
    """A series of the rows of a record, (rows,); None: the rig does not have it. `rows`: of `tick_dtype`."""
    field, _, element = name.partition("/")
    if field not in (rows.dtype.names or ()):
        return None
    elements = signals_of("tick")[field].names(layout) or ("",)
    return flat(rows[field])[:, elements.index(element)].astype(float) if element in elements else None


def page_content(
    rig: Rig, plan: Mapping[str, Any] | None, started: Mapping[str, Any] | None = None, plans: Sequence[str] = ()
) -> dict[str, Any]:
    """The answer to GET /api/config (docs/reference/page.md).

    Args:
        rig: of the config, as it is now; the experiment is in it.
        plan: of a campaign that operators may start: name, and trials with their settings; None: none is chosen.
        started: settings that the rig was opened with first; None: they are the same.
        plans: names of the plans that operators may choose.
    """
    config, layout, times, settings = rig.config, rig.layout, ReactionTimes(rig.config), ChangeableKeys(rig.config)
    return {
        "name": config.name,
        "rig": config.rig,
        "clock": config.clock,
        "experiment": config.experiment,
        "states": [state.name.lower() for state in experiment_named(config.experiment).states],
        "rover": rover_shown(rig),
        "obstacle": _obstacle(rig),
        "captures": config.section.captures,
        "ground": ground_shown(rig),
        "series": [one | {"band": band(one["name"], config.limits)} for one in series(layout, config.section)],
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
                "unit": joint.unit,
                "lowest": round(joint.shown(joint.low_rad), 6),
                "highest": round(joint.shown(joint.high_rad), 6),
                "limit": joint.torque_limit_Nm,
                "limit_unit": _OF_SLIDES["N m"] if joint.slides else "N m",
            }
            for joint in config.driven_joints
        ],
        "channels": list(layout.channels),
        "instruments": _instruments(rig),
        "line_loads": _shown(bus_loads(config.devices, rig.setup)),
        "cut_budget": _shown(cut_latency(rig)),
        "limits": config.limits.model_dump(mode="json"),
        "detector": {"threshold_N": config.detector.threshold_N} if config.section.obstacle else None,
        "telemetry": bool(config.telemetry.endpoint),
        "main_numbers": {kind.name: kind.main_numbers() for kind in {*BUILT_IN, experiment_named(config.experiment)}},
        "console_lost": config.operator.console_lost,
        "settings": settings.rows(settings.values() if started is None else started),
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


def _obstacle(rig: Rig) -> dict[str, Any] | None:
    plate = rig.config.obstacle.plate
    stands = obstacle_shown(rig.config.trial, rig.section)
    return stands and {
        **stands,
        "plate": plate.model_dump(mode="json") if plate else None,
        "stands": stands_shown(rig),
    }
