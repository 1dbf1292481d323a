"""Driven joints before arming: within their ranges, and where an encoder on the same joint says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hil.messages.check import Check
from hil.messages.stages import Samples

if TYPE_CHECKING:
    from hil.config.rig import Rig

# Beside the servos' own `outside_deg`, so many standard deviations of the encoder's noise and bias.
_NOISES = 3.0


def joint_checks(rig: Rig, samples: Samples) -> list[Check]:
    """The checks of the driven joints."""
    return [*_range_checks(rig, samples), *zero_checks(rig, samples)]


def _range_checks(rig: Rig, samples: Samples) -> list[Check]:
    """Whether the angles of the driven joints are within their ranges."""
    angles = samples.servos
    if angles is None:
        return []
    checks = []
    to_do = "move the joint back into its range by hand, power off; if it is there, look at its encoder and its zero"
    for joint, angle_rad in zip(rig.config.driven_joints, angles.angle_rad, strict=True):
        low, high, at = map(joint.shown, (joint.low_rad, joint.high_rad, angle_rad))
        ok, allowed = low <= at <= high, f"{low:g} to {high:g} {joint.unit} (servos.{joint.section})"
        checks.append(Check(f"joint {joint.name}", ok, joint.words(angle_rad), allowed, to_do))
    return checks


def zero_checks(rig: Rig, samples: Samples) -> list[Check]:
    """One check for each driven joint that has an encoder of the instrument `joints`, once that has a reading."""
    config, servos, joints = rig.config, samples.servos, samples.joints
    if config.servos is None or config.joints is None or servos is None or joints is None or not joints.sequence:
        return []
    driven = dict(zip(rig.layout.servos, servos.angle_rad, strict=True))
    within_deg = config.servos.outside_deg + _NOISES * (config.joints.noise_deg + config.joints.bias_deg)
    to_do = "look at the joint: then correct the zero of the servo (docs/how-to/drive-joints.md) or of the encoder"
    checks = []
    for encoder, value in zip(config.encoders, joints.value, strict=True):
        if (angle := driven.get(encoder.joint)) is None or not math.isfinite(value):
            continue
        sign = -1.0 if encoder.reversed else 1.0
        seen = sign * (value - math.radians(encoder.zero_deg))
        off_deg = abs(math.degrees(math.remainder(angle - seen, math.tau)))
        found = f"{off_deg:.1f} deg apart" if math.isfinite(off_deg) else "not known"
        allowed = f"at most {within_deg:.2g} deg (servos.outside_deg, and the encoder's noise)"
        checks.append(Check(f"zero of {encoder.joint}", off_deg <= within_deg, found, allowed, to_do))
    return checks
