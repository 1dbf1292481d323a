"""The config of a jog, from what somebody asks for."""

from __future__ import annotations

import json

from hil.messages.operator_input import Jog, Valve


def jog_overrides(asked: Jog | Valve) -> list[str]:
    """Overrides that make a rig's config one of a jog, or of the motion of a valve.

    Args:
        asked: what is to move, and for how long; the config checks it.
    """
    section: dict[str, object] = {"seconds": asked.seconds}
    if isinstance(asked, Jog):
        section |= {"wheels": asked.wheels, "speed_mps": asked.speed_mps, "valve": ""}
    else:
        section |= {"wheels": (), "valve": f"{asked.cylinder}_{asked.way}"}
    return ["experiment=jog", *(f"jog.{key}={json.dumps(value)}" for key, value in section.items())]
