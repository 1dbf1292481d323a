"""The wheel's figures (Petersen 2012, Figures 3.6, 3.7, 4.3, 4.5, 4.8-4.12) from our code, and what errs how far.

Run: python docs/figures/wheel_figures.py    (some seconds; writes docs/images/wheel_*.png and prints the tables)

The thesis prints neither stiffness and exponent of the single-wheel bed's sand nor its friction angle and shear
modulus; those marked "assumed" stand in, so figures of chapter 4 show trends. The measured points are in its images
only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from outputs import Outputs, outputs
from scipy.optimize import brentq

from models.wheel import PRESETS, RigidWheel, Soil, many, xu
from references import wheel_stresses

PAGE = "docs/explanation/wheel.md"
TIRES = {"tire_1": "Tire I", "tire_2": "Tire II", "exact": "Tire III"}
FIGURES = {"tire_1": "4.3", "tire_2": "4.5", "exact": "4.8"}
REBOUNDS = (0.025, 0.1, 0.25, 0.5, 1.0)
BED = PRESETS["dlr_quartz_sand"]
LOAD = 70.0  # N, on the single wheel
# assumed: dry sand of Table 3.1 for the bed's sand, 30 degrees, Xu's c_1 and c_2; and, of 2 to 10 mm, the shear modulus
# at which Janosi and Hanamoto come closest to the tanh of the quoted slip modulus (2.6 N rms in Figure 4.12)
ASSUMED = {"stiffness": 1.783e6, "exponent": 0.75, "friction_angle": math.radians(30.0), "shear_modulus": 0.003}
PEAK: dict[str, Any] = {"peak_offset": 0.4, "peak_slope": 0.15}
EXPONENTS = (0.5, 0.75, 1.0, 1.25, 1.5)


def canvas(columns: int, title: str) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side."""
    figure = Figure(figsize=(5.2 * columns, 4.4), layout="constrained")
    panels = list(figure.subplots(1, columns, squeeze=False)[0])
    for panel in panels:
        panel.grid(visible=True, alpha=0.3)
    figure.suptitle(title)
    return figure, panels


def normal_force_figures(out: Outputs) -> None:
    """Figures 3.6 and 3.7: vertical force over sinkage by quadrature, exactly, as published, and by Bekker."""
    figure, panels = canvas(2, "Vertical force of the whole, unrelaxed contact")
    rest = {"friction_angle": 0.5, "rebound": 1.0, "slip_modulus": 1.0}  # of no account here
    for panel, name, number in zip(panels, ("dry_sand", "small_wheel_sand"), ("3.6", "3.7"), strict=True):
        preset = PRESETS[name]
        radius, width = preset.radius, preset.width
        soil = preset.soil(radius, width, **rest)
        sinkage = np.linspace(0.0, min(0.1, 0.8 * radius), 60)
        marks = sinkage[4::6]
        force = {
            v: soil.stiffness * RigidWheel(radius, width, soil, v).hypervolume(sinkage) for v in ("exact", "published")
        }
        bekker = [soil.stiffness * wheel_stresses.bekker_hypervolume(radius, width, soil.exponent, z) for z in sinkage]
        dots = [soil.stiffness * wheel_stresses.hypervolume(radius, width, soil.exponent, float(z)) for z in marks]
        panel.plot(1e3 * sinkage, 1e-3 * force["exact"], label="exact")
        panel.plot(1e3 * sinkage, 1e-3 * force["published"], "--", label="published fit")
        panel.plot(1e3 * sinkage, 1e-3 * np.array(bekker), ":", label="Bekker, (3.23) or (3.26) doubled")
        panel.plot(1e3 * marks, 1e-3 * np.array(dots), "k.", label="quadrature")
        panel.set(title=f"Figure {number}: R {1e3 * radius:g} mm, b {1e3 * width:g} mm, n {soil.exponent:g}",
                  xlabel="sinkage [mm]", ylabel="vertical force [kN]")  # fmt: skip
        panel.legend()
    out.picture(figure, "wheel_normal_force.png")


def bed(rebound: float) -> Soil:
    """The sand of the single-wheel bed with another rebound, the unknown rest assumed."""
    return BED.soil(BED.radius, BED.width, **{**ASSUMED, "rebound": rebound})


def under_load(forces: Callable[[float], tuple[float, float, float]]) -> tuple[float, float, float, float]:
    """Sinkage at which a wheel carries the load, and its longitudinal and vertical force and torque there."""
    sinkage = brentq(lambda z: forces(z)[1] - LOAD, 1e-5, 0.9 * BED.radius, xtol=1e-9)
    return (sinkage, *forces(sinkage))


def by_stresses(variant: str, rebound: float, slip: float) -> tuple[float, float, float]:
    """Compaction resistance, traction and drawbar pull [N] under load, shear by Janosi and Hanamoto."""
    soil = bed(rebound)
    z, pull, _, _ = under_load(lambda z: wheel_stresses.wheel_forces(BED.radius, BED.width, soil, z, slip, variant))
    _, resistance = wheel_stresses.normal_resultants(BED.radius, BED.width, soil, z, variant)
    return resistance, pull + resistance, pull


def drawbar_figures(out: Outputs) -> None:
    """Figures 4.3, 4.5 and 4.8: drawbar pull over slip for several rebounds."""
    figure, panels = canvas(
        3, "Drawbar pull of the single wheel, 70 N, shear stress by Janosi and Hanamoto, sand assumed"
    )
    slips = np.linspace(0.02, 0.95, 2 if out.quick else 14)
    for panel, (variant, label) in zip(panels, TIRES.items(), strict=True):
        for rebound in out.some(REBOUNDS, 1):
            pull = [by_stresses(variant, rebound, float(slip))[2] for slip in slips]
            panel.plot(slips, pull, label=f"rebound {100 * rebound:g} %")
        panel.set(
            title=f"Figure {FIGURES[variant]}: {label}", xlabel="slip [-]", ylabel="drawbar pull [N]", ylim=(-5, 45)
        )
        panel.legend()
    out.picture(figure, "wheel_drawbar_pull.png")


def rebound_figures(out: Outputs) -> None:
    """Figures 4.9 to 4.11: resistance, traction and drawbar pull over the rebound at a slip of 25 %."""
    figure, panels = canvas(3, "Over the soil's rebound at 25 % slip, 70 N, sand assumed")
    rebounds = np.concatenate([[0.003, 0.01, 0.02, 0.035, 0.05], np.linspace(0.075, 1.0, 16)])
    rebounds = rebounds[:: 10 if out.quick else 1]
    quantities = ("compaction resistance [N]", "traction force [N]", "drawbar pull [N]")
    for variant, label in TIRES.items():
        found = np.array([by_stresses(variant, float(rebound), 0.25) for rebound in rebounds])
        for panel, values in zip(panels, found.T, strict=True):
            panel.plot(100 * rebounds, values, label=label)
    for panel, quantity, number in zip(panels, quantities, ("4.9", "4.10", "4.11"), strict=True):
        panel.set(title=f"Figure {number}", xlabel="rebound [% of the sinkage]", ylabel=quantity)
        panel.legend()
    out.picture(figure, "wheel_rebound.png")


def as_printed(
    variant: str, rebound: float, from_the_exit: bool, soil: Soil, slip: float = 0.25
) -> tuple[float, float]:
    """Traction and drawbar pull [N] under load, by readings of the print that bring out Figures 4.10 and 4.11.

    Either the soil is sheared from the exit on, where (4.2) lets its integral begin; or only the normal force carries
    the load and the tangential force is not projected, for (4.15) and (4.16), whose sines and cosines are swapped.
    """
    radius, width, shear_modulus = BED.radius, BED.width, soil.shear_modulus
    assert shear_modulus is not None
    soil = replace(soil, rebound=rebound)

    def found(sinkage: float) -> tuple[float, float, float]:
        normal = wheel_stresses.pressure(radius, soil, sinkage, variant)
        leave = wheel_stresses.contact_angle(radius, rebound * sinkage)

        def backwards(angle: float) -> float:
            run = radius * (angle + leave - (1.0 - slip) * (math.sin(angle) + math.sin(leave)))
            return normal(angle) * math.tan(soil.friction_angle) * -math.expm1(-run / shear_modulus)

        shear = backwards if from_the_exit else wheel_stresses.shear(radius, soil, sinkage, slip, normal)
        pull, up, torque = wheel_stresses.resultants(radius, width, soil, sinkage, normal, shear)
        bearing, resistance = wheel_stresses.normal_resultants(radius, width, soil, sinkage, variant)
        return (
            (pull + resistance, up, pull) if from_the_exit else (torque / radius, bearing, torque / radius - resistance)
        )

    z = brentq(lambda z: found(z)[1] - LOAD, 1e-5, 0.9 * radius, xtol=1e-9)
    traction, _, pull = found(z)
    return traction, pull


def readings_table(out: Outputs) -> None:
    """Traction and drawbar pull over the rebound: corrected, and by the two readings of `as_printed`."""
    rebounds = out.some((0.003, 0.025, 0.1, 0.35, 0.75, 1.0))
    rows = []
    loose = replace(bed(1.0), stiffness=2e5, exponent=0.55, shear_modulus=0.002)
    readings: dict[str, Callable[[str, float], tuple[float, float]]] = {
        "corrected": lambda tire, rebound: by_stresses(tire, rebound, 0.25)[1:],
        "sheared from the exit on": lambda tire, rebound: as_printed(tire, rebound, True, bed(1.0)),
        "not projected, loose sand": lambda tire, rebound: as_printed(tire, rebound, False, loose),
    }
    for name, reading in readings.items():
        for tire, label in TIRES.items():
            cells = ["{:.1f}, {:.1f}".format(*reading(tire, rebound)) for rebound in rebounds]
            rows.append([f"{name}, {label}", *cells])
    out.table(PAGE, "readings", ["reading", *(f"{r:g}" for r in rebounds)], rows)


def _forces_at(wheel: RigidWheel, slip: float, sinkage: float) -> tuple[float, float, float]:
    pull, up, torque = wheel.forces(sinkage, slip)
    return float(pull), float(up), float(torque)


def closed_form_figure(out: Outputs) -> None:
    """Figure 4.12: drawbar pull of the closed forms, of Xu's, and by quadrature of the stresses."""
    figure, (panel,) = canvas(1, "Figure 4.12: single wheel, 70 N, rebound 2.5 %, K 0.185")
    slips = np.linspace(0.0, 0.95, 7 if out.quick else 40)
    soil = Soil(**{**{name: getattr(bed(0.025), name) for name in ("stiffness", "exponent", "friction_angle", "rebound",
                "slip_modulus", "shear_modulus")}, **PEAK})  # fmt: skip
    for variant, style in (("exact", "-"), ("published", "--"), ("xu", "-.")):
        wheel = RigidWheel(BED.radius, BED.width, soil, variant)
        pulls = [under_load(partial(_forces_at, wheel, float(slip)))[1] for slip in slips]
        panel.plot(slips, pulls, style, label=variant)
    few = slips[1::3]
    panel.plot(
        few, [by_stresses("exact", 0.025, float(s))[2] for s in few], "k.", label="quadrature, $K_x$ 3 mm assumed"
    )
    panel.set(xlabel="slip [-]", ylabel="drawbar pull [N]")
    panel.legend()
    out.picture(figure, "wheel_closed_form.png")


def worst(values: list[float]) -> str:
    """The value furthest from 0, in percent or as a power."""
    value = max(values, key=abs)
    return f"{100 * value:+.1f} %" if abs(value) > 1e-4 else f"{abs(value):.0e}"


def hypervolume_table(out: Outputs) -> None:
    """Worst relative error of the hypervolume against quadrature, R 0.265 m, b 0.22 m, sinkage 2 to 100 mm."""
    radius, width, sinkages = 0.265, 0.22, np.linspace(0.002, 0.1, 50)
    rows = []
    for exponent in EXPONENTS:
        soil = Soil(1.0, exponent, friction_angle=0.0, rebound=1.0, slip_modulus=1.0)
        true = np.array([wheel_stresses.hypervolume(radius, width, exponent, float(z)) for z in sinkages])
        found = [RigidWheel(radius, width, soil, variant).hypervolume(sinkages) for variant in ("exact", "published")]
        found.append(np.array([wheel_stresses.bekker_hypervolume(radius, width, exponent, float(z)) for z in sinkages]))
        rows.append([f"{exponent:g}", *(worst(list(values / true - 1.0)) for values in found)])
    out.table(PAGE, "hypervolume errors", ("exponent", "exact", "published fit", "Bekker, doubled"), rows)


def rebound_table(out: Outputs) -> None:
    """Worst relative error of the vertical force with rebound, the same wheel and sinkages."""
    radius, width, sinkages = 0.265, 0.22, np.linspace(0.002, 0.1, 15)
    exponents = out.some(EXPONENTS)
    rows = []
    for rebound in out.some((0.025, 0.1, 0.5, 1.0)):
        cells = []
        for exponent in exponents:
            soil = Soil(1.0, exponent, friction_angle=0.0, rebound=rebound, slip_modulus=1.0)
            true = [wheel_stresses.normal_resultants(radius, width, soil, float(z))[0] for z in sinkages]
            cells += [", ".join(worst(list(RigidWheel(radius, width, soil, v).normal_force(sinkages)[0] / true - 1.0))
                                for v in ("exact", "published"))]  # fmt: skip
        rows.append([f"{rebound:g}", *cells])
    out.table(PAGE, "rebound errors", ["rebound", *(f"eta {e:g}: exact, published" for e in exponents)], rows)


def xu_by_stresses(soil: Soil, sinkage: float, slip: float) -> tuple[float, float, float]:
    """Forces by quadrature of the stresses Xu 2021 makes linear, (24) and (25), from the lowest point to theta_1."""
    radius = BED.radius
    entry, middle, _, _ = xu.peak(RigidWheel(radius, BED.width, soil, "xu").parameters, sinkage / radius, slip)

    def normal(angle: float) -> float:
        mirrored = angle if angle >= middle else entry - angle * (entry - middle) / middle
        return float(soil.stiffness * max(wheel_stresses.depth(mirrored, radius, sinkage), 0.0) ** soil.exponent)

    shear = wheel_stresses.shear(radius, soil, sinkage, slip, normal)
    front_only = Soil(soil.stiffness, soil.exponent, friction_angle=0.0, rebound=1e-12, slip_modulus=1.0)
    return wheel_stresses.resultants(radius, BED.width, front_only, sinkage, normal, shear)


def xu_table(out: Outputs) -> None:
    """What Xu's linear stresses change, and what his (31) does, at 10 mm in the bed's sand."""
    rows = []
    soil = Soil(
        1.783e6, 0.75, friction_angle=math.radians(30.0), rebound=0.025, slip_modulus=0.185, shear_modulus=0.003, **PEAK
    )
    for slip in out.some((0.05, 0.1, 0.25, 0.5, 0.9)):
        pull, up, torque = RigidWheel(BED.radius, BED.width, soil, "xu").forces(0.01, slip)
        true = xu_by_stresses(soil, 0.01, slip)
        forces = f"{true[0]:.1f}, {pull:.1f}, {torque / BED.radius:.1f}"
        errors = (f"{100 * (up / true[1] - 1):+.1f} %", f"{100 * (torque / true[2] - 1):+.1f} %")
        rows.append([f"{slip:g}", *errors, forces])
    head = ("slip", "F_z over quadrature", "torque", "F_x: quadrature, xu, (31) [N]")
    out.table(PAGE, "xu errors", head, rows)


def print_times(repeats: int = 50) -> None:
    """Time of one wheel inside a compiled loop, best of many loops over 20000 wheels."""
    count = 20000
    random = np.random.default_rng(0)
    sinkages, slips = random.uniform(0.001, 0.1, count), random.uniform(0.0, 0.9, count)
    soil = Soil(1.783e6, 0.75, friction_angle=0.5, rebound=0.1, slip_modulus=0.185, shear_modulus=0.003, **PEAK)
    out = np.empty((3, count))
    print("\n| one wheel, normal and tangential | us |\n|---|---|")
    rows = [(variant, many.forces, variant) for variant in ("exact", "tire_1", "tire_2", "published", "xu")]
    for name, loop, variant in [*rows, ("split quadrature", many.split_quadrature_forces, "exact")]:
        parameters = RigidWheel(0.265, 0.22, soil, variant).parameters
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            loop(parameters, sinkages, slips, out)
            times.append(time.perf_counter() - start)
        print(f"| {name} | {1e6 * min(times[1:]) / count:.3f} |")


def main() -> None:
    """Draw all figures, print all tables."""
    out = outputs(__doc__)
    normal_force_figures(out)
    drawbar_figures(out)
    rebound_figures(out)
    closed_form_figure(out)
    hypervolume_table(out)
    rebound_table(out)
    readings_table(out)
    xu_table(out)
    print_times(2 if out.quick else 50)


if __name__ == "__main__":
    main()
