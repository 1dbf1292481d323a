"""Cross-checks of the limits: each of them has something to limit."""

from __future__ import annotations

from collections.abc import Iterator

from hil.config.model import UncheckedConfig
from hil.config.power import measured_supplies
from hil.config.problems import Problem


def limit_cross_checks(config: UncheckedConfig) -> list[Problem]:
    """All of them, each naming the key to change."""
    return [*_numbers(config), *_gearbox(config), *_currents(config), *_pressures(config)]


def _numbers(config: UncheckedConfig) -> Iterator[Problem]:
    for key in ("sensor_force_N", "bumper_force_N"):
        if config.rig == "real" and getattr(config.limits, key) is None:
            allowed = "a number with rig: real; an impact is not limited on a simulated rig only"
            yield Problem(f"limits.{key}", "null", allowed, ("rig",))


def _gearbox(config: UncheckedConfig) -> Iterator[Problem]:
    """A commanded speed is one at which the drives still have their largest torque, as their model has it."""
    if (gearbox := config.drives.gearbox) is None:
        return
    most, found = gearbox.at_axle.full_torque_speed, config.limits.wheel_speed_radps
    if found > most:
        allowed = f"up to {most:.4g} rad/s: above it the voltage limits the torque behind a gear of 1:{gearbox.ratio:g}"
        yield Problem("limits.wheel_speed_radps", f"{found:g} rad/s", allowed, ("drives.gearbox.ratio",))


def _currents(config: UncheckedConfig) -> Iterator[Problem]:
    """A limit of what no driver measures would be one that nothing watches."""
    drives = config.devices.drives if config.devices else None
    if measured_supplies(config.rig, config.devices) or drives is None:
        return
    allowed = f"null: the driver {drives.driver} measures neither motor currents nor the supply"
    for key in ("motor_current_A", "supply_V"):
        if getattr(config.limits, key) is not None:
            yield Problem(f"limits.{key}", "a limit", allowed, ("devices.drives.driver",))


def _pressures(config: UncheckedConfig) -> Iterator[Problem]:
    if config.limits.pressure_kPa is None:
        return
    valves = config.devices.valves if config.devices else None
    if not config.layout.cylinders:
        allowed = "null: the rover has no cylinders"
        yield Problem("limits.pressure_kPa", "a limit", allowed, ("rover.type", "cylinders.joints"))
    elif config.rig != "simulated" and valves is not None and not valves.measures_pressures:
        allowed = f"null: the driver {valves.driver} has no pressure inputs; nothing measures this"
        yield Problem("limits.pressure_kPa", "a limit", allowed, ("devices.valves",))
