"""`hil calibrate shunt` and `teds`: what a device can find of its channels by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli.calibration_run import Sheet
from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson, Endpoints, Overrides, config_from, progress, with_groups
from hil.messages.layout import Layout

if TYPE_CHECKING:
    from hil.config import Config


@dataclass(frozen=True)
class _BridgeCalibration:
    """The rig, and where the numbers go."""

    config: Annotated[str, typer.Argument(metavar="CONFIG", help="Config of the rig.")]
    overrides: Overrides = None
    endpoints: Endpoints = None
    sheet: Sheet = None
    as_json: AsJson = False

    def load(self) -> Config:
        """Its config."""
        with usage_errors():
            return config_from(self.config, self.overrides, None, None)


@with_groups
def shunt(
    rig: _BridgeCalibration,
    sensor: Annotated[str, typer.Option("--sensor", metavar="NAME", help="A channel; or `loads`: all load channels.")],
    resistor: Annotated[
        float, typer.Option("--resistor", metavar="OHM", min=1.0, help="Shunt resistor of the device.")
    ],
    bridge: Annotated[float, typer.Option("--bridge", metavar="OHM", min=1.0, help="Each arm of the bridge.")],
    arm: Annotated[str, typer.Option("--arm", metavar="R1|R2|R3|R4", help="Arm that the shunt is parallel to.")] = "R3",
) -> None:
    """What the leads of a bridge lose: the device switches a resistor to an arm, as if there were a known load.

    The sensors are without load meanwhile. The driver has to offer it: `ni` does, for inputs of kind bridge.
    """
    config = rig.load()
    from drivers.channel_calibration import Shunt
    from hil.app.channel_calibration import shunt_gains

    if arm not in ("R1", "R2", "R3", "R4"):
        complain(f"--arm {arm}: allowed: R1, R2, R3, R4")
        raise typer.Exit(USAGE)
    group, names = _channels(rig, config.layout, sensor)
    with usage_errors():
        gains = shunt_gains(config, group, names, Shunt(resistor, bridge, arm), progress, rig.endpoints)
    _finish(rig, {name: {"shunt_gain": float(f"{gain:.5g}")} for name, gain in gains.items()}, group)


@with_groups
def teds(rig: _BridgeCalibration) -> None:
    """What sensors with a data sheet inside (TEDS, IEEE 1451.4) say of themselves; --sheet takes the serial numbers.

    With --sheet it is the file of the force sensors, or of the load channels of a rig without force sensors.
    """
    config = rig.load()
    from hil.app.channel_calibration import read_teds

    with usage_errors():
        found = read_teds(config, progress, rig.endpoints)
    for group, sensors in found.items():
        for name, one in sensors.items():
            if rig.as_json:
                print(json.dumps({"group": group, "sensor": name, "teds": None if one is None else one._asdict()}))
            elif one is None:
                print(f"{name}: no TEDS")
            else:
                said = f"manufacturer {one.manufacturer}, model {one.model}, version {one.version}"
                print(f"{name}: {said}, serial {one.serial}")
    group = next(iter(found), "daq")
    serials = {name: {"serial": str(one.serial)} for name, one in found.get(group, {}).items() if one is not None}
    if rig.sheet is not None and serials:
        _write(rig, serials, group)


def _channels(rig: _BridgeCalibration, layout: Layout, name: str) -> tuple[str, tuple[str, ...]]:
    """The group of a channel, and the channels that a name means."""
    if name == "loads" and layout.loads:
        return "loads", layout.loads
    for group in ("daq", "loads"):
        if name in layout.parts(group):
            return group, (name,)
    allowed = ", ".join((*layout.channels, *layout.loads)) or "none, the rig has no sensors"
    complain(f"{rig.config}: --sensor {name}: no such channel, allowed: {allowed}")
    raise typer.Exit(USAGE)


def _finish(rig: _BridgeCalibration, found: dict[str, dict[str, float]], group: str) -> None:
    if rig.sheet is not None:
        _write(rig, found, group)
    for name, numbers in found.items():
        for key, value in numbers.items():
            print(json.dumps({"sensor": name, key: value}) if rig.as_json else f"{name}: {key}: {value:g}")


def _write(rig: _BridgeCalibration, found: dict[str, dict[str, Any]], group: str) -> None:
    from hil.config.calibration import SheetError, update_sheets

    assert rig.sheet is not None
    try:
        former = update_sheets(rig.sheet, found, group)
    except SheetError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if not rig.as_json:
        print(f"{rig.sheet} has them now" + (f"; the former one is {former}" if former else ""))
