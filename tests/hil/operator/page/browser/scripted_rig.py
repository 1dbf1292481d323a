"""The rig that the scripted server tells of: what the page draws with, its arming checks and its status."""

from __future__ import annotations

from typing import Any

WHEELS = ("front_left", "front_right", "middle_left", "middle_right", "rear_left", "rear_right")
SERIES = ("speed_mps", "force_sum_N", "time_to_impact_s", *(f"normal_force_N/{name}" for name in WHEELS))
FRAME = {"plate_m": 0.5, "feet_m": 0.763, "wheel_radius_m": 0.175}


def check(item: str, ok: bool) -> dict[str, Any]:
    """An arming check as `GET /api/check` has it."""
    return {"item": item, "ok": ok, "found": "one", "allowed": "none", "to_do": "" if ok else f"mend the {item}"}


def setting(key: str, kind: str, now: Any, **more: Any) -> dict[str, Any]:
    """A setting as `hil.config.operator_settings.ChangeableKeys.rows` has it."""
    last = key.rpartition(".")[2]
    name = last.rpartition("_")[0] if "unit" in more else last
    plain = {"name": name, "words": key, "unit": "1", "lowest": None, "highest": None, "choices": [], "nullable": False}
    return {"key": key, "kind": kind, "default": now, "given": now, "now": now, **plain, **more}


CONFIG: dict[str, Any] = {
    "name": "sim_impact", "rig": "simulated", "clock": "lockstep", "experiment": "impact", "states": [],
    "rover": {
        "base": "body",
        "wheels": [
            {"name": name, "body": name, "x_m": 0.4 - 0.4 * (i // 2), "y_m": 0.3 - 0.6 * (i % 2), "z_m": 0.14,
             "radius_m": 0.14, "width_m": 0.1, "grousers": {"count": 0, "height_m": 0.0}}
            for i, name in enumerate(WHEELS)
        ],
        "bodies": [{"name": "body", "x_m": 0.0, "y_m": 0.0, "z_m": 0.5, "com_m": [0.0, 0.0, 0.5],
                    "size_m": [0.8, 0.4, 0.2]}],
        "joints": [
            {"name": "left_bogie", "parent": "body", "child": "left_bogie", "origin_m": [0.2, 0.3, 0.3],
             "axis": [0.0, 1.0, 0.0], "locked_rad": None},
            *({"name": f"{name}_drive", "parent": "body" if i else "left_bogie", "child": name, "axis": [0.0, 1.0, 0.0],
               "origin_m": [0.4 - 0.4 * (i // 2), 0.3 - 0.6 * (i % 2), 0.14] if i else [0.2, 0.0, -0.16],
               "locked_rad": None} for i, name in enumerate(WHEELS)),
        ],
    },
    "obstacle": {"angle_deg": 60.0, "distance_m": 0.5}, "ground": {}, "limits": {}, "channels": [],
    "series": [{"name": name, "unit": "1", "description": name} for name in SERIES],
    "set_points": [{"name": "speed_mps", "unit": "m/s", "lowest": 0.0, "highest": 0.1, "now": 0.03}],
    "modes": [], "cylinders": [{"name": "left", "ways": ["extend", "retract"], "regulator": None}], "supply_kPa": 200.0,
    "servos": [],
    "line_loads": [], "cut_budget": [],
    "settings": [
        setting("trial.angle_deg", "number", 60.0, unit="deg", words="inclination of the obstacle", lowest=10,
                highest=90, allowed="a number 10 to 90"),
        setting("trial.speed_mps", "number", 0.07, unit="m/s", lowest=0.005, highest=0.2, allowed="a number"),
        setting("ground.kind", "choice", "soil", choices=["soil", "firm"], allowed="soil or firm"),
        setting("ground.rolling", "flag", True, allowed="true or false"),
        setting("obstacle.leg_stiffness_up_Npm", "number", None, unit="N/m", nullable=True, allowed="a number or null"),
    ],
    "plans": ["thesis", "two"],
    "plan": {
        "name": "two", "choice": "two",
        "trials": [
            {"number": number, "angle_deg": angle_deg, "frame": FRAME | {"sensor_height_m": height_m}}
            for number, angle_deg, height_m in ((1, 60.0, 0.0875), (2, 70.0, 0.115))
        ],
    },
    "faults": {"18": {"operator": "Release the emergency stop, then clear the fault."}},
}  # fmt: skip
STATUS: dict[str, Any] = {
    "type": "status", "state": "idle", "running": False, "experiment": "impact", "armed": False, "safe": False,
    "faults": [], "warnings": [], "refused": [], "run": "", "runs": 0, "summary": None, "question": None,
    "settings": {"answered": 0, "refused": [], "changed": {}, "plan": "two"}, "message": "ready",
    "lease": {"holder": "", "yours": False, "asked_by": ""}, "you": "page-1",
    "command_server": True, "status_age_s": 0.02, "telemetry_age_s": None, "fault_times": {},
}  # fmt: skip
CHECK = {"source": "config", "checks": [check("fault latch", True), check("disk", False)]}
