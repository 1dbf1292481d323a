"""Compares what the load channels report with the config."""

from __future__ import annotations

import numpy as np

from drivers.interfaces import DeviceError
from hil.app.check.access import Access
from hil.app.check.device_checks import LOOK_NS, opened, rate_checks, seen_blocks
from hil.config.load_channels import normal_force_rows, offsets_V
from hil.config.rig import Rig
from hil.config.schema.loads import LoadsConfig
from hil.messages.check import Check
from hil.messages.layout import Layout
from hil.safety.arming import load_age_check


def check_loads(rig: Rig, access: Access) -> list[Check]:
    """Load channels at rest: their age, rate, range, and the loads that they give. Raises DeviceError."""
    assert rig.config.loads is not None
    blocks, age_ms, _, health, _ = seen_blocks(access, access.loads())
    if len(blocks) < 2:
        raise DeviceError(f"{health.device}: {len(blocks)} blocks in {LOOK_NS * 1e-9:g} s; is it connected?")
    checks = [opened(health), load_age_check(rig.limits, age_ms)]
    checks += rate_checks("load sample rate", blocks, rig.config.loads.rate_hz, "loads.rate_hz", 1)
    volts = np.concatenate([block.volts for block in blocks])
    return [*checks, *_channels(rig.config.loads, rig.layout, volts), *_loads(rig, volts.mean(axis=0))]


def _channels(
    loads: LoadsConfig | None, layout: Layout, volts: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> list[Check]:
    """Readings that are finite and inside the range; a broken wire ends at full scale."""
    assert loads is not None
    full_V = 0.99 * loads.range_V
    means, noise = volts.mean(axis=0).tolist(), volts.std(axis=0).tolist()
    allowed = f"within {full_V:.4g} V, 99 % of loads.range_V"
    to_do = "look for a broken wire, or choose a larger loads.range_V"
    return [
        Check(f"load channel {name}", abs(mean) <= full_V, f"{mean:.4g} V, noise {spread:.2g} V", allowed, to_do)
        for name, mean, spread in zip(layout.loads, means, noise, strict=True)
    ]


def _loads(rig: Rig, mean_V: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[Check]:
    """What the readings mean; whether they add up to the weight is an arming check. None of strain gauges alone."""
    loads_N = (normal_force_rows(rig.config) @ (mean_V - offsets_V(rig.config))).tolist()
    names = (*(rig.layout.wheels if rig.layout.leg_sensors else ()), *(("pull",) * rig.layout.load_cell))
    words = ", ".join(f"{name} {load:.0f} N" for name, load in zip(names, loads_N, strict=True))
    allowed = "as it stands; with offsets of the calibration (hil calibrate zero)"
    return [Check("loads", True, words, allowed)] if names else []
