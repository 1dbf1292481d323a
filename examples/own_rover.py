"""A rover with sizes of your own on the simulated rig, and a linkage of your own in the models.

Two things are possible without a change of the program. A config sets sizes and masses of the rovers that it knows
(`rover.type`). And `models.rover` takes any tree of bodies and revolute joints; such a rover is for calculations, a
config cannot name it. Run it with `.venv/bin/python examples/own_rover.py`. It prints:

    parametric rover: 105 kg, front to rear wheels 1.25 m
    its trial: accepted True, peak contact force 160 N
    cart: 38 kg, 10 speeds: 6 of the base, front_left_drive, front_right_drive, rear_left_drive, rear_right_drive
    cart at 70 mm/s against a plane at 60 degrees: 0.069 J
"""

from math import radians

import numpy as np

from hil.app.run import run
from hil.config import load_config
from models.impact import effective_kinetic_energy
from models.rover.rover import Rover
from models.rover.tree import Body, Joint, Tree, WheelMount

# 1. The parametric rover: sizes in the config.
sizes = ["rover.type=parametric", "rover.parametric.wheelbase_m=1.25", "rover.body_mass_kg=45", "rover.added_mass_kg=0"]
config = load_config("sim_impact", [*sizes, "telemetry.endpoint=''"])
rover = config.rover.parameters().build()
wheels = dict(zip(rover.wheel_names, rover.wheel_positions(rover.neutral()), strict=True))
mass, wheelbase = rover.mass_matrix(rover.neutral())[0, 0], wheels["front_left"][0] - wheels["rear_left"][0]
print(f"parametric rover: {mass:.0f} kg, front to rear wheels {wheelbase:.2f} m")
summary = run(config).summary
print(f"its trial: accepted {summary['accepted']}, peak contact force {summary['contact_force_peak_N']:.0f} N")

# 2. A cart: one body, four wheels, no suspension. Lengths [m], masses [kg], inertia [kg m^2]; x forward, y left, z up.
along, across = {"front": 0.3, "rear": -0.3}, {"left": 0.25, "right": -0.25}
places = {f"{row}_{side}": (x, y, 0.12) for row, x in along.items() for side, y in across.items()}
body = Body("body", 30.0, (0.0, 0.0, 0.3), (1.0, 1.5, 2.0))
cart = Rover(
    Tree(
        "cart",
        (body, *(Body(f"{name}_wheel", 2.0, (0.0, 0.0, 0.0), (0.01, 0.02, 0.01)) for name in places)),
        tuple(Joint(f"{name}_drive", "body", f"{name}_wheel", at, (0.0, 1.0, 0.0)) for name, at in places.items()),
        tuple(WheelMount(name, f"{name}_wheel", 0.12, 0.1) for name in places),
    )
)
q, velocity = cart.neutral(), np.zeros(cart.nv)
velocity[0] = 0.07
matrix = cart.mass_matrix(q)
energy = effective_kinetic_energy(matrix, cart.impact_jacobian(q, radians(60.0)), velocity)
print(f"cart: {matrix[0, 0]:.0f} kg, {cart.nv} speeds: 6 of the base, {', '.join(cart.joint_names)}")
print(f"cart at 70 mm/s against a plane at 60 degrees: {energy:.3f} J")
