"""`hil calibrate residuals`: thresholds of implausible values, from good runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.exits import USAGE, complain
from hil.cli.options import AsJson


def residuals(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of 5 or more good runs of a config.")],
    sheet: Annotated[
        Path | None,
        typer.Option(
            "--sheet",
            metavar="FILE",
            help="File to write the thresholds into; the former one is kept beside it.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Thresholds of implausible values (fault 34) from good runs: how far each residual was from its mean in them.

    The runs may differ in numbers of their config: the thresholds hold between these, and are wider.
    """
    from hil.app.residual_calibration import calibrate_residuals
    from hil.config.calibration import SheetError, replace_residuals
    from hil.signals.calibration import CalibrationError

    try:
        sheet_values = calibrate_residuals(runs)
        former = None if sheet is None else replace_residuals(sheet, sheet_values)
    except (CalibrationError, SheetError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if as_json:
        print(json.dumps(sheet_values))
        return
    if sheet is not None:
        print(f"{sheet} has them now" + (f"; the former one is {former}" if former else ""))
    for key, (low, high) in sheet_values["between"].items():
        print(f"{key}: {low:g} to {high:g} in these runs")
    for name, each in sheet_values["thresholds"].items():
        for element, (low, high) in each.items():
            print(f"{name} {element}: {low:g} to {high:g}")
