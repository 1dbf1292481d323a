"""Restitution that each contact law gives in a drop test against the one asked for, and that the test has converged.

Run: python docs/figures/contact_restitution.py    (seconds; writes docs/images/contact_restitution.png, prints tables)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from models.contact.drop import drop
from models.contact.laws import Law, make_law

NAMES = ("hunt_crossley", "lankarani_nikravesh", "lee_wang", "gonthier", "kelvin_voigt", "hertz")
ASKED = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
STEPS = (1e-4, 1e-5, 1e-6, 1e-7)
MASS, SPEED = 20.0, 0.07  # kg seen at a wheel; m/s, MacMahon 2016
STIFFNESS = {"lumped legs": (5.5e4, 1.0), "steel": (1e9, 1.5)}
OUT = Path(__file__).parent.parent / "images" / "contact_restitution.png"


def law_of(name: str, restitution: float, contact: str) -> Law:
    """The law, on lumped legs or on steel; Kelvin-Voigt is linear, so steel is 1e7 N/m there."""
    stiffness, exponent = STIFFNESS[contact]
    if name == "kelvin_voigt":
        return make_law(name, min(stiffness, 1e7), restitution=restitution, mass=MASS)
    return make_law(name, stiffness, exponent=exponent, restitution=restitution)


def print_row(*cells: object) -> None:
    """One row of a table in Markdown."""
    print("| " + " | ".join(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")


def main() -> None:
    """Print both tables, draw the figure."""
    print_row("asked for", *ASKED)
    for name in NAMES:
        print_row(name, *(drop(law_of(name, e, "lumped legs"), MASS, SPEED, dt=1e-6).restitution for e in ASKED))
    print()
    print_row("step [s]", *(f"{dt:g}" for dt in STEPS))
    for contact in STIFFNESS:
        for name in NAMES:
            # a contact on steel lasts 1.6 ms: sixteen of the plant's steps of 0.1 ms
            found = (drop(law_of(name, 0.5, contact), MASS, SPEED, dt=dt).restitution for dt in STEPS)
            print_row(f"{name}, {contact}", *found)
    asked = np.linspace(0.04, 1.0, 97)
    figure = Figure(figsize=(7, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name in NAMES[:5]:
        given = [drop(law_of(name, e, "lumped legs"), MASS, SPEED, dt=1e-5).restitution for e in asked]
        axes.plot(asked, given, "--" if name == "kelvin_voigt" else "-", label=name)
    axes.axvline(0.9, color="0.7", zorder=0, label="0.9, used in the thesis")
    axes.set(xlabel="restitution asked for", ylabel="restitution given", xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
