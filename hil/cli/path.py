"""`hil path`: the way of least energy between two places of a scan."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

import typer

from hil.cli.exits import usage_errors
from hil.cli.options import AsJson, ConfigOptions, Out, progress, with_groups


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
    """The way of least energy between two places of a scan, beside the straight one: table and figure."""
    from hil.config import ConfigError
    from hil.config.whole_file import write_whole
    from hil.recording.run_folder import run_folder

    with usage_errors():
        begin, end = place_from(start, "--from"), place_from(to, "--to")
        effective = options.load()

    from hil.analysis.path_energy import draw_plan, plan
    from hil.app.warm_up import report_compiling
    from hil.config.rig import Rig
    from hil.experiments.figure_file import write_figure

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
        print(f"{name}: {way.length:.2f} m, {energy}")
    print(f"run folder: {folder}")
