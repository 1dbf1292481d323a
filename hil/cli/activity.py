"""`hil activity`: energy, power and battery of a plan of activities."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hil.cli.exits import usage_errors
from hil.cli.options import AsJson, ConfigOptions, Out, progress, with_groups


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
    from hil.campaign.activity.plan import load_activity_plan
    from hil.config.csv_rows import write_rows
    from hil.config.whole_file import replacing, write_whole
    from hil.recording.run_folder import run_folder

    with usage_errors():
        config, activities = options.load(), load_activity_plan(plan)

    from hil.app.warm_up import report_compiling
    from hil.campaign.activity.figure import draw
    from hil.campaign.activity.simulate import simulate
    from hil.config.rig import Rig
    from hil.experiments.figure_file import write_figure

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
        print(
            f"{phase.name}: {phase.from_s / 3600:.2f} to {phase.to_s / 3600:.2f} h, {phase.way_m:.2f} m, motors "
            f"{phase.motors_J / 3600:.2f} Wh, loads {phase.loads_J / 3600:.1f} Wh, "
            f"supplied {phase.supply_J / 3600:.1f} Wh, peak {phase.peak_W:.0f} W, charge {100 * phase.charge:.1f} %"
        )
    print("feasible" if not result.problems else "not feasible: " + "; ".join(result.problems))
    print(f"run folder: {folder}")
