"""Limits of an impact trial that the sources state, checked before anything moves."""

from __future__ import annotations

from hil.config.rig import Rig
from hil.experiments.impact.obstacle_frame import LARGEST_ANGLE_DEG, LEAST_ANGLE_DEG
from hil.experiments.impact.predicted_force import predicted_force
from hil.messages.check import Check

_LOWER = "lower trial.speed_mps, or cut sooner"


def impact_checks(rig: Rig) -> list[Check]:
    """Speed, angle of a real obstacle, and the predicted force on each sensor and bumper."""
    config, trial, limits = rig.config, rig.config.trial, rig.limits
    allowed = f"at most {limits.impact_speed_mps:g} m/s (limits.impact_speed_mps)"
    ok, found = trial.speed_mps <= limits.impact_speed_mps, f"{trial.speed_mps:g} m/s"
    checks = [Check("impact speed", ok, found, allowed, "lower trial.speed_mps")]
    if config.rig == "real":
        allowed = f"{LEAST_ANGLE_DEG:g} to {LARGEST_ANGLE_DEG:g} deg: under that it meets a wheel too near the ground"
        ok, found = trial.angle_deg >= LEAST_ANGLE_DEG, f"{trial.angle_deg:g} deg"
        checks.append(Check("obstacle angle", ok, found, allowed, "raise the obstacle, and trial.angle_deg with it"))
    if config.daq is None:
        return checks
    force = predicted_force(rig)
    how = f"T_c {force.energy_J:.3g} J, drives cut after {_in_ms(force.delay_s)}"
    loads = [
        (f"predicted force on sensor {name}", load_N, limits.sensor_force_N, "limits.sensor_force_N")
        for name, load_N in zip(config.layout.channels, force.sensor_N, strict=True)
    ]
    if config.daq.layout == "bumper":
        loads.append(("predicted force on a bumper", force.wheel_N, limits.bumper_force_N, "limits.bumper_force_N"))
    for item, load_N, limit_N, key in loads:
        if limit_N is None:
            checks.append(Check(item, True, f"{load_N:.0f} N: {how}", f"not checked ({key} is null)"))
        else:
            allowed = f"at most {limit_N:g} N ({key})"
            checks.append(Check(item, load_N <= limit_N, f"{load_N:.0f} N: {how}", allowed, _LOWER))
    return checks


def _in_ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < float("inf") else "a set time"
