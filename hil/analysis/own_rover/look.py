"""What is known of a rover at once: masses, wheels, energy of an impact, wheel loads, and when it tips over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.table import Table

from hil.analysis.energy import EnergyCurve, energy_curve
from hil.config.checked import Config
from hil.config.rig import Rig
from models.rover.rover import Rover
from models.statics import NoSteadyStateError

ANGLES_DEG = tuple(float(angle) for angle in range(10, 91, 10))


class Look(NamedTuple):
    """A rover at a first look.

    Attributes:
        rover: as the twin has it.
        com: its centre of mass [m], in the base frame, joints at zero.
        energy: T_c over the obstacle's angle.
        loads_N: of the wheels on the config's ground at rest; None: it does not stand there.
        why: it does not stand.
        tips_deg: slope at which the rover, its joints held, tips over its wheels, by direction.
    """

    rover: Rover
    com: tuple[float, float, float]
    energy: EnergyCurve
    loads_N: tuple[float, ...] | None
    why: str
    tips_deg: dict[str, float]


def look_at(config: Config) -> Look:
    """Energy, loads and tip-over of the rover of a config."""
    rig = Rig(config)
    rover = rig.nominal.make_rover()
    loads, why = None, ""
    try:
        loads = rig.resting_loads_N
    except (NoSteadyStateError, ValueError) as error:
        why = str(error)
    com = centre_of_mass(rover)
    return Look(rover, com, energy_curve(rig, ANGLES_DEG), loads, why, tips_deg(rover, com))


def centre_of_mass(rover: Rover) -> tuple[float, float, float]:
    """Of the rover with all joints at zero, in the base frame [m]."""
    weight = rover.bias(rover.neutral(), np.zeros(rover.nv), (0.0, 0.0, -1.0))
    across = rover.bias(rover.neutral(), np.zeros(rover.nv), (1.0, 0.0, 0.0))
    mass = float(weight[2])
    # moments of a unit of gravity about the base frame's origin
    return float(-weight[4]) / mass, float(weight[3]) / mass, float(-across[4]) / mass


def tips_deg(rover: Rover, com: Sequence[float]) -> dict[str, float]:
    """Slope [deg] at which the weight passes over the outermost wheels, by direction; joints and axles are held."""
    wheels = rover.wheel_positions(rover.neutral())
    height = com[2] - float((wheels[:, 2] - [wheel.radius for wheel in rover.tree.wheels]).min())
    reaches = {
        "nose up": com[0] - wheels[:, 0].min(),
        "nose down": wheels[:, 0].max() - com[0],
        "to port": wheels[:, 1].max() - com[1],
        "to starboard": com[1] - wheels[:, 1].min(),
    }
    return {way: math.degrees(math.atan2(float(reach), height)) for way, reach in reaches.items()}


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


def wheels_table(look: Look, links: Sequence[str]) -> Table:
    """A row a wheel."""
    table = Table()
    for title in ("wheel", "link", "x [m]", "y [m]", "radius [m]", "width [m]", "load [N]"):
        table.add_column(title, justify="left" if title in ("wheel", "link") else "right")
    places = look.rover.wheel_positions(look.rover.neutral())
    for number, (wheel, link) in enumerate(zip(look.rover.tree.wheels, links, strict=True)):
        load = "-" if look.loads_N is None else f"{look.loads_N[number]:.1f}"
        x, y, _ = places[number]
        table.add_row(wheel.name, link, f"{x:.3f}", f"{y:.3f}", f"{wheel.radius:g}", f"{wheel.width:g}", load)
    return table
