"""Petersen 2012, chapter 5 and Appendix B: the flexible wheel. Writes its page and pictures.

`--quick --out DIR` computes a few points of each into a folder of their own.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from written_page import write_page

from models.gravity import GRAVITY_MPS2
from models.wheel import FlexibleWheel, RigidWheel, Ring, Soil
from models.wheel.flexible_dynamics import OFFSET, SHAPES, TURN, FlexibleDynamics, Motion, MovingWheel, X, Z, scaled
from models.wheel.flexible_ring import balance, displacements, resultants_of, rims
from references.flexible_ring import BeamRing, on_soil

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/reproduce/petersen_flexible_wheel.md"
R, B, LOAD_N = 0.125, 0.1, 70.0
# Printed are R, b and the load, and gamma of the bed (4.2.5). Sand of Table 3.1; all else is assumed.
SAND = Soil(1.783e6, 0.75, friction_angle=0.52, rebound=0.025, slip_modulus=0.185, shear_modulus=0.0025)
RING = Ring(0.5, 3000.0, 5, 0.4)
WHEEL = MovingWheel(R, B, SAND, RING, hub_mass=3.0, hub_inertia=0.01, damping=2.0)
SPEED_MPS, STEP_S = 0.05, 5e-4  # five times the bed's speed, to be short
SLIPS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 0.95)


def stressed(wheel: FlexibleWheel, slip: float) -> tuple[float, float, float, float]:
    """Hub sinkage [m], pull [N], torque [N m] and soil sinkage [m] under the load, Janosi and Hanamoto's shear."""
    hub = brentq(lambda z: float(wheel.stress_forces([z], [slip]).vertical[0]) - LOAD_N, 5e-4, 0.5 * R, xtol=1e-6)
    pull, _, torque = (float(one[0]) for one in wheel.stress_forces([hub], [slip]))
    return hub, pull, torque, float(wheel.deflection(hub, math.tanh(slip / SAND.slip_modulus)).soil_sinkage)


def tabled(wheel: FlexibleWheel | RigidWheel, slip: float) -> tuple[float, float, float]:
    """Hub sinkage [m], pull [N] and torque [N m] under the load by the hypervolume model, (4.30)."""
    hub = brentq(lambda z: float(wheel.forces(z, slip).vertical) - LOAD_N, 1e-6, 0.5 * R, xtol=1e-10)
    found = wheel.forces(hub, slip)
    return hub, float(found.longitudinal), float(found.torque)


def rolled(moving: MovingWheel, units: tuple[float, float, float], slip: float, hub: float, way: float) -> Motion:
    """The full equations in a single-wheel bed; numbers of `moving` are in these units of length, time and force."""
    length, time, force = units
    wheel, speed = FlexibleDynamics(moving), SPEED_MPS * time / length
    weight = (WHEEL.hub_mass + 2.0 * math.pi * R * RING.mass_per_length) * GRAVITY_MPS2
    wheel.q[Z], wheel.v[X], wheel.v[TURN] = (R - hub) / length, speed, speed / (1.0 - slip) / moving.radius
    return wheel.run(way / SPEED_MPS / time, STEP_S / time, (0.0, (weight - LOAD_N) / force, 0.0))


def pulls(slips: tuple[float, ...]) -> dict[str, list[float]]:
    """Fig. 5.4: full equations, quasi-static stresses, quasi-static hypervolume, and a rigid wheel."""
    flexible, rigid = FlexibleWheel(R, B, SAND, RING), RigidWheel(R, B, SAND)
    found: dict[str, list[float]] = {
        name: [] for name in ("full", "stresses", "hypervolume", "rigid", "sunk", "rigid_sunk")
    }
    for slip in slips:
        hub, pull, _, _ = stressed(flexible, slip)
        run = rolled(WHEEL, (1.0, 1.0, 1.0), slip, hub, 0.08)
        found["full"].append(float(run.pull[run.pull.size // 2 :].mean()))
        found["stresses"].append(pull)
        hub, pull, _ = tabled(flexible, slip)
        found["hypervolume"].append(pull)
        found["sunk"].append(1e3 * float(flexible.deflection(hub, math.tanh(slip / SAND.slip_modulus)).soil_sinkage))
        depth, pull, _ = tabled(rigid, slip)
        found["rigid"].append(pull)
        found["rigid_sunk"].append(1e3 * depth)
    return found


def appendix_b(way: float) -> tuple[Motion, np.ndarray, float]:
    """Unscaled run without slip, the scaled one in metres, and the largest difference over the largest coordinate."""
    plain = rolled(WHEEL, (1.0, 1.0, 1.0), 0.0, 0.0122, way)
    other, units = scaled(WHEEL)
    scaled_run = rolled(other, units, 0.0, 0.0122, way)
    shapes = scaled_run.coordinates[:, OFFSET:] * units.length
    mine = plain.coordinates[:, OFFSET:]
    return plain, shapes, float(np.abs(shapes - mine).max() / np.abs(mine).max())


def beams() -> tuple[float, float, tuple[float, ...], tuple[float, ...]]:
    """Largest relative error of a modal stiffness; load, resistance and depth of 5 modes over those of 720 beams."""
    beam, worst = BeamRing(R, RING.bending_stiffness, RING.hub_stiffness), 0.0
    out = np.stack((np.sin(beam.angles), -np.cos(beam.angles)), axis=1)
    for k in range(2, 6):
        wave = np.cos(k * beam.angles)
        moved = beam.deflected(out * wave[:, None] * (2.0 * np.pi / beam.nodes))
        stiffness = np.pi / ((moved * out).sum(1) @ wave * 2.0 / beam.nodes)
        worst = max(worst, abs(RING.stiffnesses(R)[k] / stiffness - 1.0))
    true = on_soil(beam, B, SAND, np.array([0.002, 0.005, 0.008, 0.012]), 0.8)
    ratios = []
    for modes in (5, 12):
        under = rims(Ring(RING.bending_stiffness, RING.hub_stiffness, modes), R, B, SAND, np.array([0.012]))
        found = resultants_of(under, balance(under, np.array(0.8)), np.array(0.8))
        ratios.append(
            tuple(
                float(one[0]) / t
                for one, t in zip((found.vertical, found.resistance, found.deepest), true, strict=True)
            )
        )
    return worst, true[0], ratios[0], ratios[1]


def varied() -> list[tuple[str, float, float, float]]:
    """Hub sinkage, soil sinkage [mm] and pull [N] at slip 0.3 with one assumption changed at a time."""
    kinds: list[tuple[str, dict[str, Any], dict[str, Any]]] = [("as assumed", {}, {})]
    for factor in (0.25, 4.0):
        kinds += [
            (
                f"EI {RING.bending_stiffness * factor:g} N m^2",
                {"bending_stiffness": RING.bending_stiffness * factor},
                {},
            ),
            (f"K {RING.hub_stiffness * factor:g} N/m a radian", {"hub_stiffness": RING.hub_stiffness * factor}, {}),
            (f"k {SAND.stiffness * factor:.3g}", {}, {"stiffness": SAND.stiffness * factor}),
            (f"K_x {2.5 * factor:g} mm", {}, {"shear_modulus": 0.0025 * factor}),
        ]
    kinds += [("12 modes", {"modes": 12}, {})]
    rows = []
    for name, of_ring, of_soil in kinds:
        ring = Ring(
            **{"bending_stiffness": RING.bending_stiffness, "hub_stiffness": RING.hub_stiffness, "modes": 5, **of_ring}
        )
        soil = Soil(**{"stiffness": SAND.stiffness, "exponent": 0.75, "friction_angle": 0.52, "rebound": 0.025,
                       "slip_modulus": 0.185, "shear_modulus": 0.0025, **of_soil})  # fmt: skip
        hub, pull, _, sunk = stressed(FlexibleWheel(R, B, soil, ring), 0.3)
        rows.append((name, 1e3 * hub, 1e3 * sunk, pull))
    return rows


def draw_pull(slips: tuple[float, ...], found: dict[str, list[float]], path: Path) -> None:
    """Fig. 5.4."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for name, style, label in (
        ("full", "o", "full equations of motion"),
        ("stresses", "-", "quasi-static shape, Janosi-Hanamoto shear"),
        ("hypervolume", "--", "quasi-static shape, hypervolume, tanh(s/K)"),
        ("rigid", ":", "rigid wheel, hypervolume, tanh(s/K)"),
    ):
        axes.plot(slips, found[name], style, label=label)
    axes.set(xlabel="slip over R [-]", ylabel="drawbar pull at 70 N [N]")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_shape(path: Path) -> None:
    """The rim and the soil's pressure under the load, at slip 0.3."""
    wheel, share = FlexibleWheel(R, B, SAND, RING), np.array(math.tanh(0.3 / SAND.slip_modulus))
    hub, _, _ = tabled(wheel, 0.3)
    under = rims(RING, R, B, SAND, np.array([hub]))
    shape = balance(under, share)
    place, _, soil = under.at(shape)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    around = np.linspace(-1.2, 1.2, 400)
    moved, _ = displacements(RING, around)
    round_one = -1j * R * np.exp(1j * around)
    for points, label, style in (
        (round_one, "undeflected, same hub", ":"),
        (round_one + moved @ shape[0], "deflected", "-"),
    ):
        left.plot(1e3 * points.real, 1e3 * (points.imag + R - hub), style, label=label)
    left.axhline(0.0, color="tab:brown", lw=0.8, label="ground")
    left.set(xlabel="ahead of the hub [mm]", ylabel="height [mm]", ylim=(-20, 60))
    left.set_aspect("equal")
    left.legend(fontsize=8)
    right.plot(1e3 * place[0].real, 1e-3 * soil.pressure[0], label="flexible")
    rigid = rims(RING, R, B, SAND, np.array([tabled(RigidWheel(R, B, SAND), 0.3)[0]]))
    at, _, pressed = rigid.at(0.0 * shape)
    right.plot(1e3 * at[0].real, 1e-3 * pressed.pressure[0], ":", label="rigid")
    right.set(xlabel="ahead of the hub [mm]", ylabel="pressure [kPa]")
    right.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_modes(plain: Motion, other: np.ndarray, path: Path) -> None:
    """Fig. B.1."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    time = STEP_S * np.arange(len(other))
    half = (plain.coordinates.shape[1] - SHAPES) // 2
    for i, label in ((0, "a_2"), (half, "b_2"), (1, "a_3"), (half + 1, "b_3")):
        (line,) = axes.plot(time, 1e3 * plain.coordinates[:, SHAPES + i], label=f"{label}, unscaled")
        axes.plot(time[::80], 1e3 * other[::80, 2 + i], "x", color=line.get_color())
    axes.set(xlabel="time [s]", ylabel="coordinate [mm]; crosses: scaled equations")
    axes.legend(ncols=2, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def page_of(slips: tuple[float, ...], found: dict[str, list[float]], b: float, fe: Any, rows: Any, stiff: float) -> str:
    """The page, from its text and these numbers."""
    worst, true, five, twelve = fe
    some = [i for i, slip in enumerate(slips) if slip <= 0.75]

    def off(one: str, other: str) -> float:
        return max(abs(found[one][i] - found[other][i]) for i in some)

    text = (Path(__file__).parent / "petersen_flexible_wheel.txt").read_text(encoding="utf-8")
    values = {
        "full_stress": f"{off('full', 'stresses'):.1f}",
        "stress_volume": f"{off('stresses', 'hypervolume'):.1f}",
        "full_volume": f"{off('full', 'hypervolume'):.1f}",
        "last": f"{found['full'][-1]:.1f}",
        "before": f"{found['full'][-2]:.1f}",
        "scaled": f"{max(b, 1e-11):.0e}",  # less is rounding, other on each processor
        "stiff": f"{stiff:.0e}",
        "worst": f"{worst:.0e}",
        "beam_load": f"{true:.1f}",
        "five": ", ".join(f"{one:.3f}" for one in five),
        "twelve": ", ".join(f"{one:.3f}" for one in twelve),
        "pulls": "\n".join(
            f"| {slip:g} | {found['full'][i]:.1f} | {found['stresses'][i]:.1f} | {found['hypervolume'][i]:.1f} | "
            f"{found['rigid'][i]:.1f} | {found['sunk'][i]:.2f} | {found['rigid_sunk'][i]:.2f} |"
            for i, slip in enumerate(slips)
        ),
        "varied": "\n".join(f"| {name} | {hub:.1f} | {sunk:.2f} | {pull:.1f} |" for name, hub, sunk, pull in rows),
    }
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def stiff_limit() -> float:
    """Largest relative difference of pull, load and torque between a stiff flexible wheel and the rigid one."""
    depth, slip = np.linspace(1e-4, 0.5 * R, 40)[:, None], np.linspace(0.05, 0.9, 7)
    flexible, rigid = (
        FlexibleWheel(R, B, SAND, Ring(1e9, 1e12)).forces(depth, slip),
        RigidWheel(R, B, SAND).forces(depth, slip),
    )
    return max(
        float(np.abs(one - other).max() / np.abs(other).max()) for one, other in zip(flexible, rigid, strict=True)
    )


def main(arguments: list[str]) -> int:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT)
    asked = parser.parse_args(arguments)
    if asked.quick and asked.out == ROOT:
        parser.error("--quick needs --out")
    images = asked.out / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    slips = (0.1, 0.5, 0.95) if asked.quick else SLIPS
    found = pulls(slips)
    draw_pull(slips, found, images / "reproduce_flexible_pull.png")
    draw_shape(images / "reproduce_flexible_shape.png")
    plain, other, difference = appendix_b(0.01 if asked.quick else 0.1)
    draw_modes(plain, other, images / "reproduce_flexible_modes.png")
    text = page_of(slips, found, difference, beams(), varied()[: 1 if asked.quick else None], stiff_limit())
    write_page(PAGE, text, asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
