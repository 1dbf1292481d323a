"""The config of a jog, from what somebody asks for."""

from __future__ import annotations

import json

from hil.messages.operator_input import Jog, JogJoint, Valve


def jog_overrides(asked: Jog | JogJoint | Valve) -> list[str]:
    """Overrides that make a rig's config one of a jog: of wheels, of a driven joint or of a valve.

    Args:
        asked: what is to move, and for how long; the config checks it.
    """
    section: dict[str, object] = {"seconds": asked.seconds, "wheels": (), "valve": "", "joint": ""}
    if isinstance(asked, Jog):
        section |= {"wheels": asked.wheels, "speed_mps": asked.speed_mps}
    elif isinstance(asked, JogJoint):
        section |= {"joint": asked.joint, "angle_deg": asked.angle_deg, "rate_degps": asked.rate_degps}
    else:
        section |= {"valve": f"{asked.cylinder}_{asked.way}"}
    return ["experiment=jog", *(f"jog.{key}={json.dumps(value)}" for key, value in section.items())]
