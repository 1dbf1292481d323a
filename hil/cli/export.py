"""`hil export`: a run or a campaign in another program's format."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import Unverified
from hil.cli.progress_bar import ProgressBar


class _ExportFormat(StrEnum):
    """Formats of `hil export`."""

    tdms = "tdms"
    csv = "csv"
    parquet = "parquet"
    mat = "mat"
    mcap = "mcap"
    rrd = "rrd"


def export(
    source: Annotated[Path, typer.Argument(metavar="RUN|CAMPAIGN", help="Folder of a run or a campaign.")],
    to: Annotated[_ExportFormat, typer.Option("--to", help="Format.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File or folder to make.", show_default=False)
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Write a record in another format, with its names and units."""
    from hil.analysis.dataset import MissingPackageError, UnverifiedRunError
    from hil.analysis.export.run import export as export_source
    from hil.recording import RecordError

    with usage_errors():
        try:
            with ProgressBar("rows") as bar:
                made = export_source(source, to.value, out, unverified=unverified, progress=bar.done)
        except (MissingPackageError, UnverifiedRunError, RecordError, OSError) as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
    for reason in made.left_out:
        complain(f"left out: {reason}")
    print(f"{made.runs} run{'' if made.runs == 1 else 's'}: {made.path}")
