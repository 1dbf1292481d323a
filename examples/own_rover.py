"""A rover with sizes of your own on the simulated rig, and a linkage of your own in the models.

A config sets sizes and masses of the rovers that it knows (`rover.type`). A rover of another linkage is one class, as
here the cart; a package that names it by an entry point `rover_hil.rovers` makes it a type that a config can name
(docs/how-to/add-a-rover.md). Run it with `.venv/bin/python examples/own_rover.py`. It prints:

    parametric rover: 105 kg, front to rear wheels 1.25 m
    its trial: accepted True, peak contact force 163 N
    cart: 38 kg, 10 speeds: 6 of the base, front_left_drive, front_right_drive, rear_left_drive, rear_right_drive
    cart at 70 mm/s against a plane at 60 degrees: 0.067 J
"""

from dataclasses import dataclass
from math import radians

import numpy as np

import hil
from models.impact import effective_kinetic_energy
from models.rover import Body, Parameters, Tree, TreeBuilder, box, quantity

# 1. The parametric rover: sizes in the config.
sizes = {"type": "parametric", "parametric": {"wheelbase_m": 1.25}, "body_mass_kg": 45, "added_mass_kg": 0}
config = hil.load("sim_impact", {"rover": sizes, "telemetry.endpoint": ""})
rover = config.rover_model()
wheels = dict(zip(rover.wheel_names, rover.wheel_positions(rover.neutral()), strict=True))
wheelbase = wheels["front_left"][0] - wheels["rear_left"][0]
print(f"parametric rover: {rover.mass:.0f} kg, front to rear wheels {wheelbase:.2f} m")
summary = hil.run(config).summary
print(f"its trial: accepted {summary['accepted']}, peak contact force {summary['contact_force_peak_N']:.0f} N")


# 2. A cart: one body, four wheels, no suspension; x forward, y left, z up.
@dataclass(frozen=True)
class Cart(Parameters):
    """A cart."""

    body_mass: float = quantity(30.0, "kg", 1, 1000, "of the body")
    wheel_mass: float = quantity(2.0, "kg", 0.1, 100, "of each wheel")
    wheelbase: float = quantity(0.6, "m", 0.1, 10, "front to rear wheel centres")
    track: float = quantity(0.5, "m", 0.1, 10, "between the centres of the wheels of either side")
    wheel_radius: float = quantity(0.12, "m", 0.02, 2, "of every wheel")

    rover = "cart"

    def tree(self) -> Tree:
        """One body and four wheels."""
        size = (self.wheelbase, self.track, 0.2)
        builder = TreeBuilder(
            self.rover, Body("body", self.body_mass, (0.0, 0.0, 0.3), box(self.body_mass, size), size)
        )
        for row, x in (("front", 0.5 * self.wheelbase), ("rear", -0.5 * self.wheelbase)):
            for side, y in (("left", 0.5 * self.track), ("right", -0.5 * self.track)):
                place = (x, y, self.wheel_radius)
                builder.wheel(f"{row}_{side}", "body", self.wheel_mass, self.wheel_radius, 0.1, place)
        return builder.tree()


cart = Cart(wheelbase=0.7).build()
q, velocity = cart.neutral(), np.zeros(cart.nv)
velocity[0] = 0.07
energy = effective_kinetic_energy(cart.mass_matrix(q), cart.impact_jacobian(q, radians(60.0)), velocity)
print(f"cart: {cart.mass:.0f} kg, {cart.nv} speeds: 6 of the base, {', '.join(cart.joint_names)}")
print(f"cart at 70 mm/s against a plane at 60 degrees: {energy:.3f} J")
