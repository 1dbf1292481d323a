"""Effective kinetic energy over the obstacle's angle: no ground, unilateral ground, one without slip, all wheels held.

Run: python docs/figures/contact_ground.py    (seconds; writes docs/images/contact_ground.png, prints the table)
"""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure
from outputs import outputs

from models.contact.constraints import effective_kinetic_energy_on_ground
from models.impact import effective_kinetic_energy
from models.rover import rcp

SPEED, RADIUS = 0.07, 0.175
ROVER = rcp()


def rolling() -> np.ndarray:
    """The RCP driving straight ahead, (nv,)."""
    v = np.zeros(ROVER.nv)
    v[0] = SPEED
    for i, name in enumerate(ROVER.joint_names):
        if name.endswith("_drive"):
            v[6 + i] = SPEED / RADIUS
    return v


def energies(angle_deg: float) -> tuple[float, float, float, float, tuple[str, ...]]:
    """T_c [J] with no ground, unilateral ground, ground that also does not let slip, all wheels held; who is held."""
    q, v, angle = ROVER.neutral(), rolling(), math.radians(angle_deg)
    M, J = ROVER.mass_matrix(q), ROVER.impact_jacobian(q, angle)
    six = np.vstack([J, ROVER.impact_jacobian(q, 0.0, ROVER.wheel_names)])
    rigid, names = effective_kinetic_energy_on_ground(ROVER, q, v, angle)
    try:
        gripped, _ = effective_kinetic_energy_on_ground(ROVER, q, v, angle, rolling=True)
    except ValueError:  # no set is consistent
        gripped = math.nan
    return effective_kinetic_energy(M, J, v), rigid, gripped, effective_kinetic_energy(M, six, v), names


def main() -> None:
    """Print the table, draw the figure."""
    out = outputs(__doc__)
    rows = []
    for angle_deg in out.some(range(10, 91, 10)):
        *found, names = energies(angle_deg)
        cells = ["inconsistent" if math.isnan(one) else f"{one:.4f}" for one in found]
        held = ", ".join(name.replace("_", " ") for name in names) or "none"
        rows.append([f"{angle_deg}", *cells, held])
    head = ("angle", "no ground", "ground, where it pushes", "and no slip", "all six held", "who is held")
    out.table("docs/explanation/contact.md", "T_c on grounds", head, rows)
    angles = np.arange(10.0, 90.1, 20.0 if out.quick else 0.5)
    curves = np.array([energies(angle)[:4] for angle in angles])
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    labels = ("no ground", "ground, where it pushes", "the same, and no slip", "all six wheels held")
    for curve, label, style in zip(curves.T, labels, ("-", "--", ":", "-."), strict=True):
        axes.plot(angles, curve, style, label=label)
    axes.set(xlabel="obstacle angle [deg]", ylabel="T_c [J]", ylim=(0, None), title="RCP, 120 kg, 70 mm/s")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    out.picture(figure, "contact_ground.png")


if __name__ == "__main__":
    main()
