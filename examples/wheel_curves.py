"""Curves of a rigid wheel on dry sand: sinkage over load, and drawbar pull over slip.

Run it with `.venv/bin/python examples/wheel_curves.py`. It writes `wheel_curves.png` into the working folder, and
prints:

    load [N]  sinkage [mm]  pull at slip 0.1  0.2  0.4 [N]
    100       3.02          22.9  40.2  50.6
    200       5.26          42.2  76.9  97.7
    300       7.29          59.4  111.4  142.6
"""

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

from models.wheel import PRESETS, RigidWheel

# The sand of Petersen 2012, Table 3.1; friction angle, rebound and slip modulus are assumptions.
soil = PRESETS["dry_sand"].soil(0.175, 0.15, friction_angle=np.radians(30.0), rebound=0.07, slip_modulus=0.185)
wheel = RigidWheel(radius=0.175, width=0.15, soil=soil)
slips = np.linspace(0.0, 0.6, 61)


def sinkage_under(load_N: float) -> float:
    """The sinkage [m] at which the soil bears a load."""
    return float(brentq(lambda sinkage: wheel.normal_force(sinkage).vertical - load_N, 1e-6, 0.5 * wheel.radius))


figure = Figure(figsize=(9.0, 4.0))
left, right = figure.subplots(1, 2)
loads_N = np.linspace(10.0, 400.0, 40)
left.plot(loads_N, [sinkage_under(load_N) * 1e3 for load_N in loads_N])
left.set(xlabel="load [N]", ylabel="sinkage [mm]")
print("load [N]  sinkage [mm]  pull at slip 0.1  0.2  0.4 [N]")
for load_N in (100.0, 200.0, 300.0):
    sinkage = sinkage_under(load_N)
    pull = wheel.forces(sinkage, slips).longitudinal  # arrays in, arrays out
    right.plot(slips, pull, label=f"{load_N:.0f} N")
    few = "  ".join(f"{pull[slips.searchsorted(slip - 1e-9)]:.1f}" for slip in (0.1, 0.2, 0.4))
    print(f"{load_N:<9.0f} {sinkage * 1e3:<13.2f} {few}")
right.set(xlabel="slip", ylabel="drawbar pull [N]")
right.legend(title="load")
figure.savefig("wheel_curves.png")
