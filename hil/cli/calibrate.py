"""`hil calibrate`: numbers of a calibration sheet from the record of a run in which a sensor was pressed or loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson

if TYPE_CHECKING:
    from hil.config import Config
    from hil.recording import TrialRecord

calibrate = typer.Typer(
    help="Numbers of a calibration sheet from the record of a run, made with `hil jog CONFIG --speed 0 --for 10`.",
    no_args_is_help=True,
)

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")]
Sensor = Annotated[str, typer.Option("--sensor", metavar="NAME", help="Its name in daq.channels.")]
Sheet = Annotated[
    Path | None,
    typer.Option(
        "--sheet",
        metavar="FILE",
        help="Calibration file to write the numbers into; the former one is kept beside it.",
        show_default=False,
    ),
]


@calibrate.callback()
def _calibrations() -> None:
    """Numbers of a calibration sheet from the record of a run."""


@calibrate.command()
def droop(run: Run, sensor: Sensor, sheet: Sheet = None, as_json: AsJson = False) -> None:
    """Time constant of a sensor's AC coupling: 0.2 s without force, press, release, wait for two seconds."""
    from hil.signals.calibration import fit_droop

    record, config, column = _recorded(run, sensor)
    found = _fit(run, lambda: fit_droop(record.raw[:, column], _rate_hz(config)))
    numbers = {"droop_s": _digits(found.value), "droop_u95": _digits(found.u95 / found.value)}
    _finish(sensor, numbers, sheet, as_json)


@calibrate.command()
def force(
    run: Run,
    sensor: Sensor,
    weight: Annotated[
        list[float], typer.Option("--weight", metavar="N", min=0.1, help="Known force [N]; repeatable, in their order.")
    ],
    sheet: Sheet = None,
    as_json: AsJson = False,
) -> None:
    """Sensitivity from known weights: 0.2 s without force, then each weight put on for a second and taken off."""
    from hil.signals.calibration import fit_sensitivity

    record, config, column = _recorded(run, sensor)
    droop_s, droop_u95 = config.droops_s[column], config.droops_u95[column]
    found = _fit(run, lambda: fit_sensitivity(record.raw[:, column], _rate_hz(config), droop_s, droop_u95, weight))
    numbers = {"sensitivity_mVpN": _digits(1e3 * found.value), "sensitivity_u95": _digits(found.u95 / found.value)}
    _finish(sensor, numbers, sheet, as_json)


@calibrate.command()
def zero(run: Run, sensor: Sensor, sheet: Sheet = None, as_json: AsJson = False) -> None:
    """Reading without force, over the run's first 0.2 s: nothing may touch the sensor."""
    from hil.signals.calibration import UNLOADED_S, fit_offset

    record, config, column = _recorded(run, sensor)
    rate_hz = _rate_hz(config)
    found = _fit(run, lambda: fit_offset(record.raw[: round(UNLOADED_S * rate_hz), column], rate_hz))
    _finish(sensor, {"offset_V": _digits(found.value)}, sheet, as_json)


def _recorded(run: Path, sensor: str) -> tuple[TrialRecord, Config, int]:
    """The record of a run, its config and the column of a sensor."""
    from hil.config import parse_config
    from hil.recording import RecordError, read_trial
    from hil.recording.run_folder import recorded_run

    with usage_errors():
        recorded_run(run)
        try:
            record = read_trial(run, doubted=True)
        except RecordError as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
        config = parse_config(str(record.meta.get("config", "")), "/meta/config")
    names = config.layout.channels
    wrong = f"{run}: --sensor {sensor}: no such sensor, allowed: {', '.join(names) or 'none, the rig has no sensors'}"
    if config.record.sensors != "all":
        wrong = f"{run}: record.sensors is {config.record.sensors}; a calibration needs all samples"
    elif sensor in names:
        return record, config, names.index(sensor)
    complain(wrong)
    raise typer.Exit(USAGE)


def _rate_hz(config: Config) -> float:
    assert config.daq is not None
    return float(config.daq.rate_hz)


def _fit(run: Path, fit: Any) -> Any:
    """What a fit gives; what the record lacks ends the command."""
    from hil.signals.calibration import CalibrationError

    try:
        return fit()
    except CalibrationError as error:
        complain(f"{run}: {error}")
        raise typer.Exit(USAGE) from None


def _finish(sensor: str, numbers: dict[str, float], sheet: Path | None, as_json: bool) -> None:
    """Show the numbers, and write them into the sheet, if one is given."""
    if sheet is not None:
        from hil.config.calibration import SheetError, update_sheet

        try:
            former = update_sheet(sheet, sensor, numbers)
        except SheetError as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
        if not as_json:
            print(f"{sheet} has them now" + (f"; the former one is {former}" if former else ""))
    if as_json:
        print(json.dumps({"sensor": sensor, **numbers}))
        return
    for key, value in numbers.items():
        print(f"{sensor}: {key}: {value:g}")


def _digits(value: float) -> float:
    return float(f"{value:.5g}")
