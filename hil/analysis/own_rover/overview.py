"""What is known of a rover at once, and its sketch: masses, wheels, energy of an impact, loads, when it tips over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from hil.analysis.energy import EnergyCurve, energy_curve
from hil.analysis.film.skeleton import Skeleton, body_outline, rim_outline
from hil.config.rig import Rig
from hil.experiments.drawing import MODELS, dress_panel, new_panels, save_study, share_legend
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import columns_table
from hil.messages.stages import UPRIGHT
from models.rover.rover import Rover
from models.rover.tree import Tree
from models.statics import NoSteadyStateError, StandingEquations, stand, tipping_slope

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
    save_study(figure, form, path, f"{path.stem}: bodies, wheels and joints", {"config": path.stem, "rig": MODELS})
