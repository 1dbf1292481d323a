"""The run that a calibration reads, and the file that it writes."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.exits import USAGE, complain, usage_errors

if TYPE_CHECKING:
    from hil.config import Config
    from hil.recording import TrialRecord


Sheet = Annotated[
    Path | None,
    typer.Option(
        "--sheet",
        metavar="FILE",
        help="Calibration file to write the numbers into; the former one is kept beside it.",
        show_default=False,
    ),
]


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
    from hil.safety.calibration_dates import today

    return today().isoformat()
