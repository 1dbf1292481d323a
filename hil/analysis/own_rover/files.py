"""What a lab gets of a rover: what is known of it at once, its sketch, its URDF or MJCF, and a config that names it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.table import Table

from hil.analysis.energy import EnergyCurve, energy_curve
from hil.analysis.film.skeleton import Skeleton, body_outline, rim_outline
from hil.analysis.own_rover.read import RoverFileError
from hil.config.files import replacing
from hil.config.rig import Rig
from hil.config.schema.equipment import DrivesConfig
from hil.config.schema.rover import tree_on_rig
from hil.config.schema.sensors import DaqConfig
from hil.config.text_io import write_yaml
from hil.experiments.drawing import (
    MODELS,
    dress_panel,
    new_panels,
    save_figure,
    set_frame,
    share_legend,
    source_line,
)
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import columns_table
from hil.messages.stages import UPRIGHT
from models.rover.from_links import ImportedRover
from models.rover.imported import imported
from models.rover.locks import hanging
from models.rover.mjcf import to_mjcf
from models.rover.parameters import BOGIE
from models.rover.rover import Rover
from models.rover.tree import Tree
from models.rover.urdf import to_urdf
from models.statics import NoSteadyStateError, StandingEquations, stand, tipping_slope

_SENSITIVE_MVPN = 112.4
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class RoverFiles:
    """The files of an imported rover, none of which is there yet.

    Raises RoverFileError: not a name of a config, or a file is there already.

    Attributes:
        config: NAME.yaml.
        urdf: NAME.urdf.
        sketch: NAME.png.
    """

    def __init__(self, folder: Path, name: str) -> None:
        if not _NAME.fullmatch(name):
            allowed = "a name of letters, digits, - and _ (--name)"
            raise RoverFileError(f"name {name!r}; allowed: {allowed}")
        self.name = name
        self.config, self.urdf, self.sketch = (folder / f"{name}.{ending}" for ending in ("yaml", "urdf", "png"))
        for path in (self.config, self.urdf, self.sketch):
            if path.exists():
                allowed = "files that are not there yet: rename it, or give --name or --out"
                raise RoverFileError(f"{path} already exists and is not changed; allowed: {allowed}")

    @contextmanager
    def making(self) -> Iterator[RoverFiles]:
        """The same files in a temporary folder, to make them there; they get their places when all of them are done.

        What ends it before, as Ctrl-C does, leaves none of them in their places.

        Raises RoverFileError: there can be no such folder, or a file is there by now.
        """
        try:
            self.config.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.config.with_suffix("")) as temporary:
                temporary.mkdir()
                made = RoverFiles(temporary, self.name)
                yield made
                for done, path in ((made.sketch, self.sketch), (made.urdf, self.urdf), (made.config, self.config)):
                    with replacing(path, new=True) as unfinished:
                        if done.exists():
                            done.rename(unfinished)
                temporary.rmdir()
        except OSError as error:
            raise RoverFileError(f"{self.config.parent}: {error.strerror}") from None

    def write(self, rover: ImportedRover, source: str) -> list[str]:
        """Write the URDF and the config. Raises RoverFileError: a file cannot be written.

        Returns what was assumed, a sentence each.
        """
        tree, locks, notes = _held(rover.tree)
        sizes = _by_size(tree)
        of_rover: dict[str, Any] = {
            "type": "imported",
            "imported": {"urdf": self.urdf.name, "wheels": [wheel.body for wheel in tree.wheels]},
        }
        values = {"name": self.name, "rig": "simulated", "rover": {**of_rover, "locks": locks}, **sizes}
        head = (
            f"# The rover of {source}, imported by `hil rover import`, on a simulated rig: an impact trial.\n"
            "# rover.locks: joints that should not turn, by name, in degrees. Others follow from the rover's size,\n"
            "# as those of the RCP from its own: change them to your rig. What is not here has its default.\n"
        )
        try:
            for path, text in ((self.urdf, to_urdf(tree, whole=True)), (self.config, head + write_yaml(values))):
                with path.open("x", encoding="utf-8") as file:
                    file.write(text + "\n" * (not text.endswith("\n")))
        except (OSError, ValueError) as error:
            raise RoverFileError(f"{self.urdf.parent}: {getattr(error, 'strerror', None) or error}") from None
        keys = [
            f"{section}.{key} {f'{value:g}' if isinstance(value, float) else f'of {_SENSITIVE_MVPN} mV/N'}"
            for section, each in sizes.items()
            for key, value in each.items()
        ]
        return [*notes, f"assumed by the size of wheels and rover: {', '.join(keys)}"]


def _held(tree: Tree) -> tuple[Tree, dict[str, float], list[str]]:
    """The rover as it is written, locks of joints that nothing holds, and what was done about these, in words.

    What a lock cannot hold, as a joint that others follow, is fixed in the URDF.
    """
    rover = imported(to_urdf(tree, whole=True), tuple(wheel.body for wheel in tree.wheels))
    free = hanging(tree_on_rig(rover()))
    kinds = {joint.kind for joint in tree.joints if joint.name not in free}
    locks = [name for name in free if name in rover.lockable() and name not in kinds]
    fixed = {name: 0.0 for name in free if name not in locks}
    notes = [f"joint {name} {free[name]}: locked (rover.locks); to drive it instead: servos.joints" for name in locks]
    notes += [f"joint {name} {free[name]}: fixed in the URDF, with those that follow it" for name in fixed]
    led = [one for one in tree.couplings if any(source in fixed for source, _ in one.sources)]
    at = {**fixed, **{one.joint: one.offset for one in led}}
    joints = tuple(replace(joint, locked_at=at.get(joint.name, joint.locked_at)) for joint in tree.joints)
    kept = tuple(one for one in tree.couplings if one not in led)
    return replace(tree, joints=joints, couplings=kept), dict.fromkeys(locks, 0.0), notes


def _by_size(tree: Tree) -> dict[str, dict[str, Any]]:
    """Keys of a config by the rover's size, as those of the RCP follow from its own: 0.175 m, 120 kg, six wheels.

    Wheels turn as fast, and run-up, contact and drives take as long, so stiffness and torques are as the mass. A heavy
    rover is slower: the force of the impact, as its speed and mass, is at most twice that of the RCP, for the sensors
    take no more. Where it is under a tenth, they are ten times as sensitive (PCB 208C01). All of this is assumed.
    """
    radius_m = min(wheel.radius for wheel in tree.wheels)
    heavier, larger = math.fsum(body.mass for body in tree.bodies) / 120.0, radius_m / 0.175
    torque = heavier * larger * 6.0 / len(tree.wheels)
    speed_mps = _two_digits(min(0.4 * radius_m, 0.14 / heavier), 0.005, 2.0)
    force = speed_mps / 0.07 * heavier
    factors = dict.fromkeys(("gain", "integral_gain", "coast_damping", "brake_damping"), torque * larger)
    factors |= dict.fromkeys(("torque_limit_Nm", "gear_friction_Nm"), torque)
    sizes: dict[str, dict[str, Any]] = {
        "trial": {"speed_mps": speed_mps, "start_distance_m": _two_digits(4.25 * speed_mps, 0.01, 5.0)},
        "limits": {"impact_speed_mps": _two_digits(speed_mps / 0.7, 0.005, 2.0)},
        "detector": {"threshold_N": _two_digits(10.0 * force, 0.1, 20.0)},
        "obstacle": {"leg_stiffness_Npm": _two_digits(5.5e4 * heavier, 1e3, 1e8)},
        "drives": {key: _two_digits(getattr(DrivesConfig(), key) * factor,
                                    0.1 if key in ("gain", "torque_limit_Nm") else 0.0, 1e4)
                   for key, factor in factors.items()},
    }  # fmt: skip
    if force < 0.1:
        sizes["limits"]["sensor_force_N"] = 44.5
        usual = DaqConfig().channels
        sizes["daq"] = {
            "channels": [{**one.model_dump(exclude_unset=True), "sensitivity_mVpN": _SENSITIVE_MVPN} for one in usual]
        }
    if any(joint.kind == BOGIE for joint in tree.joints):
        share = min(1.0, heavier * larger)  # no cylinder has more torque than those of the RCP
        lever_m, bore_mm = _two_digits(0.25 * larger, 0.01, 2.0), round(max(5.0, 38.1 * math.sqrt(share / larger)), 1)
        sizes["cylinders"] = {"lever_m": lever_m, "bore_mm": bore_mm}
        torque_Nm = 60.0 * (bore_mm / 38.1) ** 2 * lever_m / 0.25
        sizes["limits"]["bogie_torque_Nm"] = round(min(60.0, max(0.1, torque_Nm)), 2)
    return sizes


def _two_digits(value: float, least: float, most: float) -> float:
    return float(f"{min(most, max(least, value)):.2g}")


def name_of(path: Path, folder: Path) -> str:
    """A name for the rover of a file: that of the file in letters of a config, unless its URDF would be that file."""
    name = re.sub("[^A-Za-z0-9_-]+", "_", path.stem).strip("_-")[:54] or "rover"
    return f"{name}_imported" if (folder / f"{name}.urdf").resolve() == path.resolve() else name


def description_of(rig: Rig, to: Literal["urdf", "mjcf"]) -> tuple[str, list[str]]:
    """The rover of a config as a URDF or MJCF: with its payload, locked as on the rig, without grousers.

    Returns the text, and what of the rover other programs do not find in it, a line each.

    Raises ValueError: a joint follows two others, which neither format can say.
    """
    nominal = rig.nominal
    tree = replace(nominal, grouser_heights=(0.0,) * len(nominal.grouser_heights)).make_rover().tree
    missing = []
    if to == "urdf":
        for closure in tree.closures:
            missing.append(
                f"loop {closure.name}: a ball joint of {closure.body} and {closure.other}. A URDF cannot state it: it "
                f"is there as <loop>, which other programs leave out, so that {', '.join(closure.dependent)} are free "
                "to them; allowed for these: --to mjcf"
            )
    if any(wheel.crown is not None for wheel in tree.wheels):
        missing.append("its wheels are cylinders: crowned rims are of the config (wheel.crown_radius_m)")
    if any(one.grousers for one in rig.config.wheels.values()):
        radii = " and ".join(f"{radius:g}" for radius in sorted({wheel.radius for wheel in tree.wheels}))
        missing.append(f"its wheels are rims of {radii} m: grousers are of the config (wheel.grousers)")
    return (to_mjcf(tree) if to == "mjcf" else to_urdf(tree, whole=True)), missing


# To where gravity leans, as seen by the rover.
_LEANS = {"nose up": (-1, 0, 0), "nose down": (1, 0, 0), "to port": (0, 1, 0), "to starboard": (0, -1, 0)}
ANGLES_DEG = tuple(float(angle) for angle in range(10, 91, 10))


class _RoverOverview(NamedTuple):
    """A rover at a first look."""

    rover: Rover  # as the twin has it
    com: tuple[float, float, float]  # its centre of mass [m], in the base frame, joints at zero
    energy: EnergyCurve  # T_c over the obstacle's angle
    loads_N: tuple[float, ...] | None  # of the wheels on the config's ground at rest; None: it does not stand there
    why: str  # it does not stand
    tips_deg: dict[str, float]  # slope at which the rover, its joints held, tips over its wheels, by direction


def look_at(rig: Rig) -> _RoverOverview:
    """Energy, loads and tip-over of the rover of a config."""
    rover = rig.nominal.make_rover()
    loads, why = None, ""
    try:
        loads = rig.resting_loads_N
    except (NoSteadyStateError, ValueError) as error:
        why = str(error)
    standing = stand(rover, rover.neutral())
    x, y, z = (float(place) for place in standing.centre)
    return _RoverOverview(rover, (x, y, z), energy_curve(rig, ANGLES_DEG), loads, why, tips_deg(standing))


def tips_deg(standing: StandingEquations) -> dict[str, float]:
    """Slope [deg] at which a rover that stands level tips over its wheels, by direction; none: they span no area."""
    try:
        return {way: math.degrees(tipping_slope(standing, towards)) for way, towards in _LEANS.items()}
    except ValueError:
        return {}


def joints_in_words(rover: Rover) -> str:
    """What its joints do: turn, slide, follow others or a loop, are held."""
    tree = rover.tree
    bodies = {wheel.body for wheel in tree.wheels}
    follows = {one.joint: ", ".join(f"{ratio:g} x {name}" for name, ratio in one.sources) for one in tree.couplings}
    in_loops = [name for closure in tree.closures for name in closure.dependent]
    own = [
        joint
        for joint in tree.joints
        if joint.locked_at is None and joint.child not in bodies and joint.name not in {*follows, *in_loops}
    ]
    parts = []
    for word, names in (
        ("turn", [joint.name for joint in own if not joint.slides]),
        ("slide", [joint.name for joint in own if joint.slides]),
        ("follow", [f"{name} = {source}" for name, source in follows.items()]),
        ("follow from loops", in_loops),
        ("are fixed", [j.name for j in tree.joints if j.locked_at is not None]),
    ):
        if names:
            parts.append(f"{word}: {', '.join(names)}")
    return "; ".join(parts) or "none but those of the wheels"


def wheels_table(look: _RoverOverview, links: Sequence[str]) -> Table:
    """A row a wheel."""
    rows = []
    places = look.rover.wheel_positions(look.rover.neutral())
    for number, (wheel, link) in enumerate(zip(look.rover.tree.wheels, links, strict=True)):
        load = "-" if look.loads_N is None else f"{look.loads_N[number]:.1f}"
        x, y, _ = places[number]
        rows.append((wheel.name, link, f"{x:.3f}", f"{y:.3f}", f"{wheel.radius:g}", f"{wheel.width:g}", load))
    return columns_table(("wheel", "link", "x [m]", "y [m]", "radius [m]", "width [m]", "load [N]"), rows, words=2)


def draw_sketch(tree: Tree, com: tuple[float, float, float], path: Path) -> None:
    """Draw bodies as the boxes of their masses and moments, wheels, and the centre of mass.

    The centre of mass is in the base frame [m].
    """
    from matplotlib.patches import Polygon

    skeleton = Skeleton(tree, ())
    placed = skeleton.place(UPRIGHT, (), (0.0,) * len(skeleton.wheels))
    form = FigureForm()
    figure, panels = new_panels(form, 2, 3.6)
    for axes, title, flat, up in zip(panels, ("From starboard", "From above"), ((0, 2), (0, 1)), (2, 1), strict=True):
        side = up == 2
        for body in tree.bodies:
            if body.name not in skeleton.wheels:
                outline = body_outline(body, placed, flat)
                axes.add_patch(Polygon(outline, facecolor="#ddaa33", edgecolor="#333333", alpha=0.6))
        for wheel in tree.wheels:
            rim = rim_outline(wheel, wheel.radius, placed, side=side)
            axes.add_patch(Polygon(rim, facecolor="#004488", edgecolor="#001d3d", alpha=0.6))
        for joint in tree.joints:
            start, end = placed.origin[joint.parent], placed.origin[joint.child]
            axes.plot([start[0], end[0]], [start[up], end[up]], color="#333333", linewidth=1.5)
        axes.plot(com[0], com[up], marker="P", color="#cc3311", markersize=9, linestyle="none", label="centre of mass")
        if side:
            axes.axhline(0.0, color="#9a8f7d", linewidth=2.0)
        axes.set_aspect("equal")
        axes.autoscale_view()
        dress_panel(axes, form, title, "z [m]" if side else "y [m]", "x [m]")
    share_legend(figure, form, *panels)
    title, facts = f"{path.stem}: bodies, wheels and joints", {"config": path.stem, "rig": MODELS}
    set_frame(figure, form, title, source_line(facts, None))
    save_figure(figure, path, title, facts, form)
