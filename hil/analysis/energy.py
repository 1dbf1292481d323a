"""The effective kinetic energy T_c of the nominal rover over the obstacle's angle, and what other masses do to it.

Constant forward speed `trial.speed_mps`, neutral configuration, no ground (MacMahon 2016 (3.27), 5.3): what an impact
of both front wheels at once can spend.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from scipy.optimize import minimize_scalar

from hil.config.files import replacing, write_whole
from hil.config.text_io import write_rows
from hil.experiments.drawing import ENERGY_COLOUR, curve_style, dress_panel, new_panels
from hil.experiments.figure_form import FigureForm
from hil.experiments.summary_table import columns_table
from models.impact import effective_kinetic_energy
from models.rover import Parameters
from models.rover.rover import Rover

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure
    from rich.table import Table

    from hil.config.rig import Rig

# Masses to change, what they are called, and by how much.
_CHANGED = (
    ("body_mass", "body", (2 / 3, 1.0, 4 / 3)),
    ("wheel_mass", "wheels", (0.75, 1.0, 1.5)),
    ("rocker_mass", "rockers", (0.5, 1.0, 2.0)),
    ("bogie_mass", "bogies", (0.5, 1.0, 2.0)),
    ("leg_mass", "legs", (0.5, 1.0, 2.0)),
)
_GRID_DEG = tuple(float(angle) for angle in range(10, 91, 2))


class EnergyCurve(TypedDict):
    """T_c [J] over the angle [deg], and where it peaks inside the range of the angles; None where it does not."""

    angles_deg: list[float]
    energy_J: list[float]
    peak_angle_deg: float | None


@dataclass(frozen=True)
class MassSet:
    """Where the energy peaks with other masses."""

    masses: str  # what differs from the config
    total_kg: float  # mass of the rover
    peak_angle_deg: float | None  # angle of the peak; None: none between 10 and 90 degrees
    peak_energy_J: float | None  # T_c there


def energy_curve(rig: Rig, angles_deg: Sequence[float]) -> EnergyCurve:
    """T_c over the angle. `angles_deg` rise, and there is at least one.

    Returns `angles_deg`, `energy_J` (one each) and `peak_angle_deg`: of the maximum inside the range of the angles,
    found between them too; None where T_c is largest at an end of the range, for it may still grow beyond that end.
    """
    energy = energy_over_angle(rig.nominal.held.make_rover(), rig.config.trial.speed_mps)
    return {
        "angles_deg": [float(angle) for angle in angles_deg],
        "energy_J": [energy(angle) for angle in angles_deg],
        "peak_angle_deg": _peak(energy, angles_deg),
    }


def peak_over_masses(rig: Rig) -> list[MassSet]:
    """The peak over 10 to 90 degrees for a handful of mass sets, each differing from the config in one mass."""
    held = rig.nominal.held
    nominal = held.rover
    sets: dict[str, Parameters] = {"as configured": nominal}
    for name, label, shares in _CHANGED:
        for mass in (share * getattr(nominal, name) for share in shares if hasattr(nominal, name)):
            each = "" if name == "body_mass" else " each"
            sets[f"{label} {mass:g} kg{each}"] = replace(nominal, **{name: mass})
    if hasattr(nominal, "added_mass"):
        for label, mass in (("no added weights", 0.0), ("added weights 22.7 kg", 22.7)):
            sets[label] = replace(nominal, **{"added_mass": mass})
    rows = []
    for masses_named, parameters in sets.items():
        rover = replace(held, rover=parameters).make_rover()
        energy = energy_over_angle(rover, rig.config.trial.speed_mps)
        peak = _peak(energy, _GRID_DEG)
        rows.append(MassSet(masses_named, rover.mass, peak, None if peak is None else energy(peak)))
    return rows


def save_energy(
    folder: Path, curve: EnergyCurve, masses: Sequence[MassSet], parts: Mapping[str, Any] | None = None
) -> None:
    """Write energy.json, with further `parts` after the curve, and energy_masses.csv."""
    whole = {**curve, **(parts or {})}
    write_whole(folder / "energy.json", json.dumps(whole, indent=2) + "\n")
    table = folder / "energy_masses.csv"
    with replacing(table) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        rows = [(row.masses, f"{row.total_kg:.6g}", row.peak_angle_deg, row.peak_energy_J) for row in masses]
        write_rows(file, [("masses", "total_kg", "peak_angle_deg", "peak_energy_J"), *rows])


def draw_energy(curve: EnergyCurve, form: FigureForm) -> Figure:
    """Draw T_c over the angle, its peak marked."""
    figure, (axes,) = new_panels(form, 1, 4.0)
    axes.plot(curve["angles_deg"], curve["energy_J"], **curve_style(form, 0, color=ENERGY_COLOUR))
    dress_panel(axes, form, f"Effective kinetic energy: {peak_in_words(curve)}", "$T_c$ [J]", "obstacle angle [deg]")
    if curve["peak_angle_deg"] is not None:
        axes.axvline(curve["peak_angle_deg"], color="#999999", lw=form.line(0.8), zorder=0)
    axes.set_ylim(bottom=0.0)
    return figure


def peak_in_words(curve: EnergyCurve) -> str:
    """Where T_c peaks, for people."""
    peak = curve["peak_angle_deg"]
    if peak is None:
        return "no peak inside this range: T_c is largest at one end of it, and may grow beyond"
    return f"peak at {peak:.1f}°"


def energy_table(curve: EnergyCurve) -> Table:
    """T_c over the angle, as a table; the largest is bold."""
    rows = []
    for angle, joule in zip(curve["angles_deg"], curve["energy_J"], strict=True):
        form = "[bold]{}[/]" if joule == max(curve["energy_J"]) else "{}"
        rows.append((form.format(f"{angle:g}"), form.format(f"{joule:.4f}")))
    return columns_table(("angle [deg]", "T_c [J]"), rows)


def masses_table(rows: Sequence[MassSet]) -> Table:
    """The peak over the assumed masses, as a table."""
    cells = []
    for row in rows:
        peak = "none" if row.peak_angle_deg is None else f"{row.peak_angle_deg:.1f}"
        energy = "-" if row.peak_energy_J is None else f"{row.peak_energy_J:.4f}"
        cells.append((row.masses, f"{row.total_kg:.1f}", peak, energy))
    return columns_table(("masses", "total [kg]", "peak [deg]", "T_c there [J]"), cells, words=1)


def energy_over_angle(rover: Rover, speed_mps: float) -> Callable[[float], float]:
    """T_c [J] as a function of the angle [deg]; the wheels' spin takes no part (MacMahon 2016 (3.24))."""
    q, v = rover.neutral(), np.zeros(rover.nv)
    v[0] = speed_mps
    mass_matrix = rover.mass_matrix(q)

    def energy(angle_deg: float) -> float:
        return effective_kinetic_energy(mass_matrix, rover.impact_jacobian(q, math.radians(angle_deg)), v)

    return energy


def _peak(energy: Callable[[float], float], angles_deg: Sequence[float]) -> float | None:
    """Angle [deg] of the maximum, refined between the neighbours of the best angle; None if that is an end."""
    values = [energy(angle) for angle in angles_deg]
    best = max(range(len(values)), key=values.__getitem__)
    if best in (0, len(values) - 1):
        return None
    result = minimize_scalar(
        lambda angle: -energy(float(angle)),
        bounds=(angles_deg[best - 1], angles_deg[best + 1]),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return float(result.x) if -result.fun >= values[best] else float(angles_deg[best])
