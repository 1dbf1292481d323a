"""Figs. 6-10, 6-13 and 6-15, the reduced contact of 6.2.2, and the bumper rig of App. D."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from trials import (
    Row,
    Section,
    angles,
    config_of,
    fine_angles,
    impact,
    new_figure,
    over,
    parameters,
    peak_of,
    rig_of,
    span,
)

from hil.app.run import run
from hil.config import load_config
from models.rover.rover import Rover
from models.vehicle import run as run_vehicle

LEGS, STEEL = "chapter_6", "chapter_5"


def reduced_contact() -> Section:
    """6.2.2: the contact is as soft as the legs."""
    given = parameters()["reduced_contact"]
    at60 = impact(LEGS, {**given, "trial.angle_deg": 60})
    force = over(LEGS, angles(), given)[0]
    from_40 = force[angles() >= 40.0]
    change = np.abs(np.diff(from_40)) / from_40[:-1]
    rows = [
        Row(
            "6.2.2",
            "210 N and 1.5 mm at 60 degrees, with the legs' give in the contact; before the weights were put on",
            f"{at60.peak_N:.0f} N, {1e3 * at60.depth_m:.2f} mm, {1e3 * at60.contact_s:.0f} ms",
            f"{at60.peak_N - 210:+.0f} N, {1e3 * at60.depth_m - 1.5:+.2f} mm",
            "the stiffness was chosen by the force (decision 0005); with it and T_c 1.5 mm is not possible",
        ),
        Row(
            "6.2.2, sensors",
            "peak force changes by under 5 % for 10 degrees",
            f"{100 * change.min():.0f}-{100 * change.max():.0f} % between 40 and 90 degrees, without ground",
            "larger",
            "on ground that holds the front wheels it is under 1 % (5-10); the thesis does not say which it means",
        ),
    ]
    return Section(rows)


def over_friction() -> Section:
    """Fig. 6-10."""
    figure, panels = new_figure(2)
    places = []
    for axes, (chapter, title) in zip(panels, ((LEGS, "contact as soft as the legs"), (STEEL, "steel")), strict=True):
        found = []
        for friction, style in zip(parameters()["frictions"], ("-", "--", ":", "-."), strict=False):
            keys = {**parameters()["friction_rover"], "obstacle.friction": friction}
            force = over(chapter, fine_angles(), keys, driven=True)[0]
            axes.plot(fine_angles(), force, style, label=f"$\\mu$ = {friction}")
            found.append(peak_of(fine_angles(), force))
        axes.set(xlabel="angle [deg]", ylabel="peak normal force, both wheels [N]", title=title)
        axes.legend()
        places.append(
            ", ".join(f"{value:.1f}" if value < fine_angles()[-1] else f"over {value:.0f}" for value in found)
        )
    mu = ", ".join(str(value) for value in parameters()["frictions"])
    rows = [
        Row(
            "6-10",
            "friction moves the peak to a larger angle",
            f"friction {mu}: peak at {places[0]} degrees on legs, {places[1]} on steel",
            "none",
            "wheels kept turning by their drives; on a contact of 0.1 s the drives push longer, which adds to it",
        )
    ]
    return Section(rows, {"friction": figure})


def grouser_offsets() -> Section:
    """Fig. 6-15."""
    given = parameters()["grousers"]
    figure, (axes,) = new_figure(1)
    texts = []
    for offset, style in zip(given["offsets_deg"], ("-", "--"), strict=True):
        times, force = _grouser_hits(float(offset))
        axes.plot(times * 1e3, force, style, label=f"offset {offset:+d} degrees")
        inner = force[1:-1]
        tops = np.flatnonzero((inner > force[:-2]) & (inner >= force[2:]) & (inner > 5.0)) + 1
        texts.append(f"{offset:+d} degrees: {' then '.join(f'{force[i]:.0f} N' for i in tops)}")
    axes.set(xlabel="time after the first touch [ms]", ylabel="force on one front wheel [N]", ylim=(0, None))
    axes.legend()
    rows = [
        Row(
            "6-15",
            "90 degrees, slip 0.97: +7 degrees a high peak and a low one, -4 degrees two even ones between",
            "; ".join(texts),
            "none in order",
            "the thesis's 1e5 N/m (6.2.7); one force at each grouser, as the text under (6.4) has it: (6.4) itself "
            "sums depths, which no nonlinear law allows",
        )
    ]
    return Section(rows, {"grousers": figure})


def _grouser_hits(offset_deg: float) -> tuple[np.ndarray, np.ndarray]:
    """Time [s] and force on a front wheel [N], the grouser at `offset_deg` just touching a vertical plate at first."""
    given = parameters()["grousers"]
    keys = {
        "trial.angle_deg": 90,
        "wheel.grousers": given["count"],
        "wheel.grouser_height_m": given["height_m"],
        "wheel.grouser_offset_deg": offset_deg,
        "obstacle.leg_stiffness_Npm": given["stiffness"],
    }
    config = config_of(LEGS, keys)
    rig = rig_of(config, steel=False)
    # the start distance is that of a tip on the contact line; this one is offset, so the plate stands nearer
    nearer = config.wheel_radius_m * (1.0 - math.cos(math.radians(offset_deg)))
    rover, vehicle, state = replace(rig, start_distance=0.0).assemble()
    assert vehicle.obstacle is not None
    vehicle = vehicle._replace(
        obstacle=vehicle.obstacle._replace(foot=vehicle.obstacle.foot - nearer), gravity=np.zeros(3)
    )
    state.q[2], state.v[0] = rig.grouser_heights[0], config.trial.speed_mps
    state.v[5 + rover.chain.wheel_body] = config.trial.speed_mps / (config.rover.wheel_radius_m * (1.0 - given["slip"]))
    dt, force = 2e-5, []
    for _ in range(2000):
        run_vehicle(vehicle, state, 1, dt)
        force.append(float(state.obstacle.force[0]))
    return dt * np.arange(1, 2001), np.array(force)


def over_hit_height() -> Section:
    """Fig. 6-13, left: the force of a smooth wheel, applied above or below its contact point C."""
    given = parameters()["hit_height"]
    heights = span(given["heights_m"])
    figure, panels = new_figure(2)
    found: dict[str, list[str]] = {}
    for axes, angle in zip(panels, given["angles_deg"], strict=True):
        config = config_of(LEGS, {"trial.angle_deg": angle})
        rover, exponent = rig_of(config, steel=False).rover.build(), config.obstacle.exponent
        for what, style in (("axle free", "-"), ("axle held by its drive", "--")):
            mass = np.array([_mass_at(rover, math.radians(angle), z, held="held" in what) for z in heights])
            # the largest force of an undamped contact K d^p that stops a mass m is in proportion to m^(p / (p + 1))
            force = (mass / _mass_at(rover, math.radians(angle), 0.0, held=False)) ** (exponent / (exponent + 1.0))
            axes.plot(1e3 * heights, force, style, label=what)
            found.setdefault(what, []).append(f"{100.0 * (force[0] - 1.0):+.1f} to {100.0 * (force[-1] - 1.0):+.1f} %")
        axes.set(xlabel="force above C [mm]", ylabel="peak force over that at C, axle free", title=f"{angle} degrees")
        axes.legend()
    texts = [f"{what}: {' and '.join(ranges)}" for what, ranges in found.items()]
    at = " and ".join(str(angle) for angle in given["angles_deg"])
    rows = [
        Row(
            "6-13, left",
            f"force applied up to {1e3 * heights[-1]:.0f} mm above or below C: a small deviation of the peak force",
            f"{'; '.join(texts)}, from lowest to highest point, at {at} degrees",
            "none",
            "a free axle turns under the moment and the force does not change; a drive that holds it passes the moment "
            "on to bogie and body. The thesis does not say which it simulated",
        )
    ]
    return Section(rows, {"hit_height": figure})


def _mass_at(rover: Rover, angle: float, above_m: float, *, held: bool) -> float:
    """Mass [kg] that stops at each front wheel, the contact force acting `above_m` along the plate from C."""
    n = np.array([math.sin(angle), 0.0, -math.cos(angle)])
    wrenches = np.zeros((len(rover.wheel_names), 6))
    for wheel in ("front_left", "front_right"):
        wrenches[rover.wheel_names.index(wheel)] = [*-n, 0.0, -above_m, 0.0]
    q, still = rover.neutral(), np.zeros(rover.nv)
    mass_matrix = rover.mass_matrix(q)
    moved = rover.forward_dynamics(q, still, still, wrenches, gravity=(0.0, 0.0, 0.0))
    if held:
        rest = np.setdiff1d(np.arange(rover.nv), 5 + rover.chain.wheel_body)
        force = mass_matrix @ moved
        moved = np.zeros(rover.nv)
        moved[rest] = np.linalg.solve(mass_matrix[np.ix_(rest, rest)], force[rest])
    return -1.0 / float(rover.impact_jacobian(q, angle)[0] @ moved)


def bumper_rig() -> Section:
    """App. D: one clean first peak, both wheels measured."""
    given = parameters()["bumper"]
    sets = [f"{key}={value}" for key, value in given["set"].items()]
    ratios, both = [], []
    for angle in given["angles_deg"]:
        done = run(load_config(given["config"], [*sets, f"trial.angle_deg={angle}", "devices=null"]))
        tick = done.ticks
        force = tick["force_N"].sum(axis=1)
        first = int(np.argmax(force > 0.3 * force.max()))
        top = first + int(np.argmax(force[first:]))
        after = force[top:]
        gone = int(np.argmax(after < 0.1 * force.max()))
        ratios.append(float(after[gone:].max() / force.max()) if gone else math.nan)
        both.append(float(done.summary["sum_of_peaks_N"] / done.summary["contact_force_peak_N"]))
    rows = [
        Row(
            "App. D",
            "bumpers: the first peak is in most cases the largest, later ones fade; the sum of both signals is the "
            "total",
            f"later over first peak {', '.join(f'{100 * value:.0f} %' for value in ratios)}, sum of peaks over true "
            f"peak {', '.join(f'{value:.3f}' for value in both)} at {', '.join(map(str, given['angles_deg']))} degrees",
            "none in order",
            "the simulated bumper is rigid and rings as its shield does; the thesis gives no numbers",
        )
    ]
    return Section(rows)
