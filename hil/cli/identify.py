"""`hil identify`: the soil's parameters from recorded drives and from tables of tests.

`hil validate soil`: the wheel models next to measurements of single wheels on soil.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from hil.campaign.progress import ProgressBar
from hil.cli.run_options import AsJson, Cluster, FigureOptions, Out, Unverified, with_groups
from hil.cli.terminal import show, usage_errors, write_folded

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from hil.analysis.identification.fit import Identification
    from hil.analysis.identification.recorded import Sources
    from hil.analysis.soil_tests import Predicted, SoilTests

Workers = Annotated[
    int,
    typer.Option("--workers", metavar="N", min=1, help="Processes that read runs and search; the result is the same."),
]


@with_groups
def identify(
    figures: FigureOptions,
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN...", help="Folders of runs of drawbar or slope."),
    ] = None,
    tests: Annotated[
        Path | None,
        typer.Option("--tests", metavar="FILE", help="CSV of tests of one wheel, or of sinkage."),
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
    from hil.campaign.trial import OtherVersionError
    from hil.campaign.workers import with_workers
    from hil.recording import RecordError
    from hil.recording.run_folder import run_folder

    names, before = (
        tuple(find or USUAL),
        (runs or (), tests, given or (), Uncertainty(loads_u95, torque_u95), torque_per_A),
    )

    def whole_work(spread: Executor | None, sees_folders: bool) -> tuple[Sources, Identification]:
        read = read_sources(*before, unverified=unverified, spread=spread if sees_folders else None)
        check_enough(read.windows, names)
        return read, identify_soil(read.windows, read.soil, names, spread=spread, done=bar.done)

    with usage_errors(IdentificationError, OtherVersionError, RecordError, UnverifiedRunError):
        with ProgressBar("searches") as bar:
            read, found = with_workers(whole_work, workers, cluster, bar.text)
        folder = run_folder(out, read.name, "identify")
    from hil.analysis.identification.figure import draw
    from hil.experiments.drawing import save_study

    whole = save(found, folder)
    title = f"{read.name}: soil identified from {len(found.windows)} windows"
    form = figures.form()
    save_study(draw(found, form), form, form.path(folder, "identification"), title, read.facts)
    if as_json:
        print(json.dumps(whole, allow_nan=False))
        return
    write_folded(title)
    show(residual_table(found))
    show(parameter_table(found))
    for text in lines_of(whole):
        write_folded(text)
    print(yaml_section(found), end="")
    write_folded(f"folder: {folder}")


validate = typer.Typer(help="Hold the models against what others have measured.", no_args_is_help=True)
_HEADINGS = {
    "pull_N": "pull [% of the load]", "torque_Nm": "torque [% of load times radius]", "sinkage_m": "sinkage [%]",
}  # fmt: skip


@validate.callback()
def _validations() -> None:
    """Hold the models against what others have measured."""


@validate.command()
@with_groups
def soil(
    figures: FigureOptions,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME", help="Tests of the corpus; repeatable. Default: all."),
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Wheels and plates on soil: predictions and fits next to what was measured, errors by region of slip."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: small matrices
    from hil.analysis.soil_tests import NoSuchTestsError, as_json_of, draw, read_corpus, validate_plates
    from hil.analysis.soil_tests import validate as validate_soil
    from hil.config.files import write_whole
    from hil.experiments.drawing import TESTS, save_study
    from hil.recording.run_folder import run_folder

    with usage_errors(NoSuchTestsError), ProgressBar("wheels") as bar:
        found = validate_soil(source or (), bar.done)
    with usage_errors():
        folder = run_folder(out, "soil", "validate")
    plates = {} if source else {"plates": validate_plates()}
    text = json.dumps(as_json_of(found) | plates, indent=1, allow_nan=False)
    write_whole(folder / "soil_validation.json", text + "\n")
    form = figures.form()
    facts = {"tests": ", ".join(found), "rig": TESTS}
    title = "Wheels on soil: measured and computed"
    save_study(draw(found, form), form, form.path(folder, "soil_validation"), title, facts)
    if as_json:
        print(text)
        return
    corpus = read_corpus()
    for name, each in found.items():
        _show_errors(corpus[name], each)
    for laws in plates.values():
        write_folded("Pavlov and Johnson, circular plates: mean error of the pressure, by diameter")
        table = Table("law of the pressure", *(f"{1e3 * size:.0f} mm [%]" for size in next(iter(laws.values()))))
        for law, errors in laws.items():
            table.add_row(law, *map(_percent, errors.values()))
        show(table)
    write_folded(f"folder: {folder}")


def _show_errors(tests: SoilTests, each: list[Predicted]) -> None:
    from hil.analysis.soil_tests import QUANTITIES

    write_folded(f"{tests.title} ({tests.name}): mean errors at slips of 0.05 to 0.4, and at all others")
    table = Table("model", "fitted on")
    for name in QUANTITIES:
        table.add_column(_HEADINGS[name], justify="right")
    for one in each:
        here, others = one.errors(), one.errors(others=True)
        cells = [f"{_percent(here.get(name))}, {_percent(others.get(name))}" for name in QUANTITIES]
        table.add_row(one.variant, one.fitted_on or "nothing", *cells)
    show(table)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100.0 * share:.0f}"
