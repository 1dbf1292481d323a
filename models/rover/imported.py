"""A rover from a URDF: its parameters are the masses of its bodies, its tree is that of the file."""

from __future__ import annotations

import functools
import re
from dataclasses import make_dataclass, replace
from typing import Any

from models.rover.from_links import rover_of
from models.rover.parameters import Parameters, quantity
from models.rover.ties import Vector
from models.rover.tree import Tree
from models.rover.urdf_reader import read_urdf

IMPORTED = "imported"


@functools.lru_cache(maxsize=64)
def imported(urdf: str, wheels: tuple[str, ...] | None = None) -> type[Parameters]:
    """The rover of a URDF.

    Its parameters are the masses of its bodies; a body of another mass has moments in proportion.

    Args:
        urdf: text of the file.
        wheels: names of the wheels' links or joints; None: those that are recognised.

    Raises:
        ValueError: it is no URDF, or none of a rover.
    """
    source = rover_of(read_urdf(urdf), wheels).tree
    masses = {_field(number, body.name): body.mass for number, body in enumerate(source.bodies)}

    def tree(self: Parameters) -> Tree:
        bodies = tuple(
            body
            if (mass := getattr(self, name)) == body.mass
            else replace(
                body,
                mass=mass,
                inertia=_scaled(body.inertia, mass / body.mass),
                products=_scaled(body.products, mass / body.mass),
            )
            for name, body in zip(masses, source.bodies, strict=True)
        )
        return replace(source, bodies=bodies)

    def reduce(self: Parameters) -> tuple[Any, ...]:
        return _made_again, (urdf, wheels, {name: getattr(self, name) for name in masses})

    def lockable(cls: type[Parameters]) -> tuple[str, ...]:
        fixed = {joint.name for joint in source.joints if joint.locked_at is not None}
        return tuple(name for name in Parameters.lockable.__func__(cls) if name not in fixed)  # type: ignore[attr-defined]

    fields: list[tuple[str, type, Any]] = [
        (name, float, quantity(mass, "kg", 1e-4, 1e4, f"of {body.name}"))
        for (name, mass), body in zip(masses.items(), source.bodies, strict=True)
    ]
    members = {
        "rover": IMPORTED,
        "tree": tree,
        "lockable": classmethod(lockable),
        "__reduce__": reduce,
        "__module__": __name__,
    }
    return make_dataclass("Imported", fields, bases=(Parameters,), namespace=members, frozen=True)


def _field(number: int, body: str) -> str:
    """Name of the parameter of a body's mass."""
    return f"body_{number}_{re.sub('[^0-9A-Za-z]', '_', body)}_mass"


def _scaled(values: Vector, factor: float) -> Vector:
    x, y, z = (factor * value for value in values)
    return x, y, z


def _made_again(urdf: str, wheels: tuple[str, ...] | None, masses: dict[str, float]) -> Parameters:
    return imported(urdf, wheels)(**masses)
