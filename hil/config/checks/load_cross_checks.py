"""Cross-checks of a config whose experiment distributes the wheels' loads."""

from __future__ import annotations

from collections.abc import Iterator

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem


def load_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a config that controls no loads."""
    if not config.section.controls_loads:
        return []
    if not config.layout.cylinders:
        found = f"{config.experiment}, and rover.type {config.rover.type} without cylinders"
        allowed = "a rover with cylinders (cylinders.joints): they move the wheels' loads"
        return [Problem("experiment", found, allowed, ("rover.type", "cylinders.joints"))]
    return [*_ground(config), *_cylinders(config)]


def _ground(config: UncheckedConfig) -> Iterator[Problem]:
    if config.ground.kind == "none":
        allowed = "soil, firm or rigid: without ground no wheel bears a load"
        yield Problem("ground.kind", "none", allowed, ("experiment",))


def _cylinders(config: UncheckedConfig) -> Iterator[Problem]:
    """Pressures must be measured, and there must be one at all."""
    valves = config.devices.valves if config.devices else None
    if valves is not None and not valves.measures_pressures:
        allowed = "inputs for the pressures of all chambers: torques are controlled by them"
        yield Problem("devices.valves", f"{valves.driver} without pressure inputs", allowed, ("experiment",))
    if config.cylinders.supply_kPa == 0.0:
        yield Problem("cylinders.supply_kPa", "0", "above 0: the cylinders push the wheels", ("experiment",))
