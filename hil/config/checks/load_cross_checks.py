"""Cross-checks of a config whose experiment distributes the wheels' loads."""

from __future__ import annotations

from collections.abc import Iterator

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem
from hil.messages.loads import goal_errors


def load_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change; none of a config that controls no loads."""
    if not config.controls_loads:
        return []
    if not config.layout.cylinders:
        found = f"{config.experiment}, and rover.type {config.rover.type} without cylinders"
        allowed = "a rover with cylinders (cylinders.joints): they move the wheels' loads"
        return [Problem("experiment", found, allowed, ("rover.type", "cylinders.joints"))]
    if config.experiment != "normal_force":
        return list(_cylinders(config))
    return [*_steps(config), *_speed(config), *_goals(config), *_cylinders(config)]


def _steps(config: UncheckedConfig) -> Iterator[Problem]:
    if not config.normal_force.steps:
        yield Problem("normal_force.steps", "none", "one or more")


def _speed(config: UncheckedConfig) -> Iterator[Problem]:
    speed, limit_mps = config.normal_force.speed_mps, config.limits.wheel_speed_radps * config.wheel_radius_m
    if abs(speed) > limit_mps:
        allowed = f"at most {limit_mps:.3g} m/s either way (limits.wheel_speed_radps at the rim)"
        yield Problem("normal_force.speed_mps", f"{speed:g} m/s", allowed, ("limits.wheel_speed_radps",))


def _goals(config: UncheckedConfig) -> Iterator[Problem]:
    for number, step in enumerate(config.normal_force.steps):
        for sentence in goal_errors(step.mode, step.share, step.wheel, config.layout.wheels):
            key = f"normal_force.steps.{number}.{'share' if step.mode == 'share' else 'wheel'}"
            yield Problem(key, sentence, f"a goal of mode {step.mode}", (f"normal_force.steps.{number}.mode",))
        if step.mode == "max_traction" and config.ground.kind != "soil":
            allowed = "another mode: the pull of the wheels is known on soil only"
            yield Problem(f"normal_force.steps.{number}.mode", step.mode, allowed, ("ground.kind",))


def _cylinders(config: UncheckedConfig) -> Iterator[Problem]:
    """Pressures must be measured, and there must be one at all."""
    valves = config.devices.valves if config.devices else None
    if valves is not None and not valves.measures_pressures:
        allowed = "inputs for the pressures of all chambers: torques are controlled by them"
        yield Problem("devices.valves", f"{valves.driver} without pressure inputs", allowed, ("experiment",))
    if config.cylinders.supply_kPa == 0.0:
        yield Problem("cylinders.supply_kPa", "0", "above 0: the cylinders push the wheels", ("experiment",))
