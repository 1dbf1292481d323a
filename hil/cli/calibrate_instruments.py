"""`hil calibrate motion|imu|joints`: how the instruments of motion stand on rig and rover.

The run that a calibration reads, and the file that it writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.run_options import AsJson, Clock, Endpoints, Out, Overrides, Seed, config_from, progress, with_groups
from hil.cli.terminal import REFUSED, USAGE, complain, show, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.app.instrument_calibration import Alignment
    from hil.config import Config
    from hil.config.rig import Rig
    from hil.config.schema.instruments import JointEncoder
    from hil.recording import TrialRecord


Sheet = Annotated[
    Path | None,
    typer.Option(
        "--sheet",
        metavar="FILE",
        help="Calibration file to write the numbers into; the former one is kept next to it.",
        show_default=False,
    ),
]


@contextmanager
def refusals(source: str | Path = "") -> Iterator[None]:
    """What the samples lack, or the calibration file refuses, ends the command, with its source where there is one."""
    from hil.config.calibration_sheets import SheetError
    from hil.signals.calibration_fits import CalibrationError

    try:
        yield
    except (CalibrationError, SheetError) as error:
        complain(f"{source}: {error}" if source else str(error))
        raise typer.Exit(USAGE) from None


def store(sheet: Path | None, update: Callable[[Path], Path | None], source: str | Path = "") -> str:
    """Write a calibration file, if one is given, by a function that returns where the former one is; says so."""
    if sheet is None:
        return ""
    with refusals(source):
        former = update(sheet)
    return f"{sheet} has them now" + (f"; the former one is {former}" if former else "")


def finish(
    found: dict[str, dict[str, float]], sheet: Path | None, kind: str, *, as_json: bool, date: str | None = None
) -> None:
    """Write and show the numbers of sensors or cylinders, by name and key, to five digits.

    `kind` is that of the file's entries: daq, loads or cylinders; `date` that of the calibration, for the file.
    """
    from hil.config.calibration_sheets import update_sheets

    sheets = {name: {key: float(f"{value:.5g}") for key, value in one.items()} for name, one in found.items()}
    if (said := store(sheet, lambda file: update_sheets(file, sheets, kind, date))) and not as_json:
        write_folded(said)
    for name, numbers in sheets.items():
        if as_json:
            print(json.dumps({"sensor": name, **numbers}))
            continue
        for key, value in numbers.items():
            write_folded(f"{name}: {key}: {value:g}")


def record_of(run: Path) -> tuple[TrialRecord, Config]:
    """The record of a run, and its config."""
    from hil.config import parse_config
    from hil.recording import RecordError, read_trial
    from hil.recording.run_folder import recorded_run

    with usage_errors():
        recorded_run(run)
        try:
            record = read_trial(run)
        except RecordError as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
        return record, parse_config(str(record.meta.get("config", "")), "/meta/config")


def date_of(record: TrialRecord | None) -> str:
    """Date of a calibration at this place, YYYY-MM-DD: that of its run, or today."""
    with suppress(ValueError):  # a record without a time
        made = "" if record is None else str(record.meta.get("wall_time", ""))
        return datetime.fromisoformat(made).astimezone().date().isoformat()
    from hil.safety.arming import today

    return today().isoformat()


# How long the rover stands before and after each way, for the mean of what is measured [s].
STAND_S = 2.5


@dataclass(frozen=True)
class _RunSource:
    """A rig that makes the run now, or a run that is there; and where the numbers go."""

    source: Annotated[
        str, typer.Argument(metavar="CONFIG|RUN", help="Config of a rig, to stand or drive now; or folder of a run.")
    ]
    overrides: Overrides = None
    seed: Seed = None
    clock: Clock = None
    out: Out = None
    endpoints: Endpoints = None
    sheet: Sheet = None
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: you are at the rig, with the emergency stop in reach.")
    ] = False
    as_json: AsJson = False


@dataclass(frozen=True)
class Straight:
    """A straight drive, ahead and back."""

    way: Annotated[float, typer.Option("--way", metavar="M", min=0.2, max=10.0, help="Distance ahead, and back.")] = 0.5
    speed: Annotated[float, typer.Option("--speed", metavar="M/S", min=0.005, max=1.0, help="Of the rims.")] = 0.08
    times: Annotated[int, typer.Option("--times", metavar="N", min=1, max=20, help="How often, there and back.")] = 1

    def steps(self) -> list[dict[str, float]]:
        """Steps of the drive: the rover stands before and after each way."""
        ways = [{"for_s": self.way / self.speed, "speed_mps": sign * self.speed} for sign in (1.0, -1.0)]
        still = {"for_s": STAND_S, "speed_mps": 0.0}
        return [still, *(step for _ in range(self.times) for way in ways for step in (way, still))]


@with_groups
def motion(source: _RunSource, drive: Straight) -> None:
    """Axes, origin and delay of the instrument outside the rover: the rover stands, and drives ahead and back."""
    from hil.app.instrument_calibration import calibrate_motion

    _align("motion", source, drive.steps(), calibrate_motion)


@with_groups
def imu(source: _RunSource, drive: Straight) -> None:
    """Turn of the inertial unit on the rover: standing gives roll and pitch, the accelerations of a drive its yaw."""
    from hil.app.instrument_calibration import calibrate_imu

    _align("imu", source, drive.steps(), calibrate_imu)


@with_groups
def joints(
    source: _RunSource,
    turned: Annotated[
        Path | None,
        typer.Option(
            "--turned", metavar="RUN", help="A run in which it stood with some joints turned.", show_default=False
        ),
    ] = None,
    angle: Annotated[
        list[str] | None,
        typer.Option(
            "--angle", metavar="JOINT=DEG", help="About what angle a joint had then; repeatable.", show_default=False
        ),
    ] = None,
) -> None:
    """Zeros of the joints' encoders: the rover stands on level ground. With --turned and --angle their senses, too."""
    from hil.app.instrument_calibration import calibrate_joints

    if (turned is None) != (not angle):
        complain("--turned and --angle belong together: the run with turned joints, and about what angles they had")
        raise typer.Exit(USAGE)
    other = None if turned is None else record_of(turned)[0]
    still = [{"for_s": 2.0 * STAND_S, "speed_mps": 0.0}]
    _align(
        "joints",
        source,
        still,
        lambda record, rig: calibrate_joints(record, rig, other, _angles(angle, rig.config.encoders)),
    )


def _angles(asked: list[str] | None, encoders: tuple[JointEncoder, ...]) -> dict[str, float]:
    """Angles by the joint's name [deg]."""
    names, angles = [encoder.joint for encoder in encoders], {}
    for one in asked or ():
        name, _, number = one.partition("=")
        try:
            angles[name] = float(number)
        except ValueError:
            number = ""
        if name not in names or not number or not angles[name]:
            complain(f"--angle {one}: allowed: JOINT=DEG, not 0, of an encoder: {', '.join(names) or 'none'}")
            raise typer.Exit(USAGE)
    return angles


def _align(
    role: str,
    source: _RunSource,
    steps: list[dict[str, float]],
    fit: Callable[[TrialRecord, Rig], Alignment],
) -> None:
    """Make the run if there is none yet, show what it says, and write it."""
    from hil.config.calibration_sheets import update_sheet
    from hil.config.rig import Rig

    run = Path(source.source)
    if not run.is_dir():
        run = _made(role, source, steps)
    record, config = record_of(run)
    with refusals(run):
        result = fit(record, Rig(config))

    content = {**result.sheet, "date": date_of(record)}
    said = store(source.sheet, lambda file: update_sheet(file, content, role), run)
    if source.as_json:
        print(json.dumps({"run": str(run), "found": result.found, "sheet": result.sheet, "notes": result.notes}))
        return
    _show(role, result)
    write_folded(
        said or f"nothing was written: --sheet FILE writes it, and {role}.calibration in the config names the file"
    )


def _show(role: str, result: Alignment) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("found", "value", "standard deviation", title=f"{role}, from this run")
    for name, (value, sd) in result.found.items():
        table.add_row(escape(name), f"{value:.5g}", f"{sd:.2g}" if sd else "-")
    show(table)
    for note in result.notes:
        write_folded(f"- {note}")
    write_folded("for the calibration file:")
    for key, value in result.sheet.items():
        print(f"  {key}: {json.dumps(value)}")


def _made(role: str, source: _RunSource, steps: list[dict[str, float]]) -> Path:
    """Folder of a run with these steps, made now."""
    from hil.experiments.registry import experiment_named
    from hil.recording.run_folder import run_folder

    with usage_errors():
        drive = ["experiment=drive", f"drive.steps={json.dumps(steps)}"]
        config = config_from(source.source, [*(source.overrides or ()), *drive], source.seed, source.clock)
    if role not in config.instruments:
        has = ", ".join(config.instruments) or "none"
        complain(f"{source.source}: no section {role}: the rig has no such instrument; it has: {has}")
        raise typer.Exit(USAGE)
    if not source.yes:
        _confirm(config.rig, config.name, steps)
    with usage_errors():
        folder = run_folder(source.out, config.name, experiment_named(config.experiment).label(config))

    from hil.app.run import run_experiment

    with usage_errors():
        outcome = run_experiment(config, folder, progress, source.endpoints, figure=False)
    if outcome.exit_code:
        complain(
            f"{outcome.folder}: the run did not end well: {'; '.join(outcome.summary.get('reasons') or ['fault'])}"
        )
        raise typer.Exit(outcome.exit_code)
    return outcome.folder


def _confirm(rig: str, name: str, steps: list[dict[str, float]]) -> None:
    """Ask for confirmation that the rig may move; nobody is asked where nothing real moves."""
    if rig != "real":
        return
    ways = [f"{step['for_s'] * step['speed_mps']:+.2f} m" for step in steps if step["speed_mps"]]
    complain(f"{name} (rig: {rig}): the rover {'drives ' + ', '.join(ways) if ways else 'stands'}")
    complain("this program is not an emergency stop: keep the hard-wired one for motor power and valve supply in reach")
    if not sys.stdin.isatty():
        complain("no terminal for the confirmation: run this at the rig, or use --yes")
        raise typer.Exit(USAGE)
    question = "Is it in reach, is the ground level, even and free ahead of the rover, and is everybody clear?"
    if not typer.confirm(question, err=True):
        complain("not confirmed: nothing has moved")
        raise typer.Exit(REFUSED)
