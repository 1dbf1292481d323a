"""`hil rover import` and `export`: a rover of one's own from a URDF or MJCF, and a config's rover as a URDF or MJCF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from hil.cli.console import show
from hil.cli.exits import USAGE, complain, usage_errors
from hil.cli.options import AsJson, ConfigOptions, progress, with_groups

rover = typer.Typer(
    help="A rover of your own: from a URDF or MJCF, and a config's rover as a URDF or MJCF.", no_args_is_help=True
)


@rover.command("import")
def import_rover(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A URDF, or an MJCF, which needs the extra mjcf.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Of config and files; else that of FILE.", show_default=False),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where NAME.yaml, .urdf and .png go.")] = Path(),
    wheels: Annotated[
        str | None,
        typer.Option("--wheels", metavar="A,B,...", help="Wheels: links or joints. Else: found.", show_default=False),
    ] = None,
    wheel_radius_m: Annotated[
        float | None,
        typer.Option("--wheel-radius", metavar="M", help="Of every wheel, where it is a mesh.", show_default=False),
    ] = None,
    wheel_width_m: Annotated[
        float | None,
        typer.Option("--wheel-width", metavar="M", help="Of every wheel, where it is a mesh.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a config of a rover's description, with its energy of an impact, wheel loads, and a sketch."""
    from hil.analysis.energy import energy_table, peak_in_words
    from hil.analysis.own_rover.files import RoverFiles, name_of
    from hil.analysis.own_rover.look import joints_in_words, look_at, wheels_table
    from hil.analysis.own_rover.read import RoverFileError, read_rover
    from hil.analysis.own_rover.sketch import draw_sketch
    from hil.app.warm_up import report_compiling
    from hil.config import ConfigError, load_config

    named = None if wheels is None else [one.strip() for one in wheels.split(",") if one.strip()]
    refused = None
    with usage_errors():
        try:
            files = RoverFiles(out, name or name_of(file, out))
            found = read_rover(file, named, wheel_radius_m, wheel_width_m)
            with files.making() as unfinished:
                notes = [*found.notes, *unfinished.write(found, file.name)]
                try:
                    config = load_config(unfinished.config)
                except ConfigError as error:  # of the rover on this rig: a light wheel on stiff soil, for example
                    refused = ConfigError(str(files.config), error.problems)
                else:
                    report_compiling(progress)
                    look = look_at(config)
                    draw_sketch(look.rover.tree, look.com, unfinished.sketch)
        except RoverFileError as error:
            complain(str(error))
            raise typer.Exit(USAGE) from None
        if refused is not None:
            complain(f"wrote {files.config} and {files.urdf}, which a trial does not take yet; change these keys there")
            complain(str(refused))
            raise typer.Exit(USAGE)
    if as_json:
        print(
            json.dumps(
                {
                    "config": str(files.config), "urdf": str(files.urdf), "sketch": str(files.sketch),
                    "mass_kg": look.rover.mass, "com_m": look.com, "wheels": look.rover.wheel_names,
                    "loads_N": look.loads_N, "tips_deg": look.tips_deg, "notes": notes, **look.energy,
                },
                allow_nan=False,
            )
        )  # fmt: skip
        return
    com = ", ".join(f"{place:.3f}" for place in look.com)
    print(f"{files.name}: {look.rover.mass:.6g} kg, {len(look.rover.wheel_names)} wheels, {look.rover.nv} speeds")
    print(f"centre of mass: {com} m (x forward, y to port, z over the ground)")
    print(f"joints: {joints_in_words(look.rover)}")
    for note in notes:
        print(f"note: {note}")
    show(wheels_table(look, found.wheel_links))
    if look.loads_N is None:
        complain(
            f"warning: it does not stand on the config's ground: {look.why}; lock joints that do not turn: rover.locks"
        )
    tips = ", ".join(f"{way} {angle:.1f}" for way, angle in look.tips_deg.items()) or "none, its wheels span no area"
    print(f"tips over, its joints held, at slopes of [deg]: {tips}")
    print(f"effective kinetic energy at {config.trial.speed_mps:g} m/s, no ground")
    show(energy_table(look.energy))
    print(peak_in_words(look.energy))
    print(f"wrote {files.config}, {files.urdf}, {files.sketch}: next, `hil trial {files.config}`")


@rover.command("export")
@with_groups
def export_rover(
    options: ConfigOptions,
    to: Annotated[Literal["urdf", "mjcf"], typer.Option("--to", help="Format of the file.")] = "urdf",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to make; NAME.urdf or NAME.mjcf.", show_default=False),
    ] = None,
) -> None:
    """Write the rover of a config as a URDF or MJCF: with a shape for every body, couplings, and in MJCF its loops."""
    from hil.analysis.own_rover.files import description_of
    from hil.config.whole_file import replacing

    with usage_errors():
        config = options.load()
    path = out or Path(f"{config.name}.{to}")
    try:
        text, missing = description_of(config, to)
        with replacing(path, new=True) as unfinished:
            unfinished.write_text(text + "\n", encoding="utf-8")
    except FileExistsError:
        complain(f"{path} already exists and is not changed; allowed: a file that is not there yet (--out)")
        raise typer.Exit(USAGE) from None
    except (OSError, ValueError) as error:
        complain(f"{path}: {getattr(error, 'strerror', None) or error}")
        raise typer.Exit(USAGE) from None
    print(f"{path}: rover {config.rover.type} of {config.name}")
    for one in missing:
        print(f"note: {one}")
