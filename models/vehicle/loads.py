"""Payload of a rover and drawbar pull on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from models.checks import Range, problem, refuse
from models.kernels.compiled import FloatArray
from models.rover.assembly import box
from models.rover.rover import Rover
from models.rover.ties import Vector

_PLACE = Range(-10.0, 10.0, "m")


@dataclass(frozen=True)
class CubePayload:
    """A uniform cube fixed to the main body.

    Attributes:
        mass: [kg]; 0: no payload.
        place: of its centre [m] in the base frame of the rover, which lies on the ground under the main body.
        edge: of the cube [m], for its inertia.
    """

    mass: float = 0.0
    place: Vector = (0.0, 0.0, 0.0)
    edge: float = 0.2

    def on(self, rover: Rover) -> Rover:
        """The rover with this payload.

        Raises:
            ValueError: everything that is out of range.
        """
        refuse(
            "payload",
            [
                problem("mass", self.mass, Range(0.0, math.inf, "kg")),
                problem("edge", self.edge, Range(0.0, 10.0, "m", open_low=True)),
                *(problem(f"place[{i}]", x, _PLACE) for i, x in enumerate(self.place)),
            ],
        )
        if self.mass == 0.0:
            return rover
        inertia = box(self.mass, (self.edge, self.edge, self.edge))
        return Rover(rover.tree.with_load("payload", self.mass, inertia, self.place))


@dataclass(frozen=True)
class Drawbar:
    """A constant force at a point of the main body, which turns with it, such as a person or a sled that pulls back.

    Attributes:
        force: [N] in base axes; against the motion it has a negative x.
        place: where it acts [m], base frame.
    """

    force: Vector = (0.0, 0.0, 0.0)
    place: Vector = (0.0, 0.0, 0.0)

    def wrench(self) -> FloatArray:
        """Force and moment about the base's origin (6,), as `VehicleState.pull` takes them.

        Raises:
            ValueError: everything that is out of range.
        """
        force = np.array(self.force)
        refuse(
            "drawbar",
            [
                *(problem(f"force[{i}]", f, Range(-math.inf, math.inf, "N")) for i, f in enumerate(self.force)),
                *(problem(f"place[{i}]", x, _PLACE) for i, x in enumerate(self.place)),
            ],
        )
        return self._at_place(force)

    def backwards(self) -> FloatArray:
        """The same of 1 N straight back, whatever `force` is."""
        return self._at_place(np.array((-1.0, 0.0, 0.0)))

    def _at_place(self, force: FloatArray) -> FloatArray:
        return np.concatenate([force, np.cross(self.place, force)])
