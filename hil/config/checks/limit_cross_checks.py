"""Cross-checks of the limits: each of them has something to limit."""

from __future__ import annotations

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem


def limit_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    limits, real = config.limits, config.rig == "real"
    allowed = "a number with rig: real; an impact is not limited on a simulated rig only"
    return [
        Problem(f"limits.{key}", "null", allowed, ("rig",))
        for key in ("sensor_force_N", "bumper_force_N")
        if real and getattr(limits, key) is None
    ]
