"""`hil calibrate`: numbers of a calibration sheet, from the running sensors or from the record of a run.

`hil calibrate shunt` and `teds`: what a device can find of its channels by itself.

`hil calibrate residuals`: thresholds of implausible values, from good runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from hil.cli.calibrate_instruments import (
    Sheet,
    date_of,
    finish,
    imu,
    joints,
    motion,
    record_of,
    refusals,
    store,
)
from hil.cli.run_options import AsJson, Endpoints, Overrides, config_from, progress, with_groups
from hil.cli.terminal import USAGE, complain, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.config import Config
    from hil.config.schema.loads import LoadsConfig
    from hil.messages.layout import Layout
    from hil.recording import TrialRecord
    from hil.signals.calibration_fits import FittedValue, Floats


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
    from hil.app.sensor_calibration import shunt_gains
    from hil.config.rig import Rig

    if arm not in ("R1", "R2", "R3", "R4"):
        complain(f"--arm {arm}: allowed: R1, R2, R3, R4")
        raise typer.Exit(USAGE)
    group, names = _channels(rig, config.layout, sensor)
    with usage_errors():
        gains = shunt_gains(Rig(config), group, names, Shunt(resistor, bridge, arm), progress, rig.endpoints)
    finish({name: {"shunt_gain": gain} for name, gain in gains.items()}, rig.sheet, group, as_json=rig.as_json)


@with_groups
def teds(rig: _BridgeCalibration) -> None:
    """What sensors with a data sheet inside (TEDS, IEEE 1451.4) say of themselves; --sheet takes the serial numbers.

    With --sheet it is the file of the force sensors, or of the load channels of a rig without force sensors.
    """
    config = rig.load()
    from hil.app.sensor_calibration import read_teds
    from hil.config.calibration_sheets import update_sheets
    from hil.config.rig import Rig

    with usage_errors():
        found = read_teds(Rig(config), progress, rig.endpoints)
    for group, sensors in found.items():
        for name, one in sensors.items():
            if rig.as_json:
                print(json.dumps({"group": group, "sensor": name, "teds": None if one is None else one._asdict()}))
            elif one is None:
                write_folded(f"{name}: no TEDS")
            else:
                said = f"manufacturer {one.manufacturer}, model {one.model}, version {one.version}"
                write_folded(f"{name}: {said}, serial {one.serial}")
    group = next(iter(found), "daq")
    serials = {name: {"serial": str(one.serial)} for name, one in found.get(group, {}).items() if one is not None}
    if serials:
        said = store(rig.sheet, lambda file: update_sheets(file, serials, group))
        if said and not rig.as_json:
            write_folded(said)


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


def residuals(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of 5 or more good runs of a config.")],
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--sheet",
            metavar="FILE",
            help="File to write the thresholds into; the former one is kept next to it.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Thresholds of implausible values (fault 34) from good runs: how far each residual was from its mean in them.

    The runs may differ in numbers of their config: the thresholds hold between these, and are wider.
    """
    from hil.app.sensor_calibration import calibrate_residuals
    from hil.config.calibration_sheets import replace_residuals

    with refusals():
        sheet_values = calibrate_residuals(runs)
    said = store(sheet, lambda file: replace_residuals(file, sheet_values))
    if as_json:
        print(json.dumps(sheet_values))
        return
    if said:
        write_folded(said)
    for key, (low, high) in sheet_values["between"].items():
        write_folded(f"{key}: {low:g} to {high:g} in these runs")
    for name, each in sheet_values["thresholds"].items():
        for element, (low, high) in each.items():
            write_folded(f"{name} {element}: {low:g} to {high:g}")


calibrate = typer.Typer(
    help="Numbers of a calibration sheet, from the running sensors, or from a run that is made now or was before.",
    no_args_is_help=True,
)


@dataclass(frozen=True)
class Sensor:
    """The sensor, where its samples come from, and where the numbers go."""

    source: Annotated[
        str,
        typer.Argument(metavar="CONFIG|RUN", help="Config of a rig, to read its sensors now; or folder of a run."),
    ]
    name: Annotated[str, typer.Option("--sensor", metavar="NAME", help="Its name in daq.channels.")]
    seconds: Annotated[
        float,
        typer.Option("--for", metavar="SECONDS", min=1.0, max=600.0, help="How long a rig's sensors are read."),
    ] = 10.0
    overrides: Overrides = None
    endpoints: Endpoints = None
    sheet: Sheet = None
    as_json: AsJson = False


class _SensorReadings(NamedTuple):
    """Of one sensor: readings (n,) [V], config of the rig, and the sensor's place among the channels."""

    volts: Floats
    config: Config
    column: int

    @property
    def rate_hz(self) -> float:
        """Samples a second."""
        assert self.config.daq is not None
        return float(self.config.daq.rate_hz)


@calibrate.callback()
def _calibrations() -> None:
    """Numbers of a calibration sheet from the running sensors, or from the record of a run."""


@calibrate.command()
@with_groups
def droop(sensor: Sensor) -> None:
    """Time constant of a sensor's AC coupling: 0.2 s without force, press, release, wait for two seconds."""
    from hil.signals.calibration_fits import CalibrationError, fit_droop

    def fit(one: _SensorReadings) -> FittedValue:
        device = one.config.devices.daq if one.config.devices else None
        if device is not None and not device.droops(sensor.name):
            kind = device.kind(sensor.name)
            raise CalibrationError(f"{sensor.name}: its input is {kind}, which is coupled DC: it has no droop to fit")
        return fit_droop(one.volts, one.rate_hz)

    fitted = _fit(sensor, "now press the sensor, let go, and leave it alone", fit)
    finish(
        {sensor.name: {"droop_s": fitted.value, "droop_u95": fitted.u95 / fitted.value}},
        sensor.sheet,
        "daq",
        as_json=sensor.as_json,
    )


@calibrate.command()
@with_groups
def force(
    sensor: Sensor,
    weight: Annotated[
        list[float], typer.Option("--weight", metavar="N", min=0.1, help="Known force [N]; repeatable, in their order.")
    ],
) -> None:
    """Sensitivity from known weights: 0.2 s without force, then each weight put on for a second and taken off."""
    from hil.signals.calibration_fits import fit_sensitivity

    def fit(one: _SensorReadings) -> FittedValue:
        droop_s, droop_u95 = one.config.droops_s[one.column], one.config.droops_u95[one.column]
        return fit_sensitivity(one.volts, one.rate_hz, droop_s, droop_u95, weight)

    named = ", ".join(f"{value:g} N" for value in weight)
    fitted = _fit(sensor, f"now put on, for a second each, and take off: {named}", fit)
    numbers = {"sensitivity_mVpN": 1e3 * fitted.value, "sensitivity_u95": fitted.u95 / fitted.value}
    run = Path(sensor.source)
    date = date_of(record_of(run)[0] if run.is_dir() else None)
    finish({sensor.name: numbers}, sensor.sheet, "daq", as_json=sensor.as_json, date=date)


@calibrate.command()
def cylinder(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    name: Annotated[str, typer.Option("--cylinder", metavar="NAME", help="Its name, like left.")],
    force_N: Annotated[
        list[float] | None,
        typer.Option("--force", metavar="N", help="Known force in each pressure step [N]; repeatable, in their order."),
    ] = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Torque or force from pressure: a run in which the pressure stands at three steps or more (MacMahon 2016, 6.1).

    Without --force the torque on its joint is taken from the leg sensors, with the rover at rest on level ground.
    """
    from hil.app.sensor_calibration import calibrate_cylinder
    from hil.config.rig import Rig

    record, config = record_of(run)
    known = config.layout.cylinders
    if name not in known:
        allowed = ", ".join(known) or "none, the rover has no cylinders"
        complain(f"{run}: --cylinder {name}: no such cylinder, allowed: {allowed}")
        raise typer.Exit(USAGE)
    with refusals(run):
        numbers = calibrate_cylinder(record, Rig(config), name, force_N or ())
    finish({name: numbers}, sheet, "cylinders", as_json=as_json, date=date_of(record))


@calibrate.command()
@with_groups
def zero(sensor: Sensor) -> None:
    """Reading without force: nothing may touch the sensor. Of a run, its first 0.2 s.

    Of a load channel, or of `loads`, all of them: over the whole of a run with the rover lifted and its legs hanging,
    its wheels at rest: `hil run CONFIG --set experiment=drive --set "drive.steps=[{for_s: 10, speed_mps: 0}]"`.
    """
    from hil.signals.calibration_fits import UNLOADED_S, fit_offset

    if (offsets := _hanging_offsets(sensor)) is not None:
        finish(offsets, sensor.sheet, "loads", as_json=sensor.as_json)
        return

    def fit(one: _SensorReadings) -> FittedValue:
        live = not Path(sensor.source).is_dir()
        return fit_offset(one.volts if live else one.volts[: round(UNLOADED_S * one.rate_hz)], one.rate_hz)

    finish({sensor.name: {"offset_V": _fit(sensor, "", fit).value}}, sensor.sheet, "daq", as_json=sensor.as_json)


for command in (residuals, motion, imu, joints, shunt, teds):
    calibrate.command()(command)


def _fit(sensor: Sensor, what_to_do: str, fit: Callable[[_SensorReadings], FittedValue]) -> FittedValue:
    """What a fit to a sensor's samples gives."""
    samples = _recorded(sensor) if Path(sensor.source).is_dir() else _live(sensor, what_to_do)
    with refusals(sensor.source):
        return fit(samples)


def _hanging_offsets(sensor: Sensor) -> dict[str, dict[str, float]] | None:
    """Offset of each load channel that a name means; None: it means none of them."""
    run = Path(sensor.source)
    if not run.is_dir():
        return None
    record, config = record_of(run)
    names = config.layout.loads
    if not names or (sensor.name != "loads" and sensor.name not in names):
        return None
    wanted = names if sensor.name == "loads" else (sensor.name,)
    key = f"offset_{config.load_reading}"
    with refusals(run):
        return {name: {key: _hanging(name, record, config.loads, names)} for name in wanted}


def _hanging(name: str, record: TrialRecord, loads: LoadsConfig | None, names: Sequence[str]) -> float:
    """Reading of a load channel over the run, in the unit of its readings."""
    from hil.signals.calibration_fits import CalibrationError, fit_offset

    assert loads is not None
    try:
        return fit_offset(record.loads.raw[:, names.index(name)], float(loads.rate_hz)).value
    except CalibrationError as error:
        raise CalibrationError(f"{name}: {error}; lift the rover, and wait until its legs hang still") from None


def _live(sensor: Sensor, what_to_do: str) -> _SensorReadings:
    """The sensor's reading from now on."""
    with usage_errors():
        config = config_from(sensor.source, sensor.overrides, None, None)
    column = _column(sensor, config.layout)

    from hil.app.sensor_calibration import live_samples
    from hil.config.rig import Rig

    with usage_errors():
        volts = live_samples(Rig(config), sensor.seconds, what_to_do, progress, sensor.endpoints)
    return _SensorReadings(volts[:, column], config, column)


def _recorded(sensor: Sensor) -> _SensorReadings:
    """The sensor's reading in the record of a run."""
    record, config = record_of(Path(sensor.source))
    if config.record.sensors != "all":
        complain(f"{sensor.source}: record.sensors is {config.record.sensors}; a calibration needs all samples")
        raise typer.Exit(USAGE)
    column = _column(sensor, config.layout)
    return _SensorReadings(record.raw[:, column], config, column)


def _column(sensor: Sensor, layout: Layout) -> int:
    """The sensor's place among the channels."""
    names = layout.channels
    if sensor.name not in names:
        allowed = ", ".join(names) or "none, the rig has no sensors"
        complain(f"{sensor.source}: --sensor {sensor.name}: no such sensor, allowed: {allowed}")
        raise typer.Exit(USAGE)
    return names.index(sensor.name)
