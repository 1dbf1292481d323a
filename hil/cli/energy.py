"""`hil energy`: effective kinetic energy of an impact over the angle of the obstacle."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from hil.cli.console import show
from hil.cli.exits import usage_errors
from hil.cli.options import AsJson, ConfigOptions, Out, progress, with_groups

_MOST_ANGLES = 10_000


def angles_from(text: str) -> list[float]:
    """Angles [deg] of `FIRST:LAST:STEP`; LAST is always included.

    Raises:
        typer.BadParameter: the text has another form.
    """
    from hil.config.value_ranges import range_values  # help must not import all of the config

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
    from hil.config.needs import FRONT_PAIR, refuse_unfit
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
    from hil.analysis.energy_compliance import compliance, compliance_table
    from hil.analysis.energy_figures import save_parts
    from hil.analysis.energy_sensitivity import sensitivity, sensitivity_table
    from hil.analysis.energy_standing import standing_curve, standing_table
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
        print(title)
        show(energy_table(curve))
        print(peak_in_words(curve))
        print("the peak with other masses, one changed at a time")
        show(masses_table(masses))
        if with_compliance:
            print("the first hit, the front wheels on springs of their legs")
            show(compliance_table(parts["compliance"], angles_deg))
        if with_sensitivity:
            show(sensitivity_table(parts["sensitivity"], angles_deg))
        if with_standing:
            print("the front wheels on the obstacle, the others on level ground")
            show(standing_table(parts["standing"], curve))
        print(f"run folder: {folder}")
