"""`hil open`: what the rig's own detector and rules say of an impact that another program recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.console import show
from hil.cli.exits import FAULT, USAGE, complain, usage_errors
from hil.cli.options import AsJson, ConfigOptions, Out, with_groups


@with_groups
def open_foreign(
    options: ConfigOptions,
    data: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, MAT or TDMS of an impact hammer or force plate.")],
    columns: Annotated[Path, typer.Option("--map", metavar="MAP", help="YAML: time and a column for each sensor.")],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Try detector, droop correction, peak and rules of a config on an impact that another program recorded."""
    from hil.analysis.foreign_impact import impact_of, write_forces
    from hil.analysis.foreign_record import ForeignRecordError, read_map, read_samples
    from hil.config.rig import Rig
    from hil.config.whole_file import write_whole
    from hil.experiments.impact.sensing import sensor_channels
    from hil.experiments.impact.table import foreign_table
    from hil.recording.run_folder import empty_folder

    try:
        with usage_errors():
            config = options.load()
            if config.daq is None:
                raise ForeignRecordError(f"{config.name} has no force sensors; allowed: a config with section daq")
            sensors = sensor_channels(config)
            samples = read_samples(data, read_map(columns), config.layout.channels, sensors)
            summary, measured = impact_of(samples, Rig(config))
            folder = None if out is None else empty_folder(out)
    except ForeignRecordError as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    if folder is not None:
        write_whole(folder / "impact.json", json.dumps(summary, indent=1, allow_nan=False) + "\n")
        if measured is not None:
            write_forces(measured, config.layout.channels, folder / "forces.csv")
    if as_json:
        print(json.dumps(summary, allow_nan=False))
    else:
        show(foreign_table(summary))
    if summary["impact_time_s"] is None:
        raise typer.Exit(FAULT)
