"""Drivers by role and name: built in, or from installed packages (entry points `rover_hil.drivers`).

A built-in name is found at once. Only for other names are the installed packages searched, and only the package that
provides the driver is imported, so a broken package does not affect the others.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from drivers.cia402.entry import CIA402
from drivers.device_sections import DeviceSection, Role
from drivers.dimetix.entry import DIMETIX
from drivers.driver_type import DaqType, DriverType, DrivesType, LoadsType, ServosType, ValvesType
from drivers.extensions import DRIVERS, ExtensionError, installed_names, load_installed
from drivers.leica.entry import LEICA
from drivers.modbus.entry import MODBUS, MODBUS_JOINTS, MODBUS_LOADS
from drivers.natnet.entry import NATNET
from drivers.ni.entry import NI_DAQ, NI_JOINTS, NI_LOADS, NI_MOTION, NI_VALVES
from drivers.roboclaw.entry import ROBOCLAW, ROBOCLAW_SERVOS
from drivers.roboteq.entry import ROBOTEQ, ROBOTEQ_SERVOS
from drivers.vectornav.entry import VECTORNAV

BUILT_IN: tuple[DriverType[Any], ...] = (
    *(ROBOCLAW, ROBOTEQ, CIA402, MODBUS, NI_VALVES, NI_DAQ, NI_LOADS, MODBUS_LOADS),
    *(DIMETIX, LEICA, NATNET, NI_MOTION, VECTORNAV, MODBUS_JOINTS, NI_JOINTS),
    *(ROBOCLAW_SERVOS, ROBOTEQ_SERVOS),
)


def driver_type(role: Role, name: str) -> DriverType[Any] | None:
    """The driver of that role and name; None: there is none.

    Raises:
        ExtensionError: an installed package declares it, but cannot be imported or has no such driver.

    Example:
        >>> driver_type("drives", "roboclaw").settings.__name__
        'RoboClawDrivesSection'
        >>> driver_type("drives", "unknown") is None
        True
    """
    for kind in (*BUILT_IN, *_installed(name)):
        if (kind.role, kind.name) == (role, name):
            return kind
    return None


def driver_of(section: DeviceSection) -> DriverType[Any]:
    """The driver of a checked section."""
    driver = driver_type(section.role, section.driver)
    assert driver is not None  # else the section's check would have failed
    return driver


def drives_driver(section: DeviceSection) -> DrivesType[Any]:
    """The driver of checked wheel drives."""
    driver = driver_of(section)
    assert isinstance(driver, DrivesType)
    return driver


def valves_driver(section: DeviceSection) -> ValvesType[Any]:
    """The driver of checked valves."""
    driver = driver_of(section)
    assert isinstance(driver, ValvesType)
    return driver


def daq_driver(section: DeviceSection) -> DaqType[Any]:
    """The driver of a checked data acquisition."""
    driver = driver_of(section)
    assert isinstance(driver, DaqType)
    return driver


def loads_driver(section: DeviceSection) -> LoadsType[Any]:
    """The driver of a checked data acquisition of load channels."""
    driver = driver_of(section)
    assert isinstance(driver, LoadsType)
    return driver


def servos_driver(section: DeviceSection) -> ServosType[Any]:
    """The driver of checked servos."""
    driver = driver_of(section)
    assert isinstance(driver, ServosType)
    return driver


def built_in(role: Role) -> tuple[DriverType[Any], ...]:
    """Built-in drivers of a role.

    Example:
        >>> [kind.name for kind in built_in("drives")]
        ['roboclaw', 'roboteq', 'cia402']
    """
    return tuple(kind for kind in BUILT_IN if kind.role == role)


def driver_names(role: Role) -> list[str]:
    """Returns the names of all drivers that may have a role; does not import the installed packages."""
    return [*(kind.name for kind in built_in(role)), *installed_names(DRIVERS)]


def broken_drivers() -> Iterator[str]:
    """A message for each installed package that does not provide the driver it declares; imports all of them."""
    for name in installed_names(DRIVERS):
        try:
            _installed(name)
        except ExtensionError as error:
            yield str(error)


@functools.cache
def _installed(name: str) -> tuple[DriverType[Any], ...]:
    """Driver types that installed packages provide under that name: one, or several of different roles."""
    if any(kind.name == name for kind in BUILT_IN):
        return ()
    kinds: list[DriverType[Any]] = []
    for entry, package in load_installed(DRIVERS, name):
        for kind in entry if isinstance(entry, tuple) else (entry,):
            if not isinstance(kind, DriverType) or kind.name != name:
                needed = f"a DriverType with the name {name}, or a tuple of them"
                raise ExtensionError(f"{package} provides {kind!r}; needed: {needed}")
            kinds.append(kind)
    return tuple(kinds)
