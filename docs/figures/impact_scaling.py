"""Why the peak force of an impact does not go with the root of the stiffness and with the speed: the soil's drag.

Run: python docs/figures/impact_scaling.py    (two minutes; writes docs/images/impact_scaling.png, prints the tables)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from outputs import outputs

from hil.config import load_config
from hil.config.model_parameters import nominal_rig
from models.contact.laws import Law
from models.contact.obstacle import Obstacle
from models.impact import effective_kinetic_energy
from models.plant import Plant, RigParameters
from models.wheel import RigidWheel
from references.reduced_impact import compaction_drag, peak_over_elastic, reduced_peak_force

STIFFNESSES = (2e4, 5.5e4, 1.5e5, 4e5, 1e6)
SPEEDS = (0.02, 0.035, 0.07, 0.12, 0.2)
RESTITUTIONS = (0.1, 0.3, 0.6, 0.9, 1.0)
SMOOTH = ("ground.kind=firm", "ground.friction=0", "obstacle.friction=0")
SPEED, RAMP_S = 0.07, 0.5


def rig(*overrides: str, gear: bool = True) -> RigParameters:
    """The nominal rig of sim_impact, without sensors; without gear friction if wanted."""
    config = load_config("sim_impact", ["trial.start_distance_m=0.08", "limits.wheel_speed_radps=2", *overrides])
    parameters = replace(nominal_rig(config), piezo=None)
    drive = parameters.drive
    return parameters if gear else replace(parameters, drive=drive._replace(gear_friction=0.0, coast_damping=0.0))


GROUNDS: dict[str, Callable[[], RigParameters]] = {
    "no ground": lambda: rig("ground.kind=none"),
    "soil": rig,
    "soil, 13 % of its drag": lambda: rig("soil.rebound=1.0"),
    "the same, no gear friction": lambda: rig("soil.rebound=1.0", gear=False),
    "firm ground": lambda: rig("ground.kind=firm"),
    "firm and smooth (no drag)": lambda: rig(*SMOOTH, gear=False),
}


def peak(parameters: RigParameters, speed: float = SPEED, **obstacle: Any) -> tuple[float, float]:
    """Peak force over both wheels [N] and speed at touch [m/s]; all drives are cut within 0.1 ms of the touch."""
    parameters = replace(parameters, obstacle=obstacle_of(parameters)._replace(**obstacle))
    if parameters.launch_speed:
        parameters = replace(parameters, launch_speed=speed)
    plant, t_ns = Plant(parameters, np.random.default_rng(0)), 0
    wheels = len(plant.rover.wheel_names)
    near_ns = 0.8e9 * parameters.start_distance / speed  # from here on in fine steps
    rate = speed / plant.rover.tree.wheels[0].radius
    while plant.hit_ns is None or t_ns < plant.hit_ns + 400_000_000:
        t_ns += 100_000 if t_ns > near_ns else 2_000_000
        plant.advance(t_ns)
        touched = plant.hit_ns is not None
        plant.set_drives((0.0 if touched else rate * min(t_ns * 1e-9 / RAMP_S, 1.0),) * wheels, touched)
    return plant.contact_force_peak, plant.hit_speed


def obstacle_of(parameters: RigParameters) -> Obstacle:
    """The obstacle that every rig of this script has."""
    assert parameters.obstacle is not None
    return parameters.obstacle


def exponent(x: Any, y: Any) -> float:
    """Slope of log y over log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def bounds(parameters: RigParameters) -> tuple[float, float, float]:
    """No ground's and held wheels' mass [kg] of the reduced model, and the drag's deceleration of the rover [m/s^2]."""
    rover, _, _ = parameters.assemble()
    q, angle, wheel = rover.neutral(), obstacle_of(parameters).angle, rover.tree.wheels[0]
    M, v = rover.mass_matrix(q), np.zeros(rover.nv)
    v[0] = 1.0
    for i, name in enumerate(rover.joint_names):
        if name.endswith("_drive"):
            v[6 + i] = 1.0 / wheel.radius
    J = rover.impact_jacobian(q, angle)
    held = np.vstack([J, rover.impact_jacobian(q, 0.0, rover.wheel_names)])
    free, all_held = (2.0 * effective_kinetic_energy(M, rows, v) / math.sin(angle) ** 2 for rows in (J, held))
    soil = RigidWheel(wheel.radius, wheel.width, parameters.ground.soil, "exact")
    wheels, mass = len(rover.wheel_names), M[0, 0]
    drag = compaction_drag(soil, wheels, mass) + wheels * parameters.drive.gear_friction / wheel.radius
    return free, all_held, drag / mass


def reduced(parameters: RigParameters, mass: float, deceleration: float, speed: float, stiffness: float) -> float:
    """Peak of the reduced model [N]."""
    obstacle = obstacle_of(parameters)
    law = Law(obstacle.law, stiffness, obstacle.exponent, obstacle.restitution, obstacle.damping)
    sine = math.sin(obstacle.angle)
    return reduced_peak_force(law, 2, mass, speed * sine, deceleration * sine, 0.02 * sine)


def main() -> None:
    """Print the tables, draw the figure."""
    out = outputs(__doc__)
    stiffnesses, speeds, restitutions = out.some(STIFFNESSES), out.some(SPEEDS, 3), out.some(RESTITUTIONS)
    rigs = {name: make() for name, make in out.some(list(GROUNDS.items()))}
    over_k, over_v, over_e = {}, {}, {}
    rows = []
    for name, parameters in rigs.items():
        over_k[name] = [peak(parameters, stiffness=k) for k in stiffnesses]
        over_v[name] = [peak(parameters, v) for v in speeds]
        over_e[name] = [peak(parameters, restitution=e) for e in restitutions]
        forces = [force for force, _ in over_k[name]]
        ratios = ", ".join(f"{force / speed:.0f}" for force, speed in over_v[name])
        rows.append([name, f"{over_k[name][1][0]:.0f}", f"{exponent(stiffnesses, forces):.3f}", ratios])
        print(f"{name}, restitution {restitutions}: " + ", ".join(f"{force:.0f}" for force, _ in over_e[name]))
    at = ", ".join(f"{v:g}" for v in speeds)
    head = ("ground", "peak [N]", "exponent of stiffness, 2e4 to 1e6 N/m", f"F/v [N s/m] at {at} m/s")
    out.table("docs/explanation/contact.md", "impact scaling", head, rows)
    soil = rigs["soil"]
    free, held, deceleration = bounds(soil)
    print(f"reduced model: {free:.0f} kg, {held:.0f} kg with all wheels held; drag {deceleration:.2f} m/s^2")
    for mass in (free, held):
        without, slow = reduced(soil, mass, 0.0, SPEED, 5.5e4), reduced(soil, mass, deceleration, speeds[0], 5.5e4)
        peaks = [reduced(soil, mass, deceleration, SPEED, k) for k in stiffnesses]
        print(
            f"{mass:.0f} kg: {without:.0f} N without drag, {peaks[1]:.0f} N with it, exponent "
            f"{exponent(stiffnesses, peaks):.2f}, {slow / speeds[0]:.0f} N s/m at {speeds[0]} m/s"
        )
    alone = {"the law alone": [peak_over_elastic(1.5 * (1.0 - e)) for e in restitutions]}
    for name in ("no ground", "soil"):
        forces = [force for force, _ in over_e.get(name, ())]
        alone |= {f"{name}, over {forces[-1]:.0f} N": [force / forces[-1] for force in forces]} if forces else {}
    laws = [[name, *(f"{share:.3f}" for share in shares)] for name, shares in alone.items()]
    out.table("docs/explanation/contact.md", "peak over restitution", ("e", *map(str, restitutions)), laws)

    figure = Figure(figsize=(7.1, 3.0), layout="constrained")
    stiffness, speed, law = figure.subplots(1, 3)
    fine_k, fine_v = np.geomspace(stiffnesses[0], stiffnesses[-1], 30), np.geomspace(speeds[0], speeds[-1], 30)
    start = over_v["soil"][2][1]
    panels: tuple[tuple[Axes, np.ndarray, np.ndarray, Callable[[float, float], list[float]]], ...] = (
        (stiffness, fine_k, np.sqrt(fine_k), lambda m, a: [reduced(soil, m, a, start, k) for k in fine_k]),
        (speed, fine_v, fine_v, lambda m, a: [reduced(soil, m, a, v, 5.5e4) for v in fine_v]),
    )
    for axes, x, scale, curves in panels:
        low, high = (np.array(curves(m, deceleration)) / scale for m in (free, held))
        axes.fill_between(x, low, high, color="0.85", label="soil, one-mass model")
    for (name, results), colour, marker in zip(
        over_k.items(), ("#000000", "#d55e00", "#e69f00", "#cc79a7", "#0072b2", "#009e73"), "os^vDP", strict=False
    ):
        style = {"color": colour, "marker": marker, "ms": 3.5, "lw": 1.0, "label": name}
        stiffness.plot(stiffnesses, np.array([force for force, _ in results]) / np.sqrt(stiffnesses), **style)
        speed.plot(speeds, [force / v for force, v in over_v[name]], **style)
        by_law = np.array([force for force, _ in over_e[name]])
        law.plot(restitutions, by_law / by_law[-1], **style)
    es = np.linspace(0.02, 1.0, 60)
    law.plot(
        es, [peak_over_elastic(1.5 * (1.0 - e)) for e in es], color="black", ls="--", lw=1.0, label="the law alone"
    )
    stiffness.set(xscale="log", xlabel="stiffness of a leg [N/m]", ylabel="peak / root of stiffness", ylim=(0, None))
    speed.set(xscale="log", xlabel="speed [m/s]", ylabel="peak / speed [N s/m]", ylim=(0, None))
    speed.set_xticks(speeds, [f"{v:g}" for v in speeds])
    speed.minorticks_off()
    law.set(xlabel="restitution of the law", ylabel="peak / peak at 1")
    for axes in (stiffness, speed, law):
        axes.tick_params(labelsize=7)
        axes.xaxis.label.set_size(8)
        axes.yaxis.label.set_size(8)
        axes.grid(visible=True, alpha=0.3)
    handles, labels = stiffness.get_legend_handles_labels()
    last, text = law.get_legend_handles_labels()
    figure.legend(
        [*handles, last[-1]], [*labels, text[-1]], fontsize=7, ncols=4, loc="outside lower center", frameon=False
    )
    out.picture(figure, "impact_scaling.png", dpi=150)


if __name__ == "__main__":
    main()
