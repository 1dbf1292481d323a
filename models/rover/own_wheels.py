"""A rover whose wheels differ: some have another radius, width, mass or rim than its parameters say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from models.rover.fittings import fitted
from models.rover.parameters import Parameters
from models.rover.ties import place_at_zero
from models.rover.tree import Body, Tree, WheelMount


class OwnWheel(NamedTuple):
    """What is different at one wheel; None: as the rover's parameters say.

    Attributes:
        radius: of its rim [m].
        width: [m].
        mass: [kg].
        crown: radius of the rim's arc across [m].
    """

    radius: float | None = None
    width: float | None = None
    mass: float | None = None
    crown: float | None = None


class _Change(NamedTuple):
    """The same with the mass as a multiple of that of the parameters, so that it varies with it."""

    radius: float | None
    width: float | None
    heavier: float
    crown: float | None


def with_own_wheels(rover: Parameters, own: Mapping[str, OwnWheel]) -> Parameters:
    """A rover of the same numbers, some of whose wheels differ. The axles stay where they are.

    A wheel of another size is the old one stretched: its moments follow from where its mass then is. So a solid
    cylinder stays one.

    Args:
        rover: whose wheels are alike, or not.
        own: of wheels, by name; the rover itself is returned where they say nothing.

    Raises:
        ValueError: no wheel of that name, a number that is not above 0, or two wheels that would meet.

    Example:
        >>> from models.rover import RcpParameters
        >>> larger = with_own_wheels(RcpParameters(), {"rear_left": OwnWheel(radius=0.2)}).tree()
        >>> {wheel.name: wheel.radius for wheel in larger.wheels if "rear" in wheel.name}
        {'rear_left': 0.2, 'rear_right': 0.175}
    """
    tree = rover.tree()
    masses = {wheel.name: tree.body[wheel.body].mass for wheel in tree.wheels}
    if unknown := sorted(own.keys() - masses.keys()):
        raise ValueError(f"rover {tree.name}: wheels {', '.join(unknown)}, allowed: {', '.join(masses)}")
    for name, one in own.items():
        for key, value in one._asdict().items():
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"wheel {name}: {key} is {value}, allowed: above 0")
    changes = tuple(
        (name, _Change(one.radius, one.width, 1.0 if one.mass is None else one.mass / masses[name], one.crown))
        for name, one in sorted(own.items())
        if one != OwnWheel()
    )
    if not changes:
        return rover
    numbers = {name: getattr(rover, name) for name in rover.quantities()}
    changed = fitted(type(rover), (_OwnWheels(changes),))(**numbers)  # type: ignore[arg-type]  # a class can be hashed
    _check_apart(changed.tree(), {name for name, one in own.items() if one.radius or one.width})
    return changed


class _OwnWheels(NamedTuple):
    """The changes, as what is fitted to a rover."""

    changes: tuple[tuple[str, _Change], ...]

    def on(self, tree: Tree) -> Tree:
        """The same rover with them."""
        named = dict(self.changes)
        mounts, bodies = [], {body.name: body for body in tree.bodies}
        for mount in tree.wheels:
            change = named.get(mount.name)
            if change is None:
                mounts.append(mount)
                continue
            mounts.append(
                replace(
                    mount,
                    radius=change.radius or mount.radius,
                    width=change.width or mount.width,
                    crown=change.crown or mount.crown,
                )
            )
            bodies[mount.body] = _stretched(bodies[mount.body], mount, mounts[-1], change.heavier)
        return replace(tree, wheels=tuple(mounts), bodies=tuple(bodies.values()))


def _stretched(body: Body, before: WheelMount, after: WheelMount, heavier: float) -> Body:
    """The body of a wheel stretched from one size to another, its mass times a factor."""
    factor = np.array([after.radius / before.radius, after.width / before.width, after.radius / before.radius])
    if heavier == 1.0 and (factor == 1.0).all():
        return body
    inertia = body.inertia_matrix
    spread = 0.5 * np.trace(inertia) * np.eye(3) - inertia  # second moments of the mass about its centre
    spread = heavier * factor[:, None] * spread * factor
    moments = np.trace(spread) * np.eye(3) - spread
    x, y, z = (factor * body.com).tolist()
    return replace(
        body,
        mass=heavier * body.mass,
        com=(x, y, z),
        inertia=(float(moments[0, 0]), float(moments[1, 1]), float(moments[2, 2])),
        products=(float(moments[0, 1]), float(moments[0, 2]), float(moments[1, 2])),
    )


def _check_apart(tree: Tree, own: set[str]) -> None:
    """Raise ValueError if a changed wheel and another meet, with all joints at zero."""
    carrier = {joint.child: joint for joint in tree.joints}
    places = {mount.name: place_at_zero(carrier, mount.body, (0.0, 0.0, 0.0)) for mount in tree.wheels}
    for one, other in itertools.combinations(tree.wheels, 2):
        apart = np.abs(places[one.name] - places[other.name])
        clear = apart[1] >= 0.5 * (one.width + other.width)
        if clear or math.hypot(apart[0], apart[2]) >= one.radius + other.radius or not {one.name, other.name} & own:
            continue
        raise ValueError(
            f"wheels {one.name} and {other.name} of radius {one.radius:g} and {other.radius:g} m meet: their axles are "
            f"{math.hypot(apart[0], apart[2]):.3g} m apart, allowed: more than the sum of the radii, or side by side"
        )
