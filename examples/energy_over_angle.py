"""The effective kinetic energy T_c of a rover over the angle of the obstacle: where does it hit hardest?

T_c is the part of the kinetic energy that an impact can spend (MacMahon 2016, (3.27)). Both front wheels hit at once,
at 70 mm/s. The ground is left out, because soil yields as if there were none (docs/explanation/contact.md). Run it
with `.venv/bin/python examples/energy_over_angle.py`. It writes `energy_over_angle.png` into the working folder, and
prints:

    rcp: largest 0.196 J at 60 degrees
    rcp, 22.7 kg added: largest 0.224 J at 58 degrees
    exomars: largest 0.287 J at 60 degrees
"""

import numpy as np
from matplotlib.figure import Figure

from models.impact import effective_kinetic_energy
from models.rover import exomars, rcp
from models.rover.rover import Rover

angles_deg = np.arange(10.0, 90.5, 1.0)


def energy_J(rover: Rover, angle_deg: float) -> float:
    """T_c of a rover that drives forward at 70 mm/s; how fast its wheels turn does not matter."""
    q, velocity = rover.neutral(), np.zeros(rover.nv)
    velocity[0] = 0.07
    jacobian = rover.impact_jacobian(q, np.radians(angle_deg))
    return effective_kinetic_energy(rover.mass_matrix(q), jacobian, velocity)


figure = Figure(figsize=(7.0, 4.0))
axes = figure.subplots()
for name, rover in {"rcp": rcp(), "rcp, 22.7 kg added": rcp(added_mass=22.7), "exomars": exomars()}.items():
    energies_J = np.array([energy_J(rover, angle_deg) for angle_deg in angles_deg])
    axes.plot(angles_deg, energies_J, label=name)
    print(f"{name}: largest {energies_J.max():.3f} J at {angles_deg[energies_J.argmax()]:.0f} degrees")
axes.set(xlabel="angle of the obstacle [deg]", ylabel="effective kinetic energy [J]")
axes.legend()
figure.savefig("energy_over_angle.png")
