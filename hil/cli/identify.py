"""`hil identify`: the soil's parameters from recorded drives and from tables of tests."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.run_options import AsJson, Cluster, Out, Unverified
from hil.cli.terminal import USAGE, complain, show, usage_errors

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hil.analysis.identification.fit import Identification
    from hil.analysis.identification.sources import Sources

Workers = Annotated[
    int,
    typer.Option("--workers", metavar="N", min=1, help="Processes that read runs and search; the result is the same."),
]


def identify(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Folders of runs of drawbar or slope.", show_default=False),
    ] = None,
    tests: Annotated[
        Path | None,
        typer.Option("--tests", metavar="FILE", help="CSV of tests of one wheel, or of sinkage.", show_default=False),
    ] = None,
    find: Annotated[
        list[str] | None,
        typer.Option("--find", metavar="NAME", help="Parameter to find; repeatable. Default: Petersen's four."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="NAME=VALUE",
            help="Value of a soil parameter in place of the config's: fixed, or where the search begins.",
        ),
    ] = None,
    loads_u95: Annotated[
        float, typer.Option("--loads-u95", metavar="SHARE", min=0.0, max=1.0, help="95 % half-width of a wheel's load.")
    ] = 0.02,
    torque_u95: Annotated[
        float, typer.Option("--torque-u95", metavar="SHARE", min=0.0, max=1.0, help="The same of the wheels' torque.")
    ] = 0.05,
    torque_per_A: Annotated[
        float | None,
        typer.Option(
            "--torque-per-ampere", metavar="NM", min=1e-3, max=1e4, help="Axle torque of a motor's ampere [N m]."
        ),
    ] = None,
    workers: Workers = 1,
    cluster: Cluster = None,
    out: Out = None,
    unverified: Unverified = False,
    as_json: AsJson = False,
) -> None:
    """Identify the soil from steady drives: parameters with intervals, and what the data cannot tell."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: the same sums in every process
    from hil.analysis.dataset import UnverifiedRunError
    from hil.analysis.identification.fit import identify as identify_soil
    from hil.analysis.identification.forward import USUAL, IdentificationError
    from hil.analysis.identification.printed_result import lines_of, parameter_table, residual_table, save, yaml_section
    from hil.analysis.identification.recorded import Uncertainty
    from hil.analysis.identification.sources import check_enough, read_sources
    from hil.campaign.cluster import with_workers
    from hil.campaign.trial import OtherVersionError
    from hil.recording import RecordError
    from hil.recording.run_folder import run_folder

    names, before = (
        tuple(find or USUAL),
        (runs or (), tests, given or (), Uncertainty(loads_u95, torque_u95), torque_per_A),
    )

    def whole_work(spread: Executor | None, sees_folders: bool) -> tuple[Sources, Identification]:
        read = read_sources(*before, unverified=unverified, spread=spread if sees_folders else None)
        check_enough(read.windows, names)
        return read, identify_soil(read.windows, read.soil, names, spread=spread)

    try:
        with usage_errors():
            read, found = with_workers(whole_work, workers, cluster, lambda line: print(line, file=sys.stderr))
            folder = run_folder(out, read.name, "identify")
    except (IdentificationError, OtherVersionError, RecordError, UnverifiedRunError) as error:
        complain(str(error))
        raise typer.Exit(USAGE) from None
    from hil.analysis.identification.figure import draw

    whole = save(found, folder)
    title = f"{read.name}: soil identified from {len(found.windows)} windows"
    draw(found, folder / "identification.png", title, {"config": read.name})
    if as_json:
        print(json.dumps(whole, allow_nan=False))
        return
    print(title)
    show(residual_table(found))
    show(parameter_table(found))
    for text in lines_of(whole):
        print(text)
    print(yaml_section(found), end="")
    print(f"folder: {folder}")
