"""Cross-checks of the experiments of traction: drawbar and slope."""

from __future__ import annotations

from hil.config.model import UncheckedConfig
from hil.config.problems import Problem

# Part of the limits of wheel speed and acceleration that an experiment may take; the rest is for slip.
SLIP_MARGIN = 0.9


def traction_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    name, section, limits = config.experiment, config.throttle, config.limits
    assert section is not None
    problems: list[Problem] = []
    if config.ground.kind != "soil":
        problems.append(
            Problem("ground.kind", config.ground.kind, f"soil: experiment {name} measures traction on soil")
        )
    if section.duty is None:
        wheel_speed = section.speed_mps / config.wheel_radius_m
        if wheel_speed > limits.wheel_speed_radps:
            most_mps = limits.wheel_speed_radps * config.wheel_radius_m
            allowed = f"at most {most_mps:.3g} m/s (limits.wheel_speed_radps at the rim)"
            problems.append(
                Problem(f"{name}.speed_mps", f"{section.speed_mps:g} m/s", allowed, ("limits.wheel_speed_radps",))
            )
        shortest_s = wheel_speed / (SLIP_MARGIN * limits.wheel_acceleration_radps2)
        if section.ramp_s < shortest_s:
            allowed = f"at least {shortest_s:.4g}, by {SLIP_MARGIN:g} of limits.wheel_acceleration_radps2"
            depends_on = (f"{name}.speed_mps", "limits.wheel_acceleration_radps2")
            problems.append(Problem(f"{name}.ramp_s", f"{section.ramp_s:g}", allowed, depends_on))
    if section.controls_loads and not config.layout.cylinders:
        wanted = ", ".join(dict.fromkeys((section.mode, *section.modes)))
        allowed = "passive: without cylinders nothing controls the wheel loads"
        problems.append(Problem(f"{name}.modes", wanted, allowed, ("cylinders.joints", "rover.type")))
    elif section.controls_loads and config.pull_unknown:
        wanted = ", ".join(dict.fromkeys((section.mode, *section.modes)))
        found = f"none, with {name}.mode and {name}.modes {wanted}"
        allowed = "a load cell (loads.load_cell={}), or passive alone: the rover twin knows the winch's pull, which "
        allowed += "moves the wheels' loads, from the load cell only"
        problems.append(Problem("loads.load_cell", found, allowed, (f"{name}.mode", f"{name}.modes", "loads")))
    if config.slope.from_deg >= config.slope.to_deg and name == "slope":
        allowed = f"below slope.to_deg, {config.slope.to_deg:g}"
        problems.append(Problem("slope.from_deg", f"{config.slope.from_deg:g}", allowed, ("slope.to_deg",)))
    names = [weight.name for weight in config.drawbar.weights]
    if len(set(names)) < len(names):
        problems.append(Problem("drawbar.weights", ", ".join(names), "each name once"))
    return problems
