"""Simulated devices for tests of anybody's rig code, without hardware.

Each function here makes a device that any program can use over the path of a serial port or over HOST:PORT; use it in a
`with`. As a pytest plug-in, which pytest finds by itself, the package has a fixture for each (`simulated_roboclaw`,
...; `pytest --fixtures`). What is made is simulated to the byte; what it turns and measures is simple, and a test sets
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hil.testing.bench import VirtualBench, distance_sensor, imu, motion_capture, total_station
    from hil.testing.modbus import amplifier, encoders, regulators, relay_board
    from hil.testing.motor_controllers import roboclaw, roboclaw_servos, roboteq
    from hil.testing.ni import ni_chassis
    from hil.testing.whole_rig import rig

__all__ = [
    "VirtualBench",
    "amplifier",
    "distance_sensor",
    "encoders",
    "imu",
    "motion_capture",
    "ni_chassis",
    "regulators",
    "relay_board",
    "rig",
    "roboclaw",
    "roboclaw_servos",
    "roboteq",
    "total_station",
]
# For `pytest -p hil.testing`; the entry point names the plug-in itself.
pytest_plugins = ("hil.testing.plugin",)
# Module of each name, imported when the name is used first.
_MODULES = {
    name: module
    for module, names in {
        "bench": "VirtualBench distance_sensor imu motion_capture total_station",
        "modbus": "amplifier encoders regulators relay_board",
        "motor_controllers": "roboclaw roboclaw_servos roboteq",
        "ni": "ni_chassis",
        "whole_rig": "rig",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    """Import what is used. Raises AttributeError; ImportError: the extra `ni` is not installed."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """The names above, which are not imported before they are used."""
    return sorted({*globals(), *__all__})
