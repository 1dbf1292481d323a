"""`hil energy`: effective kinetic energy of an impact over the angle of the obstacle.

`hil path`: the path of least energy between two places of a scan.

`hil activity`: energy, power and battery of a plan of activities.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer

from hil.cli.run_options import AsJson, ConfigOptions, Out, progress, with_groups
from hil.cli.terminal import show, usage_errors, write_folded

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

    from hil.analysis.energy import (
        energy_curve,
        energy_table,
        masses_table,
        peak_in_words,
        peak_over_masses,
        save_energy,
    )
    from hil.analysis.energy_variants import (
        compliance,
        compliance_table,
        save_parts,
        sensitivity,
        sensitivity_table,
        standing_curve,
        standing_table,
    )
    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig

    report_compiling(progress)
    if not as_json:
        progress(f"computing T_c at {len(angles_deg)} angles, and its peak with other masses")
    rig = Rig(effective)
    curve, masses = energy_curve(rig, angles_deg), peak_over_masses(rig)
    parts: dict[str, Any] = {}
    if with_compliance:
        parts["compliance"] = compliance(rig, angles_deg)
    if with_sensitivity:
        parts["sensitivity"] = sensitivity(rig, angles_deg)
    if with_standing:
        parts["standing"] = standing_curve(rig, angles_deg)
    title = f"{effective.name}: effective kinetic energy at {effective.trial.speed_mps:g} m/s, no ground"
    save_energy(folder, curve, masses, title, parts)
    save_parts(folder, parts, curve, effective.trial.angle_deg)
    if as_json:
        print(json.dumps({**curve, **parts}, allow_nan=False))
    else:
        write_folded(title)
        show(energy_table(curve))
        write_folded(peak_in_words(curve))
        write_folded("the peak with other masses, one changed at a time")
        show(masses_table(masses))
        if with_compliance:
            write_folded("the first hit, the front wheels on springs of their legs")
            show(compliance_table(parts["compliance"], angles_deg))
        if with_sensitivity:
            show(sensitivity_table(parts["sensitivity"], angles_deg))
        if with_standing:
            write_folded("the front wheels on the obstacle, the others on level ground")
            show(standing_table(parts["standing"], curve))
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


@with_groups
def path(
    options: ConfigOptions,
    to: Annotated[
        str, typer.Option("--to", metavar="X,Y", help="Goal [m]: x ahead of the rover's start, y to port of it.")
    ],
    start: Annotated[str, typer.Option("--from", metavar="X,Y", help="Where the way begins [m].")] = "0,0",
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
        begin, end = place_from(start, "--from"), place_from(to, "--to")
        effective = options.load()

    from hil.analysis.energy import draw_plan, plan
    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig
    from hil.experiments.drawing import write_figure

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
    write_figure(draw_plan(rig, planned), folder / "path.png", "way of least energy", {"config": effective.name}, 100)
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
    from hil.experiments.drawing import write_figure

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
    write_figure(draw(activities, result), folder / "activity.png", "activities", {"config": config.name}, 100)
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
