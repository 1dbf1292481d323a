"""The rover as the page draws it: its bodies, its joints, and its wheels."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.analysis.film.skeleton import Floats, Skeleton
from hil.config.rig import Rig
from hil.config.schema.rover import tree_on_rig
from hil.messages.stages import UPRIGHT


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
