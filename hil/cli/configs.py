"""`hil configs`: list the shipped configs and plans, or copy a config.

`hil rover import` and `export`: a rover of one's own from a URDF or MJCF, and a config's rover as a URDF or MJCF.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import resources
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, NoReturn

import typer
from rich.table import Column, Table
from rich.text import Text

from hil.cli.run_options import AsJson, ConfigOptions, complete_shipped, progress, with_groups
from hil.cli.terminal import USAGE, complain, show, usage_errors, write_folded

# Headings of the list: by the value of `rig` of a config that needs more than this program, else by its experiment.
_RIGS = {"real": "Real rigs", "simulated_wire": "Real drivers, simulated devices"}
_USES = {
    "Impact trials": ("impact",),
    "Traction and soil": ("drawbar", "slope", "sinkage"),
    "Wheel loads": ("normal_force",),
    "Driving": ("drive", "follow", "stimulus"),
    "Walking, crossing": ("walk", "crossing"),
    "Arm in orbit": ("capture",),
}
# Folders of plans, and the command that takes one.
_PLANS = {"plans": "campaign", "activities": "activity"}


def configs(
    copy: Annotated[
        str | None,
        typer.Option(
            "--copy",
            metavar="NAME",
            help="Copy a config or a plan into the current folder.",
            autocompletion=complete_shipped,
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option("--keys", metavar="SECTION", help="Print the keys of a section as YAML."),
    ] = None,
) -> None:
    """List the shipped configs and plans by use, copy one to edit, or print the keys of a section."""
    if keys is not None:
        _print_keys(keys)
    elif copy is not None:
        _copy(copy)
    else:
        from hil.app.discovery import broken_extensions

        show(_table())
        write_folded(
            "Real rigs need hardware, or --set rig=simulated. `hil configs --copy NAME` copies a config or a plan."
        )
        for text in broken_extensions():
            complain(f"warning: {text}")


def _table() -> Table:
    from hil.campaign.plan import shipped_plans
    from hil.config import shipped_configs

    rows: dict[str, list[tuple[str, str]]] = {use: [] for use in (*_USES, *_RIGS.values())}
    for name, text in shipped_configs().items():
        rig, experiment = _rig_and_experiment(text, name)
        use = _RIGS.get(rig) or next(use for use, names in _USES.items() if experiment in names)
        rows[use].append((name, text))
    for folder, command in _PLANS.items():
        rows[f"--plan of hil {command}"] = [*shipped_plans(folder).items()]
    table = Table("use", Column("name", no_wrap=True), "what it is")
    for use, entries in rows.items():
        for place, (name, text) in enumerate(entries):
            said = _first_sentence(text)
            if name.startswith("sim_"):  # says so by its name: a table is 80 columns wide
                said = re.sub("^(A|The) simulated rig: (.)", lambda found: found[2].upper(), said)
            table.add_row("" if place else use, name, Text(said))
        table.add_section()
    return table


def _rig_and_experiment(text: str, name: str) -> tuple[str, str]:
    from hil.config.text_io import read_yaml

    raw = read_yaml(text, name)[0]
    return raw["rig"], raw.get("experiment") or "impact"


def _copy(wanted: str) -> None:
    """Copy a config, with the files that it names, or a plan."""
    from hil.campaign.plan import shipped_plans
    from hil.config import shipped_configs
    from hil.config.loading import nearest, shipped_files, shipped_name

    name, shipped = shipped_name(wanted).rpartition("/")[2], shipped_configs()
    plans = {
        plan: (text, command) for folder, command in _PLANS.items() for plan, text in shipped_plans(folder).items()
    }
    if name in shipped:
        files = {Path(path): text for path, text in shipped_files(name).items()}
        rig, experiment = _rig_and_experiment(shipped[name], name)  # a rig is checked before it moves
        command = "check" if rig == "real" else "trial" if experiment == "impact" else "run"
        first = f"hil {command} {name}.yaml"
    elif name in plans:
        text, command = plans[name]
        files, first = {Path(f"{name}.yaml"): text}, f"hil {command} CONFIG --plan {name}.yaml"
    else:
        complain(f"no shipped config or plan {wanted!r}; shipped{nearest(name, [*shipped, *plans])}")
        raise typer.Exit(USAGE)
    write_new(files)
    made, *others = files
    write_folded(f"copied to {made}: edit it, then for example `{first}`")
    for target in others:
        write_folded(f"it reads {target}, which is copied too")


def write_new(files: Mapping[Path, str]) -> None:
    """Write all files, or none: one that exists is not changed. Ends the command with a sentence if one cannot be."""
    from hil.config.files import replacing

    for target in files:
        if target.exists():
            complain(f"{target} already exists and is not changed: rename it, or copy in another folder")
            raise typer.Exit(USAGE)
    try:
        with ExitStack() as all_or_none:
            for target, text in files.items():
                target.parent.mkdir(parents=True, exist_ok=True)
                all_or_none.enter_context(replacing(target, new=True)).write_text(text, encoding="utf-8")
    except OSError as error:
        complain(f"{target} cannot be written: {error.strerror}")
        raise typer.Exit(USAGE) from None


def _print_keys(section: str) -> None:
    from hil.config.operator_settings import section_yaml

    with usage_errors(ValueError):
        print(section_yaml(section))


def _first_sentence(text: str) -> str:
    """That of the comment which a config or a plan begins with."""
    lines = [line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), text.splitlines())]
    return " ".join(lines).partition(". ")[0].removesuffix(".") + "."


rover = typer.Typer(
    help="A rover of your own: from a URDF or MJCF, and a config's rover as a URDF or MJCF.", no_args_is_help=True
)


@rover.command("import")
def import_rover(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A URDF, or an MJCF, which needs the extra mjcf.")],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Of config and files; else that of FILE."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where NAME.yaml, .urdf and .png go.")] = Path(),
    wheels: Annotated[
        str | None,
        typer.Option("--wheels", metavar="A,B,...", help="Wheels: links or joints. Else: found."),
    ] = None,
    wheel_radius_m: Annotated[
        float | None,
        typer.Option("--wheel-radius", metavar="M", help="Of every wheel, where it is a mesh."),
    ] = None,
    wheel_width_m: Annotated[
        float | None,
        typer.Option("--wheel-width", metavar="M", help="Of every wheel, where it is a mesh."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a config of a rover's description, with its energy of an impact, wheel loads, and a sketch."""
    from hil.analysis.energy import energy_table, peak_in_words
    from hil.analysis.own_rover.files import RoverFiles, draw_sketch, joints_in_words, look_at, name_of, wheels_table
    from hil.analysis.own_rover.read import RoverFileError, read_rover
    from hil.app.warm_up import report_compiling
    from hil.config import ConfigError, load_config
    from hil.config.rig import Rig

    named = None if wheels is None else [one.strip() for one in wheels.split(",") if one.strip()]
    refused = None
    with usage_errors():
        with usage_errors(RoverFileError):
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
                    look = look_at(Rig(config))
                    draw_sketch(look.rover.tree, look.com, unfinished.sketch)
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
    write_folded(
        f"{files.name}: {look.rover.mass:.6g} kg, {len(look.rover.wheel_names)} wheels, {look.rover.nv} speeds"
    )
    write_folded(f"centre of mass: {com} m (x forward, y to port, z over the ground)")
    write_folded(f"joints: {joints_in_words(look.rover)}")
    for note in notes:
        write_folded(f"note: {note}")
    show(wheels_table(look, found.wheel_links))
    if look.loads_N is None:
        complain(
            f"warning: it does not stand on the config's ground: {look.why}; lock joints that do not turn: rover.locks"
        )
    tips = ", ".join(f"{way} {angle:.1f}" for way, angle in look.tips_deg.items()) or "none, its wheels span no area"
    write_folded(f"tips over, its joints held, at slopes of [deg]: {tips}")
    write_folded(f"effective kinetic energy at {config.trial.speed_mps:g} m/s, no ground")
    show(energy_table(look.energy))
    write_folded(peak_in_words(look.energy))
    write_folded(f"wrote {files.config}, {files.urdf}, {files.sketch}: next, `hil trial {files.config}`")


@rover.command("export")
@with_groups
def export_rover(
    options: ConfigOptions,
    to: Annotated[Literal["urdf", "mjcf"], typer.Option("--to", help="Format of the file.")] = "urdf",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="File to make; NAME.urdf or NAME.mjcf."),
    ] = None,
) -> None:
    """Write the rover of a config as a URDF or MJCF: with a shape for every body, couplings, and in MJCF its loops."""
    from hil.analysis.own_rover.files import description_of
    from hil.config.files import replacing
    from hil.config.rig import Rig

    with usage_errors():
        config = options.load()
    path = out or Path(f"{config.name}.{to}")
    try:
        text, missing = description_of(Rig(config), to)
        with replacing(path, new=True) as unfinished:
            unfinished.write_text(text + "\n", encoding="utf-8")
    except FileExistsError:
        complain(f"{path} already exists and is not changed; allowed: a file that is not there yet (--out)")
        raise typer.Exit(USAGE) from None
    except (OSError, ValueError) as error:
        complain(f"{path}: {getattr(error, 'strerror', None) or error}")
        raise typer.Exit(USAGE) from None
    write_folded(f"{path}: rover {config.rover.type} of {config.name}")
    for one in missing:
        write_folded(f"note: {one}")


@rover.command("merge")
def merge_rover_parts(
    file: Annotated[
        Path, typer.Argument(metavar="PARTS.csv", help="A line for each part: body, mass, centre of mass, inertia.")
    ],
    axes: Annotated[
        str, typer.Option("--axes", metavar="X,Y,Z", help="Axes of the CAD programme that point forward, to port, up.")
    ] = "x,y,z",
    origin: Annotated[
        tuple[float, float, float],
        typer.Option("--origin", metavar="X Y Z", help="Origin of the new frame in that of the programme [m]."),
    ] = (0.0, 0.0, 0.0),
    integrals: Annotated[
        bool, typer.Option("--integrals", help="ixy is the integral of x y, not the tensor's entry, its negative.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Merge parts of a CAD programme to bodies: masses, centres of mass, and inertias as `<inertial>` of a URDF."""
    from hil.analysis.own_rover.parts import axes_in, merge_parts
    from hil.experiments.summary_table import columns_table
    from models.rover.urdf import inertial_text

    with usage_errors(ValueError):
        bodies = merge_parts(file, axes_in(axes), origin, integrals=integrals)
    if as_json:
        print(
            json.dumps(
                [
                    {"body": one.name, "mass_kg": one.mass, "com_m": one.com, "inertia_kgm2": one.inertia,
                     "products_kgm2": one.products}
                    for one in bodies
                ]
            )
        )  # fmt: skip
        return
    rows = [
        (
            one.name,
            f"{one.mass:.6g}",
            *(f"{value:.4f}" for value in one.com),
            *(f"{value:.4g}" for value in one.inertia),
        )
        for one in bodies
    ]
    show(columns_table(("body", "kg", "x [m]", "y [m]", "z [m]", "Ixx [kg m2]", "Iyy", "Izz"), rows, words=1))
    for one in bodies:
        print(f"<!-- {one.name} -->\n{inertial_text(one)}")


_PYPROJECT = """[build-system]
requires = ["setuptools>=80"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1"
requires-python = ">=3.11"
dependencies = ["rover-hil"]

[project.entry-points."rover_hil.{kind}s"]
{name} = "{name}.{place}"

[tool.setuptools]
packages = ["{name}"]
"""


class _Package(NamedTuple):
    """Modules of `hil.testing.template`, the name that is replaced in them, and the object of the entry point."""

    word: str
    place: str
    modules: tuple[str, ...]


_PACKAGES = {
    "driver": _Package("textline", "entry:TEXTLINE", ("entry", "drives", "simulated")),
    "experiment": _Package("spin", "experiment:Spin", ("experiment", "timed")),
}
# Shipped configs that a rig and a rover begin with, and the command that comes first.
_CONFIGS = {"rig": ("mars_dome", "check"), "rover": ("sim_imported", "trial")}


def init(
    kind: Annotated[
        Literal["driver", "experiment", "rover", "rig"],
        typer.Argument(metavar="KIND", help="What to write."),
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the driver or experiment, or of the config.")],
) -> None:
    """Write a tested package with a driver or an experiment, or the config of a rig, or of a rover with its URDF."""
    if kind in _CONFIGS:
        _write_config(kind, name, *_CONFIGS[kind])
    else:
        _write_package(kind, name, _PACKAGES[kind])


def _write_config(kind: str, name: str, shipped: str, command: str) -> None:
    from hil.config.loading import shipped_files

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{,63}", name):
        _refuse(f"{name!r} is no name of a config: allowed: letters, digits, - and _")
    texts = shipped_files(shipped)
    own = {path: str(Path(path).with_stem(name)) for path in texts}
    begun = f"The {kind} {name}: a copy of {shipped}, to be edited."
    pairs = {_first_sentence(texts[f"{shipped}.yaml"]): begun, **own, f"name: {shipped}": f"name: {name}"}
    files = {Path(own[path]): _renamed(text, pairs) for path, text in texts.items()}
    write_new(files)
    write_folded(f"wrote {', '.join(map(str, files))}: edit them, then for example `hil {command} {name}.yaml`")


def _write_package(kind: str, name: str, package: _Package) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]{,40}", name) or keyword.iskeyword(name):
        _refuse(f"{name!r} is no name of a package: allowed: small letters, digits and _, a letter first")
    if Path(name).exists():
        _refuse(f"{name} already exists and is not changed: choose another name or folder")
    if find_spec(name) is not None:
        _refuse(f"{name} is the name of another package here: choose another name")

    camel = "".join(part.capitalize() for part in name.split("_"))
    word = package.word
    pairs = {"hil.testing.template": name, word: name, word.capitalize(): camel, word.upper(): name.upper()}
    template, root = resources.files("hil.testing.template"), Path(name)
    files = {f"{name}/{module}.py": f"{module}.py" for module in package.modules}
    files[f"test_{name}.py"] = f"{kind}_test.py"
    texts = {
        root / path: _renamed((template / source).read_text(encoding="utf-8"), pairs) for path, source in files.items()
    }
    texts[root / name / "__init__.py"] = f'"""The {kind} {name}."""\n'
    texts[root / "pyproject.toml"] = _PYPROJECT.format(name=name, kind=kind, place=_renamed(package.place, pairs))
    write_new(texts)
    install = f"`python -m pip install --no-deps -e {name}` and `python -m pip install pytest`"
    write_folded(f"wrote the package {name}: {install}, then `python -m pytest {name}`")


def _renamed(text: str, pairs: Mapping[str, str]) -> str:
    for old, new in pairs.items():
        text = text.replace(old, new)
    return text


def _refuse(why: str) -> NoReturn:
    complain(why)
    raise typer.Exit(USAGE)
