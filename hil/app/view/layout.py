"""A layout for Foxglove and Lichtblick: the rover in three dimensions, plots of the main signals, the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hil.analysis.export.channels import LOG, SCENE
from hil.analysis.film.solids import WORLD
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig

_3D, _LOG = "3D!rover", "RosOut!log"


def layout_file(rig: Rig) -> dict[str, Any]:
    """Content of the layout's file (JSON), which a viewer imports."""
    wheels, plots = rig.layout.wheels, {}
    if wheels:
        plots = {
            "Plot!speed": _plot("speed of the wheels [rad/s]", [f"wheel_speed_radps.{wheel}" for wheel in wheels]),
            "Plot!load": _plot("normal force of each wheel [N]", [f"normal_force_N.{wheel}" for wheel in wheels]),
            "Plot!rover": _plot("speed [m/s], slip of the first wheel", ["speed_mps", f"slip.{wheels[0]}"]),
        }
    if rig.section.captures:
        plots["Plot!capture"] = _plot(
            "payload before the seat [m] and T_c [J]", ["gap_m", "effective_kinetic_energy_J"]
        )
    if rig.layout.channels:
        plots["Plot!force"] = _plot("force sensed [N]", ["force_sum_N"])
    if rig.section.obstacle:
        plots["Plot!impact"] = _plot("gap [m] and T_c [J]", ["gap_m", "effective_kinetic_energy_J"])
    return {
        "configById": {
            _3D: _scene(tree_on_rig(rig.nominal.rover).bodies[0].name),
            _LOG: {"searchTerms": [], "minLogLevel": 1, "topicToRender": LOG},
        }
        | plots,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "direction": "row",
            "splitPercentage": 60,
            "first": {"direction": "column", "splitPercentage": 75, "first": _3D, "second": _LOG},
            "second": _stacked([*plots]),
        },
    }


def _scene(body: str) -> dict[str, Any]:
    return {
        "cameraState": {
            "distance": 3.0, "perspective": True, "phi": 65, "thetaOffset": -60, "targetOffset": [0, 0, 0.3],
            "target": [0, 0, 0], "targetOrientation": [0, 0, 0, 1], "fovy": 45, "near": 0.01, "far": 500,
        },
        "followMode": "follow-position",
        "followTf": body,
        "fixedFrame": WORLD,
        "scene": {"transforms": {"visible": False}},
        "topics": {SCENE: {"visible": True}},
    }  # fmt: skip


def _plot(title: str, fields: Sequence[str]) -> dict[str, Any]:
    paths = [
        {"value": f"tick.{field}", "enabled": True, "timestampMethod": "receiveTime", "label": field}
        for field in fields
    ]
    shown = {"showLegend": True, "showXAxisLabels": True, "showYAxisLabels": True, "legendDisplay": "floating"}
    return {
        "title": title, "foxglovePanelTitle": title, "paths": paths, **shown, "isSynced": True,
        "xAxisVal": "timestamp", "followingViewWidth": 20,
    }  # fmt: skip


def _stacked(panels: Sequence[str]) -> Any:
    """The panels below each other, equally high."""
    first, *rest = panels
    if not rest:
        return first
    share = 100 / len(panels)
    return {"direction": "column", "splitPercentage": share, "first": first, "second": _stacked(rest)}
