"""Whether a rig measures how far the rover has driven: what a measured speed, and a measured slip, need."""

from __future__ import annotations

import math

from hil.config.problems import Problem
from hil.config.schema.experiment_section import WholeConfig

# A distance is measured along the way if its direction is within 45 degrees of it.
_ALONG = math.cos(math.pi / 4.0)


def along_way_problems(config: WholeConfig, why: str, depends_on: tuple[str, ...] = ()) -> list[Problem]:
    """Why the forward speed is not measured; none: it is.

    Args:
        config: of the rig.
        why: it is needed, in words.
        depends_on: keys that ask for it.
    """
    motion = config.motion
    if motion is None:
        allowed = (
            "an instrument that measures the rover's way, like motion={measures: distance}: nothing else measures its "
            "forward speed"
        )
        return [Problem("motion", f"none, with {why}", allowed, depends_on)]
    if motion.measures == "distance" and abs(motion.direction[0]) < _ALONG * math.hypot(*motion.direction):
        found = f"{list(motion.direction)}, with {why}"
        return [Problem("motion.direction", found, "within 45 degrees of the way, x", depends_on)]
    return []
