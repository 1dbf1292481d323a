"""`hil energy`: effective kinetic energy of an impact over the angle of the obstacle.

`hil path`: the path of least energy between two places of a scan.

`hil activity`: energy, power and battery of a plan of activities.

`hil ruts`: ruts of a run, from the scan before it and one after it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from hil.campaign.progress import ProgressBar
from hil.cli.run_options import AsJson, ConfigOptions, FigureOptions, Out, Unverified, progress, with_groups
from hil.cli.terminal import show, usage_errors, write_folded

if TYPE_CHECKING:
    from hil.analysis.ruts import MeasuredRuts

_MOST_ANGLES = 10_000


def angles_from(text: str) -> list[float]:
    """Angles [deg] of `FIRST:LAST:STEP`; LAST is always included.

    Raises:
        typer.BadParameter: the text has another form.
    """
    from hil.config.text_io import range_values  # help must not import all of the config

    try:
        angles = [float(angle) for angle in range_values(text, _MOST_ANGLES)]
    except ValueError:
        angles = []
    if not angles or angles[0] < 0.0 or angles[-1] > 90.0:
        raise typer.BadParameter(
            f"found {text!r}; allowed: FIRST:LAST:STEP in degrees, 0 to 90, rising, at most {_MOST_ANGLES} angles, "
            "for example 10:90:5",
            param_hint="--angles",
        )
    return angles


@with_groups
def energy(
    options: ConfigOptions,
    figures: FigureOptions,
    angles: Annotated[
        str, typer.Option("--angles", metavar="FIRST:LAST:STEP", help="Obstacle angles [deg], last one included.")
    ] = "10:90:5",
    with_compliance: Annotated[
        bool, typer.Option("--compliance", help="Also the first hit with the front wheels on springs of their legs.")
    ] = False,
    with_sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Also how the energy changes with the rover's posture.")
    ] = False,
    with_standing: Annotated[
        bool, typer.Option("--standing", help="Also how the rover stands with its front wheels on the obstacle.")
    ] = False,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Effective kinetic energy over the obstacle angle: table, figure, and the effect of the masses."""
    from hil.config.command_requirements import FRONT_PAIR, refuse_unfit
    from hil.recording.run_folder import run_folder

    with usage_errors():
        angles_deg = angles_from(angles)
        if with_compliance and angles_deg[0] == 0.0:
            raise typer.BadParameter(
                "found 0 degrees with --compliance; allowed: angles above 0, for there a wheel rolls onto the plate "
                "without a hit",
                param_hint="--angles",
            )
        effective = options.load()
        refuse_unfit(effective, "energy", FRONT_PAIR)
        folder = run_folder(out, effective.name, f"{angles_deg[0]:g}-{angles_deg[-1]:g}")

    from hil.analysis import energy as curves
    from hil.analysis import energy_variants as variants
    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig
    from hil.experiments.drawing import MODELS, save_study, study_facts

    report_compiling(progress)
    if not as_json:
        progress(f"computing T_c at {len(angles_deg)} angles, and its peak with other masses")
    rig = Rig(effective)
    makers = {"compliance": variants.compliance, "sensitivity": variants.sensitivity}
    makers |= {"standing": variants.standing_curve}
    wanted = dict(zip(makers, (with_compliance, with_sensitivity, with_standing), strict=True))
    parts, total = dict[str, Any](), 2 + sum(wanted.values())
    with ProgressBar("parts") as bar:
        curve = curves.energy_curve(rig, angles_deg)
        bar.done(1, total)
        masses = curves.peak_over_masses(rig)
        bar.done(2, total)
        for name, make in makers.items():
            if wanted[name]:
                parts[name] = make(rig, angles_deg)
                bar.done(2 + len(parts), total)
    title = f"{effective.name}: effective kinetic energy at {effective.trial.speed_mps:g} m/s, no ground"
    curves.save_energy(folder, curve, masses, parts)
    form, facts = figures.form(), study_facts(effective, MODELS)
    save_study(curves.draw_energy(curve, form), form, form.path(folder, "energy"), title, facts)
    for name, figure in variants.draw_parts(parts, curve, effective.trial.angle_deg, form).items():
        save_study(figure, form, form.path(folder, f"energy_{name}"), title, facts)
    if as_json:
        print(json.dumps({**curve, **parts}, allow_nan=False))
    else:
        write_folded(title)
        show(curves.energy_table(curve))
        write_folded(curves.peak_in_words(curve))
        write_folded("the peak with other masses, one changed at a time")
        show(curves.masses_table(masses))
        if with_compliance:
            write_folded("the first hit, the front wheels on springs of their legs")
            show(variants.compliance_table(parts["compliance"], angles_deg))
        if with_sensitivity:
            show(variants.sensitivity_table(parts["sensitivity"], angles_deg))
        if with_standing:
            write_folded("the front wheels on the obstacle, the others on level ground")
            show(variants.standing_table(parts["standing"], curve))
        write_folded(f"run folder: {folder}")


def place_from(text: str, option: str) -> tuple[float, float]:
    """A place [m] of `X,Y`. Raises typer.BadParameter: the text has another form."""
    try:
        x, y = (float(part) for part in text.split(","))
        if math.isfinite(x) and math.isfinite(y):
            return x, y
    except ValueError:
        pass
    raise typer.BadParameter(f"found {text!r}; allowed: X,Y in m, for example 2.5,-0.4", param_hint=option)


@dataclass(frozen=True)
class _PathFigure(FigureOptions):
    """The same of a command whose `--to` is a place."""

    to: Annotated[Literal["png", "pdf", "svg"], typer.Option("--format", help="Format of the figure.")] = "png"


@with_groups
def path(
    options: ConfigOptions,
    figures: _PathFigure,
    goal: Annotated[
        str, typer.Option("--to", metavar="X,Y", help="Goal [m]: x ahead of the rover's start, y to port of it.")
    ],
    start: Annotated[str, typer.Option("--from", metavar="X,Y", help="Where the path begins [m].")] = "0,0",
    most_roll: Annotated[
        float, typer.Option("--most-roll", min=1.0, max=45.0, help="Largest tilt to a side [deg].")
    ] = 20.0,
    heading: Annotated[
        float, typer.Option("--heading", min=-360.0, max=360.0, help="Heading at the begin [deg], 0: ahead.")
    ] = 0.0,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """The path of least energy between two places of a scan, next to the straight one: table and figure."""
    from hil.config import ConfigError
    from hil.config.files import write_whole
    from hil.recording.run_folder import run_folder

    with usage_errors():
        begin, end = place_from(start, "--from"), place_from(goal, "--to")
        effective = options.load()

    from hil.analysis.energy import draw_plan, plan
    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig
    from hil.experiments.drawing import MODELS, save_study, study_facts

    report_compiling(progress)
    rig = Rig(effective)
    with usage_errors():
        try:
            planned = plan(rig, begin, end, most_roll, heading)
        except ConfigError:  # of the ground, not of a place
            raise
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--to") from None
        folder = run_folder(out, effective.name, f"path_{end[0]:g}_{end[1]:g}")
    ways: dict[str, Any] = {
        name: {
            "places_m": way.places.tolist(),
            "length_m": way.length,
            "energy_J": way.cost if math.isfinite(way.cost) else None,
        }
        for name, way in planned._asdict().items()
    }
    form, title = figures.form(), f"{effective.name}: path of least energy to {end[0]:g}, {end[1]:g} m"
    save_study(draw_plan(rig, planned, form), form, form.path(folder, "path"), title, study_facts(effective, MODELS))
    write_whole(folder / "path.json", json.dumps(ways, allow_nan=False, indent=1))
    if as_json:
        print(json.dumps(ways, allow_nan=False))
        return
    for name, way in planned._asdict().items():
        energy = f"{way.cost:.0f} J" if math.isfinite(way.cost) else "cannot be driven"
        write_folded(f"{name}: {way.length:.2f} m, {energy}")
    write_folded(f"run folder: {folder}")


@with_groups
def activity(
    options: ConfigOptions,
    figures: FigureOptions,
    plan: Annotated[
        str, typer.Option("--plan", metavar="PLAN", help="A YAML file, or a shipped one of rig_configs/activities/.")
    ],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Energy by activity, power over time and state of charge of a plan of drives and stays, on the config's ground."""
    from hil.campaign.activity import load_activity_plan
    from hil.config.files import replacing, write_whole
    from hil.config.text_io import write_rows
    from hil.recording.run_folder import run_folder

    with usage_errors():
        config, activities = options.load(), load_activity_plan(plan)

    from hil.app.warm_up import report_compiling
    from hil.campaign.activity import draw, simulate
    from hil.config.rig import Rig
    from hil.experiments.drawing import MODELS, save_study, study_facts

    report_compiling(progress)
    with usage_errors():
        result = simulate(Rig(config), activities)
        folder = run_folder(out, config.name, f"activity_{activities.name}")
    summary: dict[str, Any] = {
        "plan": activities.name,
        "config": config.name,
        "feasible": not result.problems,
        "problems": list(result.problems),
        "drawn_Wh": sum(phase.drawn_J for phase in result.phases) / 3600.0,
        "state_of_charge": result.phases[-1].charge,
        "least_state_of_charge": min(phase.least_charge for phase in result.phases),
        "phases": [phase._asdict() for phase in result.phases],
    }
    write_whole(folder / "activity.json", json.dumps(summary, allow_nan=False, indent=1))
    with replacing(folder / "activity.csv") as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        write_rows(file, [["t_s", "drawn_W", "supplied_W", "state_of_charge"], *result.rows.tolist()])
    form, title = figures.form(), f"{config.name}: plan of activities {activities.name}"
    title += ", feasible" if not result.problems else f", NOT feasible: {'; '.join(result.problems)}"
    figure = draw(activities, result, form)
    save_study(figure, form, form.path(folder, "activity"), title, study_facts(config, MODELS))
    if as_json:
        print(json.dumps(summary, allow_nan=False))
        return
    for phase in result.phases:
        write_folded(
            f"{phase.name}: {phase.from_s / 3600:.2f} to {phase.to_s / 3600:.2f} h, {phase.way_m:.2f} m, motors "
            f"{phase.motors_J / 3600:.2f} Wh, loads {phase.loads_J / 3600:.1f} Wh, "
            f"supplied {phase.supply_J / 3600:.1f} Wh, peak {phase.peak_W:.0f} W, charge {100 * phase.charge:.1f} %"
        )
    write_folded("feasible" if not result.problems else "not feasible: " + "; ".join(result.problems))
    write_folded(f"run folder: {folder}")


@with_groups
def ruts(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run on a scan.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Scan after it, in units and axes of the first.")],
    figures: FigureOptions,
    spacing: Annotated[
        float, typer.Option("--spacing", min=0.01, max=1.0, help="Of the nodes of its height map [m].")
    ] = 0.05,
    out: Out = None,
    unverified: Unverified = False,
    as_json: AsJson = False,
) -> None:
    """Depth and volume of the ruts of a run, from the scan before it and one after it: table, figure, JSON."""
    from hil.analysis.dataset import UnverifiedRunError
    from hil.analysis.ruts import draw_ruts, measure_ruts
    from hil.config.files import write_whole
    from hil.recording import RecordError
    from hil.recording.run_folder import run_folder

    with usage_errors(RecordError, UnverifiedRunError):
        found = measure_ruts(run, after, spacing, unverified=unverified)
        folder = run_folder(out, found.name, "ruts")
    draw_ruts(found, figures.form(), folder)
    write_whole(folder / "ruts.json", json.dumps(found.as_json(), allow_nan=False, indent=1))
    if as_json:
        print(json.dumps(found.as_json(), allow_nan=False))
        return
    show_ruts(found)
    placed = found.registration
    shift = ", ".join(
        f"{1e3 * move:.1f} ± {1e3 * u95:.1f}" for move, u95 in zip(placed.shift_m, placed.u95, strict=False)
    )
    write_folded(f"later scan moved by {shift} mm, noise of a node {1e3 * placed.noise_m:.1f} mm")
    write_folded(f"folder: {folder}")


def show_ruts(found: MeasuredRuts) -> None:
    """Print the table of a run's ruts."""
    from hil.analysis.ruts import RUT_COLUMNS

    table = Table(*RUT_COLUMNS)
    for rut in found.wheels:
        table.add_row(*rut.cells)
    show(table)
