"""Cross-checks of a config whose soil is estimated beside the rover twin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem

_KEY = "soil_estimation"
_NEEDED = "null: the estimate needs"


def soil_estimation_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a config whose soil is not estimated."""
    return [*_problems(config)] if config.soil_estimation else []


def _problems(config: UncheckedConfig) -> Iterator[Problem]:
    soil = config.soil
    if config.ground.kind != "soil":
        allowed = f"{_NEEDED} ground.kind soil, level or a slope"
        yield Problem(_KEY, f"a section, with ground.kind {config.ground.kind}", allowed, ("ground.kind",))
    others = [one.variant for one in config.wheels.values() if one.variant not in ("exact", "tire_3")]
    for variant in others[:1]:
        allowed = f"{_NEEDED} wheel.variant exact, whose forces it computes"
        yield Problem(_KEY, f"a section, with wheel.variant {variant}", allowed, ("wheel.variant",))
    regions = len(soil.regions)
    if soil.rut != "fresh" or regions:
        found = "soil.rut remembered" if soil.rut != "fresh" else f"{regions} soil.regions"
        allowed = f"{_NEEDED} one soil under all wheels: soil.rut fresh and soil.regions []"
        yield Problem(_KEY, f"a section, with {found}", allowed, ("soil.rut", "soil.regions"))
    if config.motion is None:
        allowed = f"{_NEEDED} a measured slip, so the instrument motion; that of the twin follows from the soil"
        yield Problem(_KEY, "a section, with motion null", allowed, ("motion",))
    if config.pull_unknown:
        allowed = f"{_NEEDED} a load cell (loads.load_cell) where a winch pulls the rover"
        yield Problem(_KEY, "a section, without a load cell", allowed, ("loads.load_cell", "experiment"))
    with suppress(ValueError):  # a rover whose sizes are not consistent is refused for that
        mounts = config.rover_parameters().tree().wheels
        if len({(mount.radius, mount.width) for mount in mounts}) > 1 or any(mount.crown for mount in mounts):
            allowed = f"{_NEEDED} wheels of one size, without a crown"
            depends_on = ("rover", "wheel.of", "wheel.crown_radius_m")
            yield Problem(_KEY, "a section, with wheels of several sizes or with a crown", allowed, depends_on)
