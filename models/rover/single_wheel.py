"""One wheel on the carriage of a single-wheel bed: it moves ahead on rails, and its load moves it up and down.

The bed of DLR (Scharringhausen 2009), of which Petersen 2012 (4.2, 5.4) quotes wheel, load, speed and soil: radius
125 mm, width 100 mm, 70 N, 10 mm/s, dry quartz sand. The masses are assumptions: together they weigh the quoted load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.rover.assembly import TreeBuilder, box, geometry_error
from models.rover.parameters import Parameters, quantity
from models.rover.tree import Body, Tree


@dataclass(frozen=True)
class SingleWheelParameters(Parameters):
    """One wheel on the carriage of a single-wheel bed; sizes and load of the bed of DLR, all else assumed.

    It has 7 speeds, of which rails leave 3: ahead, up, and the wheel's spin. The wheel bears the weight of all that
    moves up and down with it. For another load, change the mass of the carriage, or give it a payload.

    The base frame lies on the ground under the axle; the wheel of `neutral()` touches z = 0.
    """

    wheel_mass: float = quantity(1.5, "kg", 0.05, 100, "of the wheel")
    carriage_mass: float = quantity(5.6357, "kg", 0.05, 2000, "of all else that moves up and down: 70 N with the wheel")
    wheel_radius: float = quantity(0.125, "m", 0.02, 2, "of the wheel")
    wheel_width: float = quantity(0.1, "m", 0.01, 1, "of the wheel")
    carriage_height: float = quantity(0.3, "m", 0.03, 5, "of the carriage's centre over the ground")
    carriage_size: float = quantity(0.2, "m", 0.02, 2, "edge of the carriage, a cube")

    rover = "single_wheel"

    def geometry_errors(self) -> list[str]:
        """A carriage that would touch the ground."""
        return geometry_error("carriage_height", self.carriage_height, 0.5 * self.carriage_size, "it meets the ground")

    def tree(self) -> Tree:
        """Carriage and wheel."""
        size, place = (self.carriage_size,) * 3, (0.0, 0.0, self.carriage_height)
        carriage = Body("main_body", self.carriage_mass, place, box(self.carriage_mass, size), size)
        builder = TreeBuilder(self.rover, carriage)
        axle = (0.0, 0.0, self.wheel_radius)
        builder.wheel("wheel", "main_body", self.wheel_mass, self.wheel_radius, self.wheel_width, axle)
        return replace(builder.tree(), guided=True)


single_wheel = SingleWheelParameters.make
