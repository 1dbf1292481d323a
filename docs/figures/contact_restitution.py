"""Restitution that each contact law gives in a drop test against the one asked for, and that the test has converged.

Run: python docs/figures/contact_restitution.py    (seconds; writes docs/images/contact_restitution.png, prints tables)
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from outputs import outputs

from models.contact.laws import Law, make_law
from references.drop import drop

NAMES = ("hunt_crossley", "lankarani_nikravesh", "lee_wang", "gonthier", "kelvin_voigt", "hertz")
ASKED = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
STEPS = (1e-4, 1e-5, 1e-6, 1e-7)
MASS, SPEED = 20.0, 0.07  # kg seen at a wheel; m/s, MacMahon 2016
STIFFNESS = {"lumped legs": (5.5e4, 1.0), "steel": (1e9, 1.5)}


def law_of(name: str, restitution: float, contact: str) -> Law:
    """The law, on lumped legs or on steel; Kelvin-Voigt is linear, so steel is 1e7 N/m there."""
    stiffness, exponent = STIFFNESS[contact]
    if name == "kelvin_voigt":
        return make_law(name, min(stiffness, 1e7), restitution=restitution, mass=MASS)
    return make_law(name, stiffness, exponent=exponent, restitution=restitution)


def main() -> None:
    """Print both tables, draw the figure."""
    out = outputs(__doc__)
    steps = out.some(STEPS)
    asked_for = out.some(ASKED)
    rows = []
    for name in NAMES:
        given = [drop(law_of(name, e, "lumped legs"), MASS, SPEED, dt=1e-6).restitution for e in asked_for]
        rows.append([name, *(f"{one:.4f}" for one in given)])
    head = ["asked for", *(f"{e:g}" for e in asked_for)]
    out.table("docs/explanation/contact.md", "restitution", head, rows)
    print("step [s]:", *steps)
    for contact in STIFFNESS:
        for name in NAMES:
            # a contact on steel lasts 1.6 ms: sixteen of the plant's steps of 0.1 ms
            found = (drop(law_of(name, 0.5, contact), MASS, SPEED, dt=dt).restitution for dt in steps)
            print(f"{name}, {contact}:", *(f"{one:.4f}" for one in found))
    asked = np.linspace(0.04, 1.0, 5 if out.quick else 97)
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for name in NAMES[:5]:
        given = [drop(law_of(name, e, "lumped legs"), MASS, SPEED, dt=1e-5).restitution for e in asked]
        axes.plot(asked, given, "--" if name == "kelvin_voigt" else "-", label=name)
    axes.axvline(0.9, color="0.7", zorder=0, label="0.9, used in the thesis")
    axes.set(xlabel="restitution asked for", ylabel="restitution given", xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    out.picture(figure, "contact_restitution.png")


if __name__ == "__main__":
    main()
