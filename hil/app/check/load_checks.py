"""Compares what the load channels report with the config."""

from __future__ import annotations

import numpy as np

from drivers.interfaces import DeviceError
from hil.app.check.access import Access
from hil.app.check.device_checks import LOOK_NS, opened, rate_checks, seen_blocks
from hil.config.load_channels import full_scales, normal_force_rows, offsets
from hil.config.rig import Rig
from hil.messages.check import Check
from hil.safety.arming import load_age_check


def check_loads(rig: Rig, access: Access) -> list[Check]:
    """Load channels at rest: their age, rate, range, and the loads that they give. Raises DeviceError."""
    assert rig.config.loads is not None
    blocks, age_ms, _, health, _ = seen_blocks(access, access.device("loads"))
    if len(blocks) < 2:
        raise DeviceError(f"{health.device}: {len(blocks)} blocks in {LOOK_NS * 1e-9:g} s; is it connected?")
    checks = [opened(health), load_age_check(rig.limits, age_ms)]
    checks += rate_checks("load sample rate", blocks, rig.config.loads.rate_hz, "loads.rate_hz", 1)
    readings = np.concatenate([block.values for block in blocks])
    return [*checks, *_channels(rig, readings), *_loads(rig, readings.mean(axis=0))]


def _channels(rig: Rig, readings: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> list[Check]:
    """Readings that are finite and inside the range; a broken wire ends at full scale."""
    setting = "full scale (force_N, moment_Nm)" if rig.layout.reads_loads else "loads.range_V"
    to_do = f"look for a broken wire, or choose a larger {setting}"
    means, noise = readings.mean(axis=0).tolist(), readings.std(axis=0).tolist()
    full = (0.99 * full_scales(rig.config)).tolist()
    return [
        Check(
            f"load channel {name}",
            abs(mean) <= most,
            f"{mean:.4g} {unit}, noise {spread:.2g} {unit}",
            f"within {most:.4g} {unit}, 99 % of {setting}",
            to_do,
        )
        for name, unit, mean, spread, most in zip(
            rig.layout.loads, rig.layout.units_of("loads"), means, noise, full, strict=True
        )
    ]


def _loads(rig: Rig, mean: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[Check]:
    """What the readings mean; whether they add up to the weight is an arming check. None of strain gauges alone."""
    loads_N = (normal_force_rows(rig.config) @ (mean - offsets(rig.config))).tolist()
    names = (*(rig.layout.wheels if rig.layout.leg_sensors else ()), *(("pull",) * rig.layout.load_cell))
    words = ", ".join(f"{name} {load:.0f} N" for name, load in zip(names, loads_N, strict=True))
    allowed = "as it stands; with offsets of the calibration (hil calibrate zero)"
    return [Check("loads", True, words, allowed)] if names else []
