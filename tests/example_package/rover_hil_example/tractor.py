"""A rover with a linkage of its own: four wheels, the front ones on an axle that rolls on the body."""

from __future__ import annotations

from dataclasses import dataclass

from models.rover.assembly import LENGTHWISE, TreeBuilder, box, geometry_error, on_side
from models.rover.parameters import Parameters, quantity
from models.rover.tree import Body, Tree


@dataclass(frozen=True)
class TractorParameters(Parameters):
    """A tractor: a body with a rigid rear axle, and a front axle that rolls, so that all wheels stay on the ground."""

    body_mass: float = quantity(60.0, "kg", 1, 1000, "of the body with its rear axle")
    axle_mass: float = quantity(5.0, "kg", 0.1, 100, "of the front axle")
    wheel_mass: float = quantity(4.0, "kg", 0.1, 100, "of each of the four wheels")
    wheelbase: float = quantity(0.8, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(0.7, "m", 0.1, 10, "between the centres of the wheels of either axle")
    wheel_radius: float = quantity(0.15, "m", 0.02, 2, "of every wheel")
    wheel_width: float = quantity(0.12, "m", 0.01, 1, "of every wheel")
    body_height: float = quantity(0.35, "m", 0.05, 5, "of the body's centre of mass over ground")
    axle_stop: float = quantity(20.0, "deg", 1, 90, "of the axle from level to its stop, either way")

    rover = "tractor"

    def geometry_errors(self) -> list[str]:
        """Overlapping wheels."""
        return [
            *geometry_error("wheelbase", self.wheelbase, 2.0 * self.wheel_radius, "wheels of one side meet"),
            *geometry_error("track", self.track, self.wheel_width, "wheels of both sides meet"),
        ]

    def tree(self) -> Tree:
        """All 6 bodies and 5 joints, none locked; the base frame is on the ground, half-way between the axles."""
        size = (0.8 * self.wheelbase, 0.5 * self.track, 0.2)
        body = Body("body", self.body_mass, (0.0, 0.0, self.body_height), box(self.body_mass, size), size)
        builder = TreeBuilder(self.rover, body)
        ahead = 0.5 * self.wheelbase
        builder.add_body(
            "body", "front_axle", LENGTHWISE, "axle", self.axle_mass, box(self.axle_mass, (0.06, self.track, 0.06)),
            (ahead, 0.0, self.wheel_radius), stop=self.axle_stop,
        )  # fmt: skip
        for row, carrier, x in (("front", "axle", ahead), ("rear", "body", -ahead)):
            for side in ("left", "right"):
                place = on_side((x, 0.5 * self.track, self.wheel_radius), side)
                builder.wheel(f"{row}_{side}", carrier, self.wheel_mass, self.wheel_radius, self.wheel_width, place)
        return builder.tree()
