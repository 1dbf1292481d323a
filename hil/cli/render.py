"""`hil render`: a film or a picture of a run, the rover as it moved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hil.cli.campaign_report import is_campaign
from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import Unverified
from hil.cli.progress_bar import ProgressBar


def render(
    run: Annotated[
        Path, typer.Argument(metavar="RUN|CAMPAIGN", help="Folder of a run; of a campaign: each of its trials.")
    ],
    view: Annotated[
        Literal["side", "top", "3d"],
        typer.Option("--view", help="From starboard, from above, or in three dimensions, which needs Chromium."),
    ] = "side",
    to: Annotated[
        Literal["mp4", "gif", "png"],
        typer.Option("--to", help="Film, or png: a strip of six pictures. mp4 needs ffmpeg."),
    ] = "gif",
    speed: Annotated[
        float,
        typer.Option(
            "--speed",
            metavar="X",
            min=1e-4,
            max=1000.0,
            help="Of the film: 0.01 is a hundredth. Below 0.2 it shows the impact alone, unless times are given.",
        ),
    ] = 1.0,
    fps: Annotated[float, typer.Option("--fps", metavar="N", min=0.5, max=50.0, help="Pictures a second.")] = 20.0,
    from_s: Annotated[
        float | None, typer.Option("--from", metavar="S", help="First time of the run.", show_default=False)
    ] = None,
    to_s: Annotated[
        float | None, typer.Option("--to-time", metavar="S", help="Last time of the run.", show_default=False)
    ] = None,
    at_s: Annotated[
        float | None,
        typer.Option("--at", metavar="S", help="One picture, of that time; with --to png.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="File to make; RUN/VIEW.TO.", show_default=False)
    ] = None,
    camera: Annotated[
        bool, typer.Option("--camera", help="With the frames of the run's camera beside it, at the same time.")
    ] = False,
    unverified: Unverified = False,
) -> None:
    """Film a run: the rover with its legs and wheels, the plate, the loads, as the record has them."""
    from hil.analysis.dataset import UnverifiedRunError
    from hil.analysis.film.files import FilmError
    from hil.analysis.film.make import FilmRequest, trials_in
    from hil.analysis.film.make import render as render_run
    from hil.app.page.film import solid_pictures
    from hil.recording import RecordError

    if at_s is not None and to != "png":
        raise typer.BadParameter("--at makes one picture: allowed with --to png")
    if (many := is_campaign(run)) and out is not None:
        raise typer.BadParameter("--out is one file, a campaign has one in each trial's folder: leave --out away")
    wanted, failed = FilmRequest(view, to, speed, fps, from_s, to_s, at_s, unverified, camera), False
    for folder in trials_in(run) if many else [run]:
        with usage_errors():
            try:
                with ProgressBar("pictures") as bar:
                    path, count = render_run(folder, wanted, out, bar.done, solid_pictures)
            except (FilmError, RecordError, UnverifiedRunError, OSError) as error:
                complain(f"{folder.name}: {error}" if many else str(error))
                failed = True
                continue
        print(f"{path}: {count} picture{'s' * (count != 1)}")
    if failed:
        raise typer.Exit(USAGE)
